/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that a process exits in the middle of a message: its peer gets an error. To be run with
 * mpiexec -disable-auto-cleanup and MPIR_CVAR_ENABLE_FT=1; mpiexec then reports the dead process,
 * so only the survivors' output counts.
 *
 *     peer_dies send|recv      two processes: what the survivor was doing
 *     peer_dies host           the same as send, from host memory
 *     peer_dies others         three: the survivor was receiving, then receives from the third one.
 *                              Memory of it that the dead process had credits for is replaced */

#include "report.h"
#include "side.h"

#include <string.h>
#include <unistd.h>

#define N 4000000               /* ints */

static int rank;

/* A long message from process 2 to process 0. */
static void from_third(unsigned seed)
{
    struct side s;

    side_make(&s, MEM__DEVICE, MPI_INT, N, 0);
    if (rank == 2) {
        side_fill(&s, seed);
        CHECK_MPI(MPI_Send(s.buf, N, MPI_INT, 0, 2, MPI_COMM_WORLD));
    } else if (rank == 0) {
        side_clear(&s, seed);
        CHECK_MPI(MPI_Recv(s.buf, N, MPI_INT, 2, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        side_check(&s, "a buffer received from the third process", seed, s.size);
    }
    side_free(&s);
}

static void others_go_on(void)
{
    unsigned long long pinned = report_variable("gpudt_pinned_bytes");

    if (rank == 0)
        CHECK(report_variable("gpudt_renewed_pieces") > 0);
    for (int i = 0; i < 5; i++)
        from_third(10 + i);
    CHECK(report_variable("gpudt_heap_chunks") == 0);
    if (rank == 2) {
        CHECK(report_variable("gpudt_pinned_bytes") <= 2 * pinned);
        /* The end of a process fails what its peers have not received yet */
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        CHECK_MPI(MPI_Send(NULL, 0, MPI_BYTE, 2, 3, MPI_COMM_WORLD));
    }
}

int main(int argc, char **argv)
{
    int flag = 0, err, class, is_sender, is_alone, is_host, provided;
    MPI_Request request, requests[2];
    MPI_Status statuses[2];
    struct side s;

    if (argc != 2)
        return 2;
    report_time_limit(60);
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    is_alone = strcmp(argv[1], "others") != 0;
    if (!is_alone)
        from_third(2);
    is_host = strcmp(argv[1], "host") == 0;
    is_sender = (rank == 0) == (is_host || strcmp(argv[1], "send") == 0);
    side_make(&s, is_host && is_sender ? MEM__PAGEABLE : MEM__DEVICE, MPI_INT, N, 0);
    side_fill(&s, 1);
    MPI_Barrier(MPI_COMM_WORLD);

    if (rank == 2) {
        others_go_on();
        _exit(report_done());
    }
    if (is_sender)
        MPI_Isend(s.buf, N, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, &request);
    else
        MPI_Irecv(s.buf, N, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, &request);
    if (rank == 1) {
        unsigned long long packs = report_variable("gpudt_packs");
        for (int i = 0; i < 200 && !flag; i++)
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        /* It has credits, and its GPU is packing; or it has given some */
        while (!is_alone && !is_host && !flag && report_variable("gpudt_packs") == packs)
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
        _exit(report_failures ? 3 : 0);
    }
    /* The send is still looked at when its error is known */
    requests[0] = request;
    MPI_Irecv(NULL, 0, MPI_BYTE, 1, 7, MPI_COMM_WORLD, &requests[1]);
    CHECK(MPI_Waitall(2, requests, statuses) == MPI_ERR_IN_STATUS);
    err = statuses[0].MPI_ERROR;
    CHECK(err != MPI_SUCCESS);
    if (err) {
        MPI_Error_class(err, &class);
        if (class != MPIX_ERR_PROC_FAILED)
            report_fail("error class %d: %s", class, report_mpi_text(err));
    }
    if (!is_alone)
        others_go_on();
    _exit(report_done());
}
