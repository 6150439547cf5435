/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests short transfers whose completion a flag set by the kernel signals: their results are right,
 * also with a delayed kernel, and the flags are counted. With "off", MPIR_CVAR_GPUDT_FLAGS is 0
 * unless it is set, and no flags are used. Nor are they for managed memory if kernels and the CPU
 * may not access it concurrently: the program may access it as soon as MPI returns, so the launch
 * must have ended by then. */

#include "gpu.h"
#include "report.h"
#include "strided.h"

#include <stdlib.h>
#include <string.h>

#define ROUNDS 70               /* more than there are flags */

static void transfers_run(enum mem_kind user, enum mem_kind packed, int n)
{
    struct strided s;

    strided_make(&s, user, packed, n, n % 2);
    for (int i = 0; i < ROUNDS && strided_both_ways(&s); i++);
    strided_free(&s);
}

int main(int argc, char **argv)
{
    int is_off = argc > 1 && strcmp(argv[1], "off") == 0, provided;
    unsigned long long flags;

    if (is_off)
        setenv("MPIR_CVAR_GPUDT_FLAGS", "0", 0);
    report_time_limit(120);
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    for (int n = 1; n <= 256; n = n * 3 + 1) {
        transfers_run(MEM__DEVICE, MEM__DEVICE, n);
        transfers_run(MEM__DEVICE, MEM__PINNED, n);
        transfers_run(MEM__DEVICE, MEM__PAGEABLE, n);
    }
    flags = report_variable("gpudt_flags");
    CHECK(is_off ? flags == 0 : flags > ROUNDS);
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
