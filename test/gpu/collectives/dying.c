/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* A process dies while collectives on GPU memory are in flight (MPIR_CVAR_ENABLE_FT): those that are left
 * get an error, or succeed if they had all they need, and none of them waits for ever. */

#include "collectives.h"
#include "report.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N 600

static int rank, nprocs;

/* A sum of memory of this process, into the other half of it. Returns its error.
 *   request  (OUT)  NULL: the call is blocking */
static int sum_start(struct mem *mem, MPI_Request * request)
{
    int values[N];

    for (int i = 0; i < N; i++)
        values[i] = i + rank;
    mem_write(mem, 0, values, sizeof(values));
    return request ?
        MPI_Iallreduce(mem->addr, (int *) mem->addr + N, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, request) :
        MPI_Allreduce(mem->addr, (int *) mem->addr + N, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

/* Whether the sum is right. */
static int is_summed(struct mem *mem)
{
    int values[N], ok = 1;

    mem_read(mem, sizeof(values), values, sizeof(values));
    for (int i = 0; i < N; i++)
        ok &= values[i] == nprocs * i + nprocs * (nprocs - 1) / 2;
    return ok;
}

static void begin(struct mem *mem)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    mem_alloc(mem, rank % 2 && mem_exists(MEM__OTHER_DEVICE) ? MEM__OTHER_DEVICE : MEM__DEVICE,
              2 * N * sizeof(int));
}

void death_await(int dying)
{
    int self, n, token = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &self);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    if (self != dying)
        CHECK_MPI(MPI_Send(&token, 1, MPI_INT, dying, 2, MPI_COMM_WORLD));
    else
        for (int i = 0; i < n - 1; i++)
            CHECK_MPI(MPI_Recv(&token, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD,
                               MPI_STATUS_IGNORE));
}

void dies_run(void)
{
    struct mem mem;
    MPI_Request request;
    int err;

    begin(&mem);
    /* The second time the last process dies, having told the others of its buffers, or not */
    for (int i = 0; i < 2; i++) {
        if (i == 1)
            death_await(nprocs - 1);
        if (i == 1 && rank == nprocs - 1) {
            if (nprocs % 2)
                CHECK_MPI(sum_start(&mem, &request));
            _exit(report_failures > 0);
        }
        err = sum_start(&mem, &request);
        if (err == MPI_SUCCESS)
            err = MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK((err != MPI_SUCCESS) == (i == 1));
        CHECK(i == 1 || is_summed(&mem));
    }
    _exit(report_done());
}

static void die(int signal)
{
    (void) signal;
    _exit(0);
}

/* Wait until the call of each process that is left has ended: if one ended by itself before, others
 * would get an error that they should have got already. */
static void others_wait(void)
{
    int token = 0;

    for (int i = 2; i < nprocs; i++) {
        if (rank == 1)
            CHECK_MPI(MPI_Recv(&token, 1, MPI_INT, i, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        else if (rank == i)
            CHECK_MPI(MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
    }
    for (int i = 2; i < nprocs; i++) {
        if (rank == 1)
            CHECK_MPI(MPI_Send(&token, 1, MPI_INT, i, 1, MPI_COMM_WORLD));
        else if (rank == i)
            /* Its death says the same, if that is seen first */
            (void) MPI_Recv(&token, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

void dies_blocking_run(int is_before)
{
    struct mem mem;

    begin(&mem);
    CHECK_MPI(sum_start(&mem, NULL));
    CHECK(is_summed(&mem));
    death_await(0);
    /* Process 0 dies: before the others call, or waiting for the second half of them, having told the
     * first half what these need. */
    if (rank == 0 && is_before)
        _exit(report_failures > 0);
    if (rank == 0) {
        signal(SIGALRM, die);
        alarm(1);
    } else if (is_before || rank >= nprocs / 2) {
        sleep(2);               /* or less: the process manager tells of a death by a signal */
    }
    for (int i = 0; i < 2; i++) {
        CHECK(sum_start(&mem, NULL) != MPI_SUCCESS);
        others_wait();
    }
    _exit(report_done());
}
