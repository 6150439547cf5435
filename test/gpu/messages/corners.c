/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests other operations on messages with GPU buffers: datatypes, communicators and requests freed
 * while in use, cancellation, datatypes over different kinds of memory, packed data,
 * intercommunicators, MPI_Startall, null processes. Two processes. */

#include "report.h"
#include "side.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static MPI_Comm comm;
static int rank, other;
static unsigned seed = 100;

static MPI_Datatype vector_make(int n)
{
    MPI_Datatype type;

    MPI_Type_vector(n, 2, 5, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

/* The datatype and the communicator are freed, and the request too at the sender's end. */
static void free_early(int n, enum mem_kind mine)
{
    MPI_Datatype type = vector_make(n), dup;
    MPI_Comm own;
    MPI_Request request;
    struct side s;

    side_make(&s, mine, type, 1, 0);
    MPI_Comm_dup(comm, &own);
    MPI_Type_dup(type, &dup);
    if (rank == 0) {
        side_fill(&s, ++seed);
        CHECK_MPI(MPI_Isend(s.buf, 1, dup, other, 1, own, &request));
        CHECK_MPI(MPI_Request_free(&request));
    } else {
        side_clear(&s, ++seed);
        CHECK_MPI(MPI_Irecv(s.buf, 1, dup, other, 1, own, &request));
    }
    MPI_Type_free(&dup);
    MPI_Comm_free(&own);
    if (rank == 1)
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    /* The sender's request completes after the message was received and the sender has made
     * progress */
    MPI_Barrier(comm);
    side_check(&s, "a buffer whose datatype and communicator were freed", seed, s.size);
    MPI_Barrier(comm);
    side_free(&s);
    MPI_Type_free(&type);
}

static void cancel(int n)
{
    MPI_Request request;
    MPI_Status status;
    struct side s;
    int flag, sent;

    side_make(&s, MEM__DEVICE, MPI_INT, n, 0);
    if (rank == 0) {
        side_fill(&s, ++seed);
        CHECK_MPI(MPI_Isend(s.buf, n, MPI_INT, other, 1, comm, &request));
        CHECK_MPI(MPI_Cancel(&request));
        CHECK_MPI(MPI_Wait(&request, &status));
        CHECK_MPI(MPI_Test_cancelled(&status, &flag));
        sent = !flag;
        CHECK_MPI(MPI_Send(&sent, 1, MPI_INT, other, 2, comm));
    } else {
        side_clear(&s, ++seed);
        CHECK_MPI(MPI_Recv(&sent, 1, MPI_INT, other, 2, comm, MPI_STATUS_IGNORE));
        if (sent) {
            CHECK_MPI(MPI_Recv(s.buf, n, MPI_INT, other, 1, comm, MPI_STATUS_IGNORE));
            side_check(&s, "a buffer of a message that could not be cancelled", seed, s.size);
        }
        CHECK_MPI(MPI_Irecv(s.buf, n, MPI_INT, other, 1, comm, &request));
        CHECK_MPI(MPI_Cancel(&request));
        CHECK_MPI(MPI_Wait(&request, &status));
        CHECK_MPI(MPI_Test_cancelled(&status, &flag));
        CHECK(flag);
    }
    /* otherwise the next message might match the receive before it is cancelled */
    MPI_Barrier(comm);
    side_free(&s);
}

/* Blocks in GPU and in host memory, by absolute addresses; the first one is the host's. */
static void mixed(int n)
{
    struct side host, gpu_side;
    MPI_Aint displs[2];
    int lengths[2] = { n, n };
    MPI_Datatype type, types[2] = { MPI_INT, MPI_INT };
    unsigned char *expected = malloc(8 * (size_t) n), *seen = malloc(8 * (size_t) n);

    side_make(&host, MEM__PAGEABLE, MPI_INT, n, 0);
    side_make(&gpu_side, MEM__DEVICE, MPI_INT, n, 0);
    MPI_Get_address(host.buf, &displs[0]);
    MPI_Get_address(gpu_side.buf, &displs[1]);
    MPI_Type_create_struct(2, lengths, displs, types, &type);
    MPI_Type_commit(&type);
    seed += 2;
    if (rank == 0) {
        side_fill(&host, seed);
        side_fill(&gpu_side, seed + 1);
        CHECK_MPI(MPI_Send(MPI_BOTTOM, 1, type, other, 1, comm));
        CHECK_MPI(MPI_Send(MPI_BOTTOM, 1, type, other, 1, comm));
    } else {
        side_clear(&host, seed);
        side_clear(&gpu_side, seed + 1);
        CHECK_MPI(MPI_Recv(MPI_BOTTOM, 1, type, other, 1, comm, MPI_STATUS_IGNORE));
        CHECK_MPI(MPI_Recv(seen, 2 * n, MPI_INT, other, 1, comm, MPI_STATUS_IGNORE));
        for (int i = 0; i < 4 * n; i++) {
            expected[i] = side_byte(seed, i);
            expected[4 * n + i] = side_byte(seed + 1, i);
        }
        report_compare("a message from both kinds of memory", seen, expected, 8 * (size_t) n);
    }
    side_check(&host, "the part in host memory", seed, host.size);
    side_check(&gpu_side, "the part in GPU memory", seed + 1, gpu_side.size);
    MPI_Type_free(&type);
    side_free(&host);
    side_free(&gpu_side);
    free(expected);
    free(seen);
}

/* MPI_PACKED from GPU memory by a buffered send, started along with others. */
static void start_all(int n)
{
    struct side s[3];
    MPI_Request requests[3];
    void *attached;
    int sz = 3 * (4 * n + MPI_BSEND_OVERHEAD + 100);

    attached = malloc(sz);
    MPI_Buffer_attach(attached, sz);
    for (int i = 0; i < 3; i++)
        side_make(&s[i], MEM__DEVICE, MPI_INT, n, 0);
    if (rank == 0) {
        CHECK_MPI(MPI_Bsend_init(s[0].buf, 4 * n, MPI_PACKED, other, 0, comm, &requests[0]));
        CHECK_MPI(MPI_Send_init(s[1].buf, n, MPI_INT, other, 1, comm, &requests[1]));
        CHECK_MPI(MPI_Ssend_init(s[2].buf, n, MPI_INT, other, 2, comm, &requests[2]));
    } else {
        CHECK_MPI(MPI_Recv_init(s[0].buf, 4 * n, MPI_PACKED, other, 0, comm, &requests[0]));
        CHECK_MPI(MPI_Recv_init(s[1].buf, n, MPI_INT, other, 1, comm, &requests[1]));
        CHECK_MPI(MPI_Recv_init(s[2].buf, n, MPI_INT, other, 2, comm, &requests[2]));
    }
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++) {
            if (rank == 0)
                side_fill(&s[i], ++seed);
            else
                side_clear(&s[i], ++seed);
        }
        CHECK_MPI(MPI_Startall(3, requests));
        for (int i = 0; i < 3; i++) {
            CHECK_MPI(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
            side_check(&s[i], "a buffer of several started at once", seed - 2 + i, s[i].size);
        }
    }
    MPI_Buffer_detach(&attached, &sz);
    free(attached);
    for (int i = 0; i < 3; i++) {
        side_free(&s[i]);
        MPI_Request_free(&requests[i]);
    }
}

static void intercomm(int n)
{
    MPI_Comm single, inter;
    struct side s;

    MPI_Comm_split(comm, rank, 0, &single);
    MPI_Intercomm_create(single, 0, comm, other, 5, &inter);
    side_make(&s, MEM__DEVICE, MPI_INT, n, 0);
    if (rank == 0) {
        side_fill(&s, ++seed);
        CHECK_MPI(MPI_Send(s.buf, n, MPI_INT, 0, 1, inter));
    } else {
        side_clear(&s, ++seed);
        CHECK_MPI(MPI_Recv(s.buf, n, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE));
    }
    side_check(&s, "a buffer of an intercommunicator", seed, s.size);
    side_free(&s);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&single);
}

