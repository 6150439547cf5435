/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests one-sided operations on GPU memory that is attached to dynamic windows, by the origin's GPU
 * alone. Each process accesses the memory of the next one; a GPU each if the machine has two. To be
 * run with MPIR_CVAR_GPUDT_DIRECT=always, except where noted.
 *
 * Usage: rma_dynamic WHAT
 *   synced    every synchronization, on several regions: those that can be mapped directly, host
 *             memory and memory of a pool beside them by messages
 *   never     the same with MPIR_CVAR_GPUDT_DIRECT=never: none is direct
 *   nodes     the same on nodes of one process each: none is direct
 *   busy      two processes: the target does not call MPI during the operations
 *   late      memory is attached after MPI_Win_lock_all: the first operation on it is direct
 *   renewed   memory is detached and freed, and other memory attached, at the same address; also
 *             when the program has forgotten to detach it
 *   full      more regions than a table has room for; data in two regions
 *   changing  two processes: the target attaches and detaches other memory during the operations
 *   freed     windows are freed while memory is attached
 *   detached  operations on memory that has been detached and is still allocated are errors of its window
 *   attach    each driver call of MPI_Win_attach fails once. Emulated driver only */

#include "rma_dynamic.h"

int rank, nranks, next, prev;
enum mem_kind kind = MEM__DEVICE;
MPI_Win win;

unsigned long long ndirect(void)
{
    return report_variable("gpudt_window_direct");
}

void messages_wait(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

void window_make(void)
{
    CHECK_MPI(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
}

MPI_Aint next_address(const void *mine)
{
    MPI_Aint own, theirs;

    MPI_Get_address(mine, &own);
    MPI_Sendrecv(&own, 1, MPI_AINT, prev, 0, &theirs, 1, MPI_AINT, next, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    return theirs;
}

int main(int argc, char **argv)
{
    static const struct report_case tests[] = {
        {"synced", synced}, {"never", never}, {"nodes", never}, {"busy", busy}, {"late", late},
        {"renewed", renewed}, {"full", full}, {"changing", changing}, {"freed", freed},
        {"detached", detached}, {"attach", attach}
    };
    int provided;

    report_time_limit(120);
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    next = (rank + 1) % nranks;
    prev = (rank + nranks - 1) % nranks;
    if (gpu_open() == 0 || nranks > MAX_RANKS)
        return 1;
    if (rank % 2 && mem_exists(MEM__OTHER_DEVICE))
        kind = MEM__OTHER_DEVICE;
    gpu_set_current(kind == MEM__OTHER_DEVICE);
    report_case_run(tests, sizeof(tests) / sizeof(tests[0]), argc > 1 ? argv[1] : NULL);
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
