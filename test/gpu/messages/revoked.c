/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that a communicator is revoked while messages, with GPU buffers and others, are in flight:
 * each completes with an error or with the right bytes, and other communicators still work. Two
 * processes. */

#include "report.h"
#include "side.h"

#include <unistd.h>

#define SHORT 100               /* ints */
#define LONG 4000000

enum when { UNEXPECTED, MATCHED, LATE, NEVER_SENT };

static int rank, other;
static unsigned seed;

/* Wait; the operation may succeed only if may_succeed. */
static int wait_ends(MPI_Request * request, int may_succeed, const char *text)
{
    int err = MPI_Wait(request, MPI_STATUS_IGNORE), class = MPI_SUCCESS;

    if (err)
        MPI_Error_class(err, &class);
    if (class != MPIX_ERR_REVOKED && !(may_succeed && err == MPI_SUCCESS))
        report_fail("%s: error class %d: %s", text, class, report_mpi_text(err));
    return err;
}

/* Calls return the error at once when a process knows that a communicator is revoked. */
static void nothing_starts(MPI_Comm comm, const struct side *s, int n)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int err[4];

    err[0] = MPI_Isend(s->buf, n, MPI_INT, other, 1, comm, &request);
    err[1] = MPI_Irecv(s->buf, n, MPI_INT, other, 1, comm, &request);
    err[2] = MPI_Send(s->buf, n, MPI_INT, other, 1, comm);
    err[3] = MPI_Recv(s->buf, n, MPI_INT, other, 1, comm, MPI_STATUS_IGNORE);
    for (int i = 0; i < 4; i++) {
        int class;

        MPI_Error_class(err[i], &class);
        if (class != MPIX_ERR_REVOKED)
            report_fail("call %d on a revoked communicator: error class %d", i, class);
    }
    CHECK(request == MPI_REQUEST_NULL);
}

static void message(enum mem_kind kind, int n, enum when when, const char *text)
{
    MPI_Comm comm;
    MPI_Request request = MPI_REQUEST_NULL;
    struct side s;
    int flag = 0, before = report_failures, is_short = n == SHORT;

    seed++;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    side_make(&s, kind, MPI_INT, n, 0);
    if (rank == 0)
        side_fill(&s, seed);
    else
        side_clear(&s, seed);

    if (rank == 0 && (when == UNEXPECTED || when == MATCHED))
        CHECK_MPI(MPI_Isend(s.buf, n, MPI_INT, other, 1, comm, &request));
    if (rank == 1 && (when == MATCHED || when == NEVER_SENT))
        CHECK_MPI(MPI_Irecv(s.buf, n, MPI_INT, other, 1, comm, &request));
    while (rank == 1 && when == UNEXPECTED && !flag)
        CHECK_MPI(MPI_Iprobe(other, 1, comm, &flag, MPI_STATUS_IGNORE));
    if (rank == 1 && when == MATCHED) {
        for (int i = 0; i < 20 && !flag; i++)
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);

    if (rank == 1)
        CHECK_MPI(MPIX_Comm_revoke(comm));
    if (rank == 0 && when == LATE) {
        int err;

        /* Packets of the other process are not processed meanwhile */
        usleep(200000);
        err = MPI_Isend(s.buf, n, MPI_INT, other, 1, comm, &request);
        if (err)
            request = MPI_REQUEST_NULL;
    }
    /* From host memory, and too late, its data may never be requested */
    if (rank == 0 && when != NEVER_SENT && request != MPI_REQUEST_NULL)
        wait_ends(&request, is_short || when == MATCHED || kind == MEM__PAGEABLE, text);
    if (rank == 1 && request != MPI_REQUEST_NULL &&
        wait_ends(&request, when == MATCHED, text) == MPI_SUCCESS)
        side_check(&s, text, seed, s.size);
    /* A matched message may have completed before */
    MPI_Barrier(MPI_COMM_WORLD);
    nothing_starts(comm, &s, n);
    side_free(&s);
    MPI_Comm_free(&comm);
    if (report_failures != before)
        report_fail("... %s", text);
}

/* Starts of partitioned requests, which then fail: none of their messages may be waited for. */
static void partitioned(void)
{
    enum { PARTS = 64, PART = 1024 };   /* ints, which are a message of their own */
    MPI_Comm comm;
    MPI_Request request;
    struct side s;
    int err;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    side_make(&s, MEM__DEVICE, MPI_INT, PARTS * PART, 0);
    if (rank == 0)
        CHECK_MPI(MPI_Psend_init(s.buf, PARTS, PART, MPI_INT, other, 0, comm, MPI_INFO_NULL, &request));
    else
        CHECK_MPI(MPI_Precv_init(s.buf, PARTS, PART, MPI_INT, other, 0, comm, MPI_INFO_NULL, &request));
    if (rank == 0)
        side_fill(&s, ++seed);
    else
        side_clear(&s, ++seed);
    CHECK_MPI(MPI_Start(&request));
    if (rank == 0)
        CHECK_MPI(MPI_Pready_range(0, PARTS - 1, request));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    side_check(&s, "a partitioned buffer", seed, s.size);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        MPIX_Comm_revoke(comm);
    else
        CHECK(MPI_Recv(NULL, 0, MPI_INT, other, 9, comm, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        err = MPI_Start(&request);
        if (err == MPI_SUCCESS)
            wait_ends(&request, 0, "a partitioned receive");
    }
    MPI_Request_free(&request);
    side_free(&s);
    MPI_Comm_free(&comm);
}

static void world_works(void)
{
    struct side s;

    side_make(&s, MEM__DEVICE, MPI_INT, LONG, 0);
    if (rank == 0) {
        side_fill(&s, ++seed);
        CHECK_MPI(MPI_Send(s.buf, LONG, MPI_INT, other, 1, MPI_COMM_WORLD));
    } else {
        side_clear(&s, ++seed);
        CHECK_MPI(MPI_Recv(s.buf, LONG, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        side_check(&s, "a buffer in another communicator", seed, s.size);
    }
    side_free(&s);
}

int main(void)
{
    report_time_limit(120);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);

    for (int i = 0; i < 3; i++) {
        message(MEM__DEVICE, LONG, UNEXPECTED, "long and unexpected");
        message(MEM__DEVICE, SHORT, UNEXPECTED, "short and unexpected");
        message(MEM__DEVICE, LONG, MATCHED, "long and under way");
        message(MEM__DEVICE, SHORT, MATCHED, "short and under way");
        message(MEM__DEVICE, LONG, LATE, "long and sent too late");
        message(MEM__DEVICE, SHORT, LATE, "short and sent too late");
        message(MEM__DEVICE, LONG, NEVER_SENT, "received only");
        message(MEM__PAGEABLE, LONG, UNEXPECTED, "long and unexpected, in host memory");
        message(MEM__PAGEABLE, SHORT, UNEXPECTED, "short and unexpected, in host memory");
        message(MEM__PAGEABLE, LONG, LATE, "long and sent too late, in host memory");
        message(MEM__PAGEABLE, SHORT, LATE, "short and sent too late, in host memory");
        world_works();
    }
    partitioned();
    MPI_Finalize();
    return report_done();
}
