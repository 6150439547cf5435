/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests what the processes of a blocking collective between GPUs tell each other: each exchange,
 * also if a process tells less than the others expect, or expects more; processes that make
 * different calls; and errors that are combined. Two to eight processes, with
 * MPIR_CVAR_GPUDT_DIRECT and _COLL=always. */

#include "mpidimpl.h"
#include "mpidi_gpudt_coll_impl.h"
#include "gpu.h"
#include "report.h"

#include <string.h>

#define MAX_N 8                 /* processes */
#define TOLD 64                 /* bytes */
#define N 600

static int rank, nprocs;

static MPIR_Comm *comm_of(MPI_Comm comm)
{
    MPIR_Comm *ptr;

    MPIR_Comm_get_ptr(comm, ptr);
    return ptr;
}

enum exchange { ALLGATHER, GATHER, SCATTER, ALLTOALL, NEXCHANGES };

static int exchange_run(enum exchange what, MPIR_Comm * comm, const char *send, int sz, char *recv)
{
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;

    switch (what) {
        case ALLGATHER:
            return MPIDI_Gpudt_agree_allgather(comm, &errflag, send, sz, recv);
        case GATHER:
            return MPIDI_Gpudt_agree_gather(comm, &errflag, 0, send, sz, recv);
        case SCATTER:
            return MPIDI_Gpudt_agree_scatter(comm, &errflag, 0, send, sz, recv);
        default:
            return MPIDI_Gpudt_agree_alltoall(comm, &errflag, send, sz, recv);
    }
}

/* Byte k of what a process sends to another one, or to all. */
static char told_byte(enum exchange what, int source, int dest, int k)
{
    return (char) (31 * source + (what == SCATTER || what == ALLTOALL ? 7 * dest : 0) + k);
}

/* All tell as much as they should. */
static void exchange_good(enum exchange what, MPIR_Comm * comm)
{
    char send[MAX_N * TOLD], recv[MAX_N * TOLD];
    const int n = what == SCATTER ? 1 : nprocs;

    for (int i = 0; i < nprocs; i++) {
        for (int k = 0; k < TOLD; k++)
            send[i * TOLD + k] = told_byte(what, rank, i, k);
    }
    CHECK(exchange_run(what, comm, send, TOLD, recv) == MPI_SUCCESS);
    for (int i = 0; i < n && (what != GATHER || rank == 0); i++) {
        for (int k = 0; k < TOLD; k++)
            CHECK(recv[i * TOLD + k] == told_byte(what, i, rank, k));
    }
}

/* Bytes that a process tells and expects. */
static int bad_sz(enum exchange what)
{
    if (rank == 1)
        return what == SCATTER ? TOLD + 4 : TOLD - 4;
    return rank == 2 && what == ALLTOALL ? TOLD + 4 : TOLD;
}

/* Process 1 tells less, or expects more. Of an alltoall, process 2 tells more, and the error that
 * others get of it, of another class, follows that of process 1. */
static void exchange_bad(enum exchange what, MPIR_Comm * comm)
{
    char send[MAX_N * (TOLD + 4)] = { 0 }, recv[MAX_N * (TOLD + 4)], text[100];
    const int sz = bad_sz(what), is_doubling = (nprocs & (nprocs - 1)) == 0;
    const int is_told[] = { rank == (is_doubling ? 0 : 2), rank == 0, rank == 1, rank % 3 == 0 };
    int err = exchange_run(what, comm, send, sz, recv);

    /* Those that only send learn nothing */
    CHECK((err != MPI_SUCCESS) == ((what != GATHER && what != SCATTER) || is_told[what]));
    snprintf(text, sizeof(text), "Process %d has sent %d bytes", what != SCATTER,
             what == SCATTER ? TOLD : TOLD - 4);
    CHECK(!is_told[what] || strstr(report_mpi_text(err), text) != NULL);
}

/* Process 0 hears less than it expects, and process 1 more. */
static void different_calls(MPI_Comm comm)
{
    const int zeros[N] = { 0 };
    struct mem from, to;
    int err;

    mem_alloc(&from, MEM__DEVICE, sizeof(zeros));
    mem_alloc(&to, MEM__DEVICE, sizeof(zeros));
    mem_write(&from, 0, zeros, sizeof(zeros));
    err = rank == 0 ? MPI_Allreduce(from.addr, to.addr, N, MPI_INT, MPI_SUM, comm) :
        MPI_Bcast(from.addr, N, MPI_INT, 0, comm);
    CHECK(err != MPI_SUCCESS);
    CHECK(rank > 0 || strstr(report_mpi_text(err), "it makes another call") != NULL);
    mem_free(&from);
    mem_free(&to);
}

/* The errors of a collective's messages are combined, also if some are the same. */
static void errors_combined(void)
{
    int first = MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                     MPI_ERR_OTHER, "**nomem", NULL);
    int second = MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                      MPI_ERR_BUFFER, "**bufnull", NULL);
    int both = MPIR_Err_combine_codes(first, second), err_class;
    const char *text;

    both = MPIR_Err_combine_codes(both, second);
    both = MPIR_Err_combine_codes(both, both);
    both = MPIR_Err_combine_codes(both, first);
    MPI_Error_class(both, &err_class);
    CHECK(err_class == MPI_ERR_BUFFER);
    text = report_mpi_text(both);
    CHECK(strstr(text, "memory") && strstr(text, "Null buffer"));
}

int main(void)
{
    MPI_Comm comm;

    report_time_limit(120);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    if (gpu_open() == 0 || nprocs > MAX_N)
        return 1;
    gpu_set_current(0);
    errors_combined();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (enum exchange what = 0; what < NEXCHANGES; what++) {
        exchange_good(what, comm_of(comm));
        exchange_bad(what, comm_of(comm));
        exchange_good(what, comm_of(comm));
    }
    /* Of more, some go on after the exchange */
    if (nprocs == 2)
        different_calls(comm);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return report_done();
}
