/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* A process that looks for a change in another one's window again and again, each time by an operation that
 * its GPU does alone, and a flush. The other one makes that change after something for which it needs an
 * answer of the process: a message that is received meanwhile, or a lock of the process's window. Two
 * processes, with a GPU each if the machine has two. To be run with MPIR_CVAR_GPUDT_DIRECT=always. */

#include "report.h"
#include "side.h"

#include <stdlib.h>
#include <string.h>

#define N (1 << 20)             /* bytes of the message */

enum look { FETCH, GET, GET_ALL_FLUSHED, LOCKED, NLOOKS };

static int rank, other;
static enum mem_kind kind = MEM__DEVICE;
static struct mem flag, data;   /* of this process, and windows of them */
static MPI_Win flags, datas;

/* Look once at the other process's flag. */
static int flag_look(enum look look)
{
    int seen = -1;

    if (look == LOCKED)
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, other, 0, flags));
    if (look == FETCH)
        CHECK_MPI(MPI_Fetch_and_op(NULL, &seen, MPI_INT, other, 0, MPI_NO_OP, flags));
    else
        CHECK_MPI(MPI_Get(&seen, 1, MPI_INT, other, 0, 1, MPI_INT, flags));
    if (look == LOCKED)
        CHECK_MPI(MPI_Win_unlock(other, flags));
    else if (look == GET_ALL_FLUSHED)
        CHECK_MPI(MPI_Win_flush_all(flags));
    else
        CHECK_MPI(MPI_Win_flush(other, flags));
    return seen;
}

/* The process that looks. */
static void flag_await(enum look look, int wanted, int is_lock)
{
    static char received[N];
    MPI_Request req = MPI_REQUEST_NULL;
    int seen, value;

    if (!is_lock)
        CHECK_MPI(MPI_Irecv(received, N, MPI_BYTE, other, 0, MPI_COMM_WORLD, &req));
    MPI_Barrier(MPI_COMM_WORLD);
    if (look != LOCKED)
        CHECK_MPI(MPI_Win_lock_all(0, flags));
    do {
        seen = flag_look(look);
    } while (seen == wanted - 1);
    CHECK(seen == wanted);
    if (look != LOCKED)
        CHECK_MPI(MPI_Win_unlock_all(flags));
    CHECK_MPI(MPI_Wait(&req, MPI_STATUS_IGNORE));
    mem_read(&data, 0, &value, sizeof(value));
    CHECK(is_lock ? value == wanted : received[N - 1] == (char) wanted);
}

/* The process that changes its flag. */
static void flag_change(int wanted, int is_lock)
{
    static char sent[N];

    MPI_Barrier(MPI_COMM_WORLD);
    if (is_lock) {
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, datas));
        CHECK_MPI(MPI_Put(&wanted, 1, MPI_INT, other, 0, 1, MPI_INT, datas));
        CHECK_MPI(MPI_Win_unlock(other, datas));
    } else {
        memset(sent, wanted, N);
        CHECK_MPI(MPI_Send(sent, N, MPI_BYTE, other, 0, MPI_COMM_WORLD));
    }
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, flags));
    CHECK_MPI(MPI_Accumulate(&wanted, 1, MPI_INT, rank, 0, 1, MPI_INT, MPI_REPLACE, flags));
    CHECK_MPI(MPI_Win_unlock(rank, flags));
}

int main(void)
{
    const int zero = 0;
    int provided;

    report_time_limit(60);
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    if (gpu_open() == 0)
        return 1;
    if (rank == 1 && mem_exists(MEM__OTHER_DEVICE))
        kind = MEM__OTHER_DEVICE;
    gpu_set_current(kind == MEM__OTHER_DEVICE);
    mem_alloc(&flag, kind, sizeof(int));
    mem_alloc(&data, kind, sizeof(int));
    mem_write(&flag, 0, &zero, sizeof(zero));
    mem_write(&data, 0, &zero, sizeof(zero));
    CHECK_MPI(MPI_Win_create(flag.addr, sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                             &flags));
    CHECK_MPI(MPI_Win_create(data.addr, sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                             &datas));
    for (int i = 0; i < 2 * NLOOKS; i++) {
        if (rank == 0)
            flag_await((enum look) (i / 2), i + 1, i % 2);
        else
            flag_change(i + 1, i % 2);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK(rank == 1 || report_variable("gpudt_window_direct") > 2 * NLOOKS);
    CHECK_MPI(MPI_Win_free(&flags));
    CHECK_MPI(MPI_Win_free(&datas));
    mem_free(&flag);
    mem_free(&data);
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
