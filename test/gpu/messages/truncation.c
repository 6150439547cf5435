/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests messages longer than the receive buffer: error class, status, the bytes received and those
 * not written, and the next message. Also shorter messages, and buffers that end inside an element
 * of the sender's datatype. All protocols; also host memory, where some of these never complete
 * with MPICH's release. Two processes.
 *
 *     truncation [host]      only buffers in host memory */

#include "report.h"
#include "side.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static MPI_Comm comm;
static int rank, other;
static unsigned seed = 1;

/* n doubles, of which at most max are received. */
struct shape {
    const char *name;
    int nblocks;                /* 0: one per double */
};
static const struct shape shapes[] = { {"contiguous", 1}, {"vector", 0}, {"four blocks", 4} };

static MPI_Datatype shape_make(const struct shape *shape, int n)
{
    MPI_Datatype type;
    int block = shape->nblocks ? n / shape->nblocks : 1;

    if (shape->nblocks != 1)
        MPI_Type_vector(n / block, block, block + 1, MPI_DOUBLE, &type);
    else
        MPI_Type_contiguous(n, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

/* Have the receive posted before or after the message arrives. */
static void order(int is_late, int is_sender_ready)
{
    if (is_late && is_sender_ready)
        MPI_Ssend(NULL, 0, MPI_BYTE, other, 9, comm);
    else if (is_late)
        MPI_Recv(NULL, 0, MPI_BYTE, other, 9, comm, MPI_STATUS_IGNORE);
}

static void send(struct side *s, int is_late, int is_ready_mode)
{
    MPI_Request request;

    side_fill(s, seed);
    if (!is_late)
        MPI_Recv(NULL, 0, MPI_BYTE, other, 9, comm, MPI_STATUS_IGNORE);
    if (is_ready_mode)
        CHECK_MPI(MPI_Irsend(s->buf, (int) s->count, s->type, other, 1, comm, &request));
    else
        CHECK_MPI(MPI_Isend(s->buf, (int) s->count, s->type, other, 1, comm, &request));
    order(is_late, 1);
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    side_check(s, "the sent buffer", seed, s->size);
}

static void recv(struct side *s, int is_late, MPI_Aint sent, MPI_Aint got_expected)
{
    MPI_Request request;
    MPI_Status status;
    MPI_Count got;
    int err, class = MPI_SUCCESS;

    side_clear(s, seed);
    order(is_late, 0);
    err = MPI_Irecv(s->buf, (int) s->count, s->type, other, 1, comm, &request);
    if (!is_late)
        MPI_Send(NULL, 0, MPI_BYTE, other, 9, comm);
    /* An unexpected message may be complete at once */
    if (err == MPI_SUCCESS)
        err = MPI_Wait(&request, &status);
    else
        status.MPI_ERROR = -1;
    if (err)
        MPI_Error_class(err, &class);
    if (sent > s->size ? class != MPI_ERR_TRUNCATE : class != MPI_SUCCESS)
        report_fail("error class %d: %s", class, err ? report_mpi_text(err) : "none");
    if (status.MPI_ERROR != -1) {
        MPI_Get_elements_x(&status, MPI_BYTE, &got);
        if (got != got_expected)
            report_fail("the status says %ld bytes, expected %ld", (long) got, (long) got_expected);
    }
    side_check(s, "the received buffer", seed, got_expected);
}

/* One message of n elements into a buffer of `room`. */
static void message(const struct shape *from, const struct shape *to, int n, int room,
                    enum mem_kind kind, int is_late, int is_ready_mode)
{
    int before = report_failures;
    MPI_Datatype type = rank == 0 ? shape_make(from, n) : shape_make(to, room);
    struct side s;

    seed++;
    side_make(&s, kind, type, 1, 0);
    if (rank == 0)
        send(&s, is_late, is_ready_mode);
    else
        recv(&s, is_late, n * (MPI_Aint) 8, 8 * (n < room ? n : room));
    side_free(&s);
    MPI_Type_free(&type);
    if (report_failures != before)
        fprintf(stderr, "... %d of %d doubles, %s to %s%s%s, my end in %s memory\n", room, n,
                from->name, to->name, is_late ? ", unexpected" : "",
                is_ready_mode ? ", ready mode" : "", mem_name(kind));
}

/* A message of bytes that ends inside an element of the sender's datatype. */
static void cut(int n, MPI_Aint room, enum mem_kind kind, int is_late)
{
    int before = report_failures;
    MPI_Datatype type;
    struct side s;

    seed++;
    if (rank == 0)
        type = shape_make(&shapes[1], n);
    else
        MPI_Type_dup(MPI_BYTE, &type);
    side_make(&s, kind, type, rank == 0 ? 1 : room, 0);
    if (rank == 0)
        send(&s, is_late, 0);
    else
        recv(&s, is_late, n * (MPI_Aint) 8, room);
    side_free(&s);
    MPI_Type_free(&type);
    if (report_failures != before)
        fprintf(stderr, "... %ld bytes of a vector of %d doubles%s, my end in %s memory\n",
                (long) room, n, is_late ? ", unexpected" : "", mem_name(kind));
}

int main(int argc, char **argv)
{
    static const enum mem_kind kinds[][2] = {
        {MEM__PAGEABLE, MEM__PAGEABLE}, {MEM__DEVICE, MEM__DEVICE}, {MEM__DEVICE, MEM__PAGEABLE},
        {MEM__PAGEABLE, MEM__DEVICE}
    };
    /* sent, received: eager, eager in several cells, rendezvous */
    static const int lengths[][2] = {
        {10, 4}, {10, 0}, {1000, 30}, {1000, 1000}, {1000, 2000}, {6000, 5000}, {50000, 100},
        {50000, 40000}, {50000, 0}
    };
    int nkinds = argc > 1 && strcmp(argv[1], "host") == 0 ? 1 : 4;

    report_time_limit(300);
    MPI_Init(NULL, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &rank);
    other = 1 - rank;
    if (nkinds > 1) {
        if (gpu_open() == 0)
            return 1;
        gpu_set_current(0);
    }

    for (int k = 0; k < nkinds; k++) {
        for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
            for (int i = 0; i < 8; i++)
                message(&shapes[i & 1], &shapes[i >> 1 & 1], lengths[l][0], lengths[l][1],
                        kinds[k][rank], i >> 2, 0);
            for (int i = 0; i < 4; i++)
                message(&shapes[i & 1], &shapes[i >> 1], lengths[l][0], lengths[l][1],
                        kinds[k][rank], 0, 1);
        }
        for (int i = 0; i < 2; i++) {
            /* More than the network's buffers, so that blocks are read in parts */
            if (k == 0)
                message(&shapes[0], &shapes[2], 4000000, 2400000, kinds[k][rank], i, 0);
            cut(10, 13, kinds[k][rank], i);
            cut(1000, 801, kinds[k][rank], i);
            cut(50000, 300004, kinds[k][rank], i);
        }
    }
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return report_done();
}
