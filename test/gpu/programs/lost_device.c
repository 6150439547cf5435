/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests a device that is lost, between transfers or during one: MPI errors have the driver's text,
 * other devices and host memory still work, MPI_Finalize succeeds. Emulated driver only. */

#include "mpiimpl.h"
#include "gpudt.h"

#include "gpu.h"
#include "report.h"
#include "strided.h"

#include <stdio.h>
#include <string.h>

#define MARGIN 256              /* as in strided.c */
#define N 300

static void error_expect(const char *what, int err)
{
    if (err == MPI_SUCCESS)
        report_fail("%s: no error", what);
    else if (strstr(report_mpi_text(err), "CUDA_ERROR_") == NULL)
        report_fail("%s: the message lacks the driver's words: %s", what, report_mpi_text(err));
}

int main(void)
{
    struct strided lost[3], other, host;
    MPIR_Gpudt_op *op = NULL;
    MPI_Aint actual;
    bool handled;

    report_time_limit(60);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (gpu_open() != 2 || !gpu.is_emulated) {
        fprintf(stderr, "two emulated devices are needed\n");
        return 1;
    }
    gpu_set_current(0);
    strided_make(&lost[0], MEM__DEVICE, MEM__DEVICE, N, 1);
    strided_make(&lost[1], MEM__DEVICE, MEM__PAGEABLE, N, 0);
    strided_make(&lost[2], MEM__PAGEABLE, MEM__DEVICE, N, 1);
    strided_make(&other, MEM__OTHER_DEVICE, MEM__PAGEABLE, N, 1);
    strided_make(&host, MEM__PAGEABLE, MEM__PINNED, N, 1);
    for (int i = 0; i < 3; i++)
        strided_both_ways(&lost[i]);
    strided_both_ways(&other);

    strided_fill_user(&lost[1]);
    /* On a busy machine a transfer may end in the call that starts it */
    for (int i = 0; i < 50 && op == NULL; i++)
        CHECK_MPI(MPIR_Gpudt_ipack(lost[1].user.addr + MARGIN, 1, lost[1].type, 0,
                                   lost[1].packed.addr + MARGIN, N * 4, &actual, &op, &handled));
    gpu.emu_device_lose(0, CUDA_ERROR_ECC_UNCORRECTABLE);
    error_expect("operation in flight", MPIR_Gpudt_wait(op));
    for (int i = 0; i < 3; i++) {
        error_expect("pack", strided_pack(&lost[i]));
        error_expect("unpack", strided_unpack(&lost[i]));
    }
    strided_both_ways(&other);
    strided_both_ways(&host);
    for (int i = 0; i < 3; i++)
        strided_forget(&lost[i]);
    strided_free(&other);
    /* pinned memory belongs to the context that allocated it, which is lost */
    strided_forget(&host);
    CHECK_MPI(MPI_Finalize());
    CHECK(gpu.emu_live(NULL) == 0);
    return report_done();
}