static void null_process(void)
{
    struct side s;

    side_make(&s, MEM__DEVICE, MPI_INT, 10, 0);
    side_fill(&s, ++seed);
    CHECK_MPI(MPI_Send(s.buf, 10, MPI_INT, MPI_PROC_NULL, 1, comm));
    CHECK_MPI(MPI_Recv(s.buf, 10, MPI_INT, MPI_PROC_NULL, 1, comm, MPI_STATUS_IGNORE));
    side_check(&s, "a buffer for no process", seed, s.size);
    side_free(&s);
}

/* Segments so long that the network takes them in parts, while others are ready to be sent. */
static void long_messages(void)
{
    const int n = 4000000;
    struct side s;

    side_make(&s, MEM__DEVICE, MPI_INT, n, 0);
    for (int i = 0; i < 10; i++) {
        seed++;
        if (rank == 0) {
            side_fill(&s, seed);
            CHECK_MPI(MPI_Send(s.buf, n, MPI_INT, other, 1, comm));
        } else {
            side_clear(&s, seed);
            CHECK_MPI(MPI_Recv(s.buf, n, MPI_INT, other, 1, comm, MPI_STATUS_IGNORE));
            side_check(&s, "a long message", seed, s.size);
        }
    }
    side_free(&s);
}

/* A buffer that is freed too early: an error at that end if it can be detected, and no crash. */
static void freed_buffer(int n)
{
    char *buf = NULL;
    int err = MPI_SUCCESS;
    struct side s;
    struct mem mem;
    MPI_Request request;

    if (rank == 0) {
        mem_alloc(&mem, MEM__DEVICE, 4 * (size_t) n);
        buf = mem.addr;
        CHECK_MPI(MPI_Isend(buf, n, MPI_INT, other, 1, comm, &request));
        mem_free(&mem);
        MPI_Barrier(comm);
        err = MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(err != MPI_SUCCESS);
    } else {
        unsigned long long pulls;

        side_make(&s, MEM__DEVICE, MPI_INT, n, 0);
        side_clear(&s, ++seed);
        pulls = report_variable("gpudt_direct_pulls");
        MPI_Barrier(comm);
        err = MPI_Recv(s.buf, n, MPI_INT, other, 1, comm, MPI_STATUS_IGNORE);
        /* A receiver that has mapped the memory cannot tell */
        CHECK(err != MPI_SUCCESS || report_variable("gpudt_direct_pulls") > pulls);
        side_free(&s);
    }
}

int main(int argc, char **argv)
{
    int provided;

    report_time_limit(200);
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &rank);
    other = 1 - rank;
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);

    for (int n = 10; n < 200000; n *= 50) {
        for (int i = 1; i < 4; i++)
            free_early(n / 5 + 1, i >> rank & 1 ? MEM__DEVICE : MEM__PAGEABLE);
        cancel(n);
        mixed(n);
        start_all(n);
        intercomm(n);
    }
    null_process();
    long_messages();
    if (argc > 1 && strcmp(argv[1], "freed") == 0)
        freed_buffer(100000);
    MPI_Comm_free(&comm);
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
