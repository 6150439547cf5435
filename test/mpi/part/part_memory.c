/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Partitioned receives of a process without free memory: while the header of the send arrives, after
 * which they work as ever; and while they are started, where the receiver may get an error of class
 * MPI_ERR_NO_MEM, but neither process waits for ever. Two processes. */

#include "mpi.h"
#include "mpitest.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { NPARTS = 1000, PART = 500, LONG_PARTS = 7, LONG_PART = 40001, WIDTH = 7 };

static int rank, errs;

/* ---- memory ---- */

static struct rlimit old_limit;
static void **taken;            /* a list: each block begins with the next one's address */

/* Requests that MPI then has at hand, since it has no error for a lack of them. */
static void requests_warm(void)
{
    MPI_Request requests[100];

    for (int i = 0; i < 100; i++)
        MPI_Irecv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < 100; i++)
        MPI_Cancel(&requests[i]);
    for (int i = 0; i < 100; i++)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
}

/* Leave only what is free in smaller blocks. */
static void memory_take(void)
{
    struct rlimit limit;
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (f == NULL || fscanf(f, "%ld", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    getrlimit(RLIMIT_AS, &old_limit);
    limit = old_limit;
    if (pages)
        limit.rlim_cur = pages * sysconf(_SC_PAGESIZE);
    setrlimit(RLIMIT_AS, &limit);
    for (size_t sz = 1 << 20; pages && sz >= 8192; sz /= 2) {
        void **block;
        while ((block = malloc(sz))) {
            *block = taken;
            taken = block;
        }
    }
}

static void memory_return(void)
{
    while (taken) {
        void **next = *taken;
        free(taken);
        taken = next;
    }
    setrlimit(RLIMIT_AS, &old_limit);
}

/* ---- tests ---- */

static void tell(int to)
{
    int token = 0;

    if (rank == to)
        MPI_Recv(&token, 1, MPI_INT, !to, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(&token, 1, MPI_INT, to, 1, MPI_COMM_WORLD);
}

static void check(const int *buf, int n, int stride)
{
    for (int i = 0; i < n; i++) {
        if (buf[i * stride] != i && errs++ < 10)
            fprintf(stderr, "element %d is %d\n", i, buf[i * stride]);
    }
}

static void header_without_memory(void)
{
    int *buf = calloc(NPARTS * PART, sizeof(int));
    MPI_Request request;

    if (rank == 0) {
        for (int i = 0; i < NPARTS * PART; i++)
            buf[i] = i;
        tell(0);
        MPI_Psend_init(buf, NPARTS, PART, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        tell(1);
        tell(0);
        MPI_Start(&request);
        MPI_Pready_range(0, NPARTS - 1, request);
    } else {
        MPI_Precv_init(buf, 1, NPARTS * PART, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        memory_take();
        tell(0);
        tell(1);
        for (int i = 0, flag; i < 10; i++)
            MPI_Iprobe(0, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        memory_return();
        MPI_Start(&request);
        tell(0);
    }
    if (MPI_Wait(&request, MPI_STATUS_IGNORE)) {
        fprintf(stderr, "rank %d: a header without memory is an error\n", rank);
        errs++;
    } else if (rank == 1)
        check(buf, NPARTS * PART, 1);
    MPI_Request_free(&request);
    free(buf);
}

/* Elements of WIDTH ints, of which the ends of messages are no multiples. */
static void start_without_memory(void)
{
    const int n = LONG_PARTS * LONG_PART;
    int *buf = calloc(2 * n, sizeof(int)), err, class = MPI_SUCCESS;
    MPI_Datatype type;
    MPI_Request request;

    MPI_Type_vector(WIDTH, 1, 2, MPI_INT, &type);
    MPI_Type_create_resized(type, 0, 2 * WIDTH * sizeof(int), &type);
    MPI_Type_commit(&type);
    for (int time = 0; time < 3; time++) {
        if (time == 0 && rank == 0)
            MPI_Psend_init(buf, LONG_PARTS, LONG_PART, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                           &request);
        else if (time == 0)
            MPI_Precv_init(buf, 1, n / WIDTH, type, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        for (int i = 0; rank == 0 && i < n; i++)
            buf[i] = i;
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1 && time == 1)
            memory_take();
        MPI_Start(&request);
        if (rank == 1 && time == 1)
            memory_return();
        if (rank == 0)
            MPI_Pready_range(0, LONG_PARTS - 1, request);
        err = MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (err)
            MPI_Error_class(err, &class);
        if (err && (rank == 0 || time != 1 || class != MPI_ERR_NO_MEM)) {
            fprintf(stderr, "rank %d, time %d: error of class %d\n", rank, time, class);
            errs++;
        }
        if (rank == 1 && err == MPI_SUCCESS)
            check(buf, n, 2);
    }
    MPI_Request_free(&request);
    MPI_Type_free(&type);
    free(buf);
}

int main(int argc, char **argv)
{
    MTest_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    requests_warm();
    header_without_memory();
    start_without_memory();
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
