/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests receives of messages that are too long in all calls that complete one: matched, nonblocking and persistent
 * receives, and those of MPI_Sendrecv, which sends all the same. The error is that of the completion, once, and
 * the status tells of the message. Two processes.
 *
 *     too_long [gpu]      buffers are in GPU memory */

#include "gpu.h"
#include "report.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LARGE 200000            /* integers: with a rendezvous */
#define SMALL 4                 /* eager */
#define TAG 5
#define UNSET -5                /* the MPI_ERROR of a status before a call */

enum way { SENDRECV, REPLACE, MRECV, IMRECV, IRECV, START, STARTALL, WAITANY, NWAYS };

static const char *const names[NWAYS] = {
    "MPI_Sendrecv", "MPI_Sendrecv_replace", "MPI_Mrecv", "MPI_Imrecv", "MPI_Irecv", "MPI_Start",
    "MPI_Startall", "MPI_Waitany"
};

static int rank;
static struct mem large, in, out;
static MPI_Request persistent;  /* receives two integers */

/* A message of n integers, which arrives before the receive is posted, or later. */
struct turn {
    enum way way;
    int n, value;
    bool is_before;
    char name[80];
};

static bool is_exchange(enum way way)
{
    return way == SENDRECV || way == REPLACE;
}

static void ints_write(struct mem *m, int value)
{
    const int values[2] = { value, -value };

    mem_write(m, 0, values, sizeof(values));
}

static void ints_check(struct mem *m, int value, const char *name)
{
    int values[2];

    mem_read(m, 0, values, sizeof(values));
    if (values[0] != value || values[1] != -value)
        report_fail("%s: %d and %d instead of %d have come", name, values[0], values[1], value);
}

