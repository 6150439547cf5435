/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* MPI_Win_allocate of memory that processes do not share, of which one has none: an error in all of
 * them, and none waits. Later windows are right. Two processes or more. */

#include "mpi.h"
#include "mpitest.h"
#include <stdio.h>
#include <stdlib.h>

enum { SZ = 16 * 1024 * 1024 };

void *__libc_malloc(size_t sz);

static int is_failing;

/* Instead of the C library's, also for MPI. */
void *malloc(size_t sz)
{
    return is_failing && sz >= SZ ? NULL : __libc_malloc(sz);
}

static int allocate(int *mem_is_there, MPI_Win * win)
{
    MPI_Info info;
    char *mem = NULL;
    int err;

    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shm", "false");
    err = MPI_Win_allocate(SZ, 1, info, MPI_COMM_WORLD, &mem, win);
    MPI_Info_free(&info);
    *mem_is_there = mem != NULL;
    if (err == MPI_SUCCESS)
        mem[SZ - 1] = 1;
    return err;
}

int main(int argc, char **argv)
{
    int errs = 0, rank, size, mem_is_there;
    MPI_Win win;

    MTest_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int victim = 0; victim < size; victim++) {
        int err, class;

        is_failing = rank == victim;
        err = allocate(&mem_is_there, &win);
        is_failing = 0;
        MPI_Error_class(err, &class);
        if (class != MPI_ERR_NO_MEM || (rank == victim && mem_is_there)) {
            fprintf(stderr, "process %d: error class %d where %d has no memory\n", rank, class,
                    victim);
            errs++;
        }
        errs += allocate(&mem_is_there, &win) != MPI_SUCCESS || !mem_is_there;
        errs += MPI_Win_free(&win) != MPI_SUCCESS;
    }
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
