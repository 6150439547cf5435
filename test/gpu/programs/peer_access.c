/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests peer access between GPUs: MPI neither enables nor disables it, so that the program's own
 * calls succeed; uses it while it is enabled; and works without it after it was disabled. Data is
 * right in all cases. */

#include "gpu.h"
#include "report.h"
#include "strided.h"

#include <stdio.h>

#define BLOCKS 3000
#define ROUNDS 3

/* Both directions, whole and from datatype to packed. Returns the number that used a work area. */
static unsigned long long transfers_run(void)
{
    unsigned long long staged = report_variable("gpudt_staged");
    struct strided s;

    for (int i = 0; i < 2; i++) {
        strided_make(&s, i ? MEM__OTHER_DEVICE : MEM__DEVICE, i ? MEM__DEVICE : MEM__OTHER_DEVICE,
                     BLOCKS, 0);
        strided_both_ways(&s);
        strided_free(&s);
    }
    return report_variable("gpudt_staged") - staged;
}

/* Enable or disable access in both directions; the calls fail if that was the state already. */
static void access_set(int is_on)
{
    for (int i = 0; i < 2; i++) {
        CU(CtxSetCurrent(gpu_primary(i)));
        if (is_on)
            CU(CtxEnablePeerAccess(gpu_primary(1 - i), 0));
        else
            CU(CtxDisablePeerAccess(gpu_primary(1 - i)));
    }
    CU(CtxSetCurrent(gpu_primary(0)));
}

int main(void)
{
    int provided, can = 0;

    report_time_limit(60);
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (gpu_open() < 2) {
        fprintf(stderr, "two GPUs are needed\n");
        return 1;
    }
    gpu_set_current(0);
    CU(DeviceCanAccessPeer(&can, 0, 1));
    CHECK(transfers_run() == 4);
    for (int i = 0; i < ROUNDS && can; i++) {
        access_set(1);
        CHECK(transfers_run() == 0);
        access_set(0);
        CHECK(transfers_run() == 4);
    }
    CHECK(can || !gpu.is_emulated);
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