static void sender(const struct turn *t)
{
    MPI_Request req;

    ints_write(&large, t->value);
    if (!t->is_before)
        CHECK_MPI(MPI_Recv(NULL, 0, MPI_INT, 0, 98, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Isend(large.addr, t->n, MPI_INT, 0, TAG, MPI_COMM_WORLD, &req));
    if (t->is_before)
        CHECK_MPI(MPI_Send(NULL, 0, MPI_INT, 0, 99, MPI_COMM_WORLD));
    if (is_exchange(t->way)) {
        ints_write(&in, 0);
        CHECK_MPI(MPI_Recv(in.addr, 2, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        ints_check(&in, t->value + 500, t->name);
    }
    CHECK_MPI(MPI_Wait(&req, MPI_STATUS_IGNORE));
    /* the next one fits */
    CHECK_MPI(MPI_Send(large.addr, 2, MPI_INT, 0, TAG, MPI_COMM_WORLD));
}

/* Tell the sender that the receive is posted. */
static void posted(const struct turn *t)
{
    if (!t->is_before)
        CHECK_MPI(MPI_Send(NULL, 0, MPI_INT, 1, 98, MPI_COMM_WORLD));
}

/* Returns the error of the completion. */
static int receive(const struct turn *t, MPI_Status * status)
{
    MPI_Request req = MPI_REQUEST_NULL;
    MPI_Message message;
    int err, index, flag = 0;

    switch (t->way) {
        case SENDRECV:
            posted(t);
            return MPI_Sendrecv(out.addr, 2, MPI_INT, 1, TAG, in.addr, 2, MPI_INT, 1, TAG,
                                MPI_COMM_WORLD, status);
        case REPLACE:
            posted(t);
            ints_write(&in, t->value + 500);
            return MPI_Sendrecv_replace(in.addr, 2, MPI_INT, 1, TAG, 1, TAG, MPI_COMM_WORLD, status);
        case MRECV:
            CHECK_MPI(MPI_Mprobe(1, TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
            err = MPI_Mrecv(in.addr, 2, MPI_INT, &message, status);
            CHECK(message == MPI_MESSAGE_NULL);
            return err;
        case IMRECV:
            CHECK_MPI(MPI_Mprobe(1, TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
            CHECK_MPI(MPI_Imrecv(in.addr, 2, MPI_INT, &message, &req));
            CHECK(message == MPI_MESSAGE_NULL);
            return MPI_Wait(&req, status);
        case IRECV:
            CHECK_MPI(MPI_Irecv(in.addr, 2, MPI_INT, 1, TAG, MPI_COMM_WORLD, &req));
            posted(t);
            return MPI_Wait(&req, status);
        case STARTALL:
            CHECK_MPI(MPI_Startall(1, &persistent));
            posted(t);
            do
                err = MPI_Test(&persistent, &flag, status);
            while (!flag && !err);
            return err;
        case WAITANY:
            CHECK_MPI(MPI_Start(&persistent));
            posted(t);
            err = MPI_Waitany(1, &persistent, &index, status);
            CHECK(index == 0);
            return err;
        default:
            CHECK_MPI(MPI_Start(&persistent));
            posted(t);
            return MPI_Wait(&persistent, status);
    }
}

static void receiver(const struct turn *t)
{
    int err, class = MPI_SUCCESS, count;
    MPI_Status status;

    memset(&status, 0, sizeof(status));
    status.MPI_ERROR = UNSET;
    ints_write(&in, 0);
    ints_write(&out, t->value + 500);
    if (t->is_before)
        CHECK_MPI(MPI_Recv(NULL, 0, MPI_INT, 1, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    err = receive(t, &status);
    MPI_Error_class(err, &class);
    MPI_Get_count(&status, MPI_INT, &count);
    if (class != MPI_ERR_TRUNCATE || status.MPI_SOURCE != 1 || status.MPI_TAG != TAG || count != 2 ||
        status.MPI_ERROR != UNSET)
        report_fail("%s: error class %d, source %d, tag %d, %d integers, MPI_ERROR %d", t->name,
                    class, status.MPI_SOURCE, status.MPI_TAG, count, status.MPI_ERROR);
    ints_check(&in, t->value, t->name);

    ints_write(&in, 0);
    if (t->way >= START) {
        /* inactive, without an error that was returned before */
        CHECK_MPI(MPI_Wait(&persistent, &status));
        CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE);
        CHECK_MPI(MPI_Start(&persistent));
        CHECK_MPI(MPI_Wait(&persistent, &status));
    } else {
        CHECK_MPI(MPI_Recv(in.addr, 2, MPI_INT, 1, TAG, MPI_COMM_WORLD, &status));
    }
    ints_check(&in, t->value, t->name);
}

/* A status that is that of no message, and keeps its MPI_ERROR. */
static void from_null(void)
{
    MPI_Status status;

    for (int i = 0; i < 2; i++) {
        status.MPI_ERROR = UNSET;
        if (i)
            CHECK_MPI(MPI_Sendrecv_replace(in.addr, 2, MPI_INT, MPI_PROC_NULL, 0, MPI_PROC_NULL, 0,
                                           MPI_COMM_WORLD, &status));
        else
            CHECK_MPI(MPI_Sendrecv(out.addr, 2, MPI_INT, MPI_PROC_NULL, 0, in.addr, 2, MPI_INT,
                                   MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status));
        CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_ERROR == UNSET);
    }
}

static void turn(enum way way, bool is_large, bool is_before)
{
    struct turn t = {.way = way,.n = is_large ? LARGE : SMALL,.is_before = is_before };

    t.value = 10 * way + 2 * is_large + is_before + 1;
    snprintf(t.name, sizeof(t.name), "%s of %d integers, %s", names[way], t.n,
             is_before ? "which are there" : "which come later");
    if (rank == 1)
        sender(&t);
    else
        receiver(&t);
    CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char *argv[])
{
    enum mem_kind kind = MEM__PAGEABLE;

    report_time_limit(60);
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (argc > 1 && !strcmp(argv[1], "gpu")) {
        if (gpu_open() == 0)
            return 1;
        gpu_set_current(0);
        kind = MEM__DEVICE;
    }
    mem_alloc(&large, kind, LARGE * sizeof(int));
    mem_alloc(&in, kind, 2 * sizeof(int));
    mem_alloc(&out, kind, 2 * sizeof(int));
    MPI_Recv_init(in.addr, 2, MPI_INT, 1, TAG, MPI_COMM_WORLD, &persistent);
    for (int i = 0; i < 4 * NWAYS; i++) {
        const enum way way = i / 4;

        /* a message is there when it is probed */
        if (i % 2 || (way != MRECV && way != IMRECV))
            turn(way, i & 2, i & 1);
    }
    from_null();
    MPI_Request_free(&persistent);
    mem_free(&large);
    mem_free(&in);
    mem_free(&out);
    MPI_Finalize();
    return report_done();
}
