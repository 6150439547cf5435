/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* A process that has not used a GPU yet, and windows and memory that end. */

#include "pair.h"

#include <string.h>

/* Process 0 has no window, and nothing in GPU memory at first. */
void first_use(void)
{
    enum { n = 1000 };
    struct mem mem;
    static int sent[n], seen[n];
    MPI_Win win;
    int position;

    mem_alloc(&mem, kind, sizeof(seen));
    CHECK_MPI(MPI_Win_create(mem.addr, rank ? sizeof(seen) : 0, sizeof(int), MPI_INFO_NULL,
                             MPI_COMM_WORLD, &win));
    CHECK_MPI(MPI_Win_lock_all(0, win));
    granted_wait();
    for (int round = 0; round < 2 && rank == 0; round++) {
        for (int i = 0; i < n; i++)
            sent[i] = 3 * i + round;
        CHECK_MPI(MPI_Put(sent, n, MPI_INT, 1, 0, n, MPI_INT, win));
        CHECK_MPI(MPI_Win_flush(1, win));
        memset(seen, 0, sizeof(seen));
        CHECK_MPI(MPI_Get(seen, n, MPI_INT, 1, 0, n, MPI_INT, win));
        CHECK_MPI(MPI_Win_flush(1, win));
        CHECK(memcmp(seen, sent, sizeof(sent)) == 0);
        CHECK(ndirect() == (round ? 2 : 0));
        position = 0;
        CHECK_MPI(MPI_Pack(mem.addr, n, MPI_INT, seen, sizeof(seen), &position, MPI_COMM_WORLD));
    }
    CHECK_MPI(MPI_Win_unlock_all(win));
    CHECK_MPI(MPI_Win_free(&win));
    mem_free(&mem);
}

void renewed(void)
{
    struct pair p;

    for (int i = 0; i < 12; i++) {
        pair_make(&p, MPI_DOUBLE, MPI_DOUBLE, i % 3 == 0 ? 100 : 50000);
        p.seed = i;
        p.is_get = i % 2;
        epoch_direct(&p, (enum sync) (i % NSYNCS));
        pair_free(&p);
    }
    CHECK(ndirect() + nlate == nops);
}

/* A put into freed memory: the target's next synchronization returns an error, or the origin has
 * mapped the memory, which then still exists. CUDA's manual does not promise that, and the emulated
 * driver refuses it. */
void freed(void)
{
    enum { n = 4 << 20 };       /* so that the driver has no other allocations in the same block */
    struct mem window, origin;
    MPI_Win win;
    int err, errors[2];

    mem_alloc(&origin, kind, n);
    for (int is_mapped = 0; is_mapped < (gpu.is_emulated ? 1 : 2); is_mapped++) {
        mem_alloc(&window, kind, n);
        CHECK_MPI(MPI_Win_create(window.addr, n, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        CHECK_MPI(MPI_Win_fence(0, win));
        if (is_mapped && rank == 0)
            CHECK_MPI(MPI_Put(origin.addr, n, MPI_BYTE, 1, 0, n, MPI_BYTE, win));
        CHECK_MPI(MPI_Win_fence(0, win));
        if (rank == 1)
            mem_free(&window);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0)
            CHECK_MPI(MPI_Put(origin.addr, n, MPI_BYTE, 1, 0, n, MPI_BYTE, win));
        err = MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
        MPI_Allgather(&err, 1, MPI_INT, errors, 1, MPI_INT, MPI_COMM_WORLD);
        CHECK(errors[0] == MPI_SUCCESS);
        CHECK((errors[1] == MPI_SUCCESS) == is_mapped);
        CHECK_MPI(MPI_Win_free(&win));
        if (rank == 0)
            mem_free(&window);
    }
    mem_free(&origin);
    CHECK(rank == 1 || ndirect() == (gpu.is_emulated ? 0 : 2));
    nops = ndirect();
    renewed();
}
