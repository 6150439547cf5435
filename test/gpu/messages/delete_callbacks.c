/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that messages with GPU buffers go on in a function of the program that runs when MPI releases a
 * communicator or a datatype: one that the program has freed before the operation that uses it was complete.
 * Two processes.
 *
 *   delete_callbacks message      a send whose request was freed, too, on a communicator
 *   delete_callbacks collective   a nonblocking collective call
 *   delete_callbacks partitioned  a partitioned receive that was freed before its message was sent */

#include "report.h"
#include "side.h"

#include <string.h>

#define N 100000                /* ints of a buffer */

static int rank, other, ncalls;
static struct side from, to;    /* of the message in the callback */

static void called(void)
{
    ncalls++;
    side_fill(&from, 10 + ncalls);
    side_clear(&to, 10 + ncalls);
    CHECK_MPI(MPI_Sendrecv(from.buf, 1, from.type, 0, 0, to.buf, 1, to.type, 0, 0, MPI_COMM_SELF,
                           MPI_STATUS_IGNORE));
    side_check(&to, "a buffer received in the callback", 10 + ncalls, to.size);
}

/* For MPI_Comm_create_keyval and MPI_Type_create_keyval. */
static int comm_deleted(MPI_Comm comm, int key, void *value, void *state)
{
    (void) comm, (void) key, (void) value, (void) state;
    called();
    return MPI_SUCCESS;
}

static int type_deleted(MPI_Datatype type, int key, void *value, void *state)
{
    (void) type, (void) key, (void) value, (void) state;
    called();
    return MPI_SUCCESS;
}

/* Every second of 2 * N ints. */
static MPI_Datatype type_make(void)
{
    MPI_Datatype type;

    MPI_Type_vector(N, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

static void until_called(void)
{
    int flag;

    while (ncalls == 0)
        CHECK_MPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(ncalls == 1);
}

/* The type is freed in each of these.
 *   s, r  (IN)  buffers of one element */
static void message(MPI_Datatype type, struct side *s, struct side *r)
{
    MPI_Request req, recv;
    MPI_Comm comm;
    int key;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, comm_deleted, &key, NULL);
    MPI_Comm_set_attr(comm, key, NULL);
    CHECK_MPI(MPI_Irecv(r->buf, 1, r->type, other, 1, comm, &recv));
    CHECK_MPI(MPI_Isend(s->buf, 1, s->type, other, 1, comm, &req));
    MPI_Comm_free(&comm);
    MPI_Request_free(&req);
    MPI_Request_free(&recv);
    CHECK(ncalls == 0);
    until_called();
    MPI_Comm_free_keyval(&key);
    MPI_Type_free(&type);
}

static void collective(MPI_Datatype type, struct side *s, struct side *r)
{
    int counts[2] = { 0, 0 };
    const int displs[2] = { 0, 0 };
    MPI_Datatype types[2] = { type, type }, rtypes[2] = { r->type, r->type };
    MPI_Request req;

    counts[other] = 1;
    CHECK_MPI(MPI_Ialltoallw(s->buf, counts, displs, types, r->buf, counts, displs, rtypes,
                             MPI_COMM_WORLD, &req));
    MPI_Type_free(&type);
    CHECK(ncalls == 0);
    CHECK_MPI(MPI_Wait(&req, MPI_STATUS_IGNORE));
    until_called();
}

static void partitioned(MPI_Datatype type, struct side *s, struct side *r)
{
    MPI_Request send, recv;

    CHECK_MPI(MPI_Precv_init(r->buf, 1, 1, type, other, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &recv));
    CHECK_MPI(MPI_Start(&recv));
    MPI_Type_free(&type);
    MPI_Request_free(&recv);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(ncalls == 0);
    CHECK_MPI(MPI_Psend_init(s->buf, 1, 1, s->type, other, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
    CHECK_MPI(MPI_Start(&send));
    CHECK_MPI(MPI_Pready(0, send));
    CHECK_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
    MPI_Request_free(&send);
    until_called();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run) (MPI_Datatype type, struct side * s, struct side * r);
    } cases[] = { {"message", message}, {"collective", collective}, {"partitioned", partitioned} };
    struct side s, r;
    MPI_Datatype type, plain;
    int key, nrun = 0;

    report_time_limit(60);
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    plain = type_make();
    side_make(&from, MEM__DEVICE, plain, 1, 0);
    side_make(&to, MEM__DEVICE, plain, 1, 0);
    side_make(&s, MEM__DEVICE, plain, 1, 0);
    side_make(&r, MEM__DEVICE, plain, 1, 0);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, type_deleted, &key, NULL);
    for (int i = 0; argc > 1 && i < (int) (sizeof(cases) / sizeof(cases[0])); i++) {
        if (strcmp(cases[i].name, argv[1]))
            continue;
        nrun++;
        type = type_make();
        if (cases[i].run != message)
            MPI_Type_set_attr(type, key, NULL);
        side_fill(&s, rank);
        side_clear(&r, other);
        MPI_Barrier(MPI_COMM_WORLD);
        cases[i].run(type, &s, &r);
        MPI_Barrier(MPI_COMM_WORLD);
        side_check(&s, "the send buffer", rank, s.size);
        side_check(&r, "the receive buffer", other, r.size);
    }
    CHECK(nrun == 1);
    MPI_Type_free_keyval(&key);
    side_free(&from);
    side_free(&to);
    side_free(&s);
    side_free(&r);
    MPI_Type_free(&plain);
    MPI_Finalize();
    return report_done();
}
