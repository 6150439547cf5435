/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The calls of messages with large counts take all bits of them: sends of 4 GiB and a little, of one byte
 * again and again, in every mode, and receives of short messages with as large a count. Two processes. */

#include "report.h"

#define EXTRA 16
#define COUNT (((MPI_Count) 1 << 32) + EXTRA)

enum send { SEND, SSEND, RSEND, ISEND, ISSEND, IRSEND, SEND_INIT, SSEND_INIT, RSEND_INIT, NSENDS };
enum receive { RECV, IRECV, RECV_INIT, MRECV, IMRECV, NRECEIVES };

static int rank;

static void persistent_run(MPI_Request request)
{
    CHECK_MPI(MPI_Start(&request));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Request_free(&request));
}

static void send_do(enum send how, const void *buf, MPI_Datatype type)
{
    MPI_Request request = MPI_REQUEST_NULL;

    switch (how) {
        case SEND:
            CHECK_MPI(MPI_Send_c(buf, COUNT, type, 1, how, MPI_COMM_WORLD));
            break;
        case SSEND:
            CHECK_MPI(MPI_Ssend_c(buf, COUNT, type, 1, how, MPI_COMM_WORLD));
            break;
        case RSEND:
            CHECK_MPI(MPI_Rsend_c(buf, COUNT, type, 1, how, MPI_COMM_WORLD));
            break;
        case ISEND:
            CHECK_MPI(MPI_Isend_c(buf, COUNT, type, 1, how, MPI_COMM_WORLD, &request));
            break;
        case ISSEND:
            CHECK_MPI(MPI_Issend_c(buf, COUNT, type, 1, how, MPI_COMM_WORLD, &request));
            break;
        case IRSEND:
            CHECK_MPI(MPI_Irsend_c(buf, COUNT, type, 1, how, MPI_COMM_WORLD, &request));
            break;
        case SEND_INIT:
            CHECK_MPI(MPI_Send_init_c(buf, COUNT, type, 1, how, MPI_COMM_WORLD, &request));
            break;
        case SSEND_INIT:
            CHECK_MPI(MPI_Ssend_init_c(buf, COUNT, type, 1, how, MPI_COMM_WORLD, &request));
            break;
        default:
            CHECK_MPI(MPI_Rsend_init_c(buf, COUNT, type, 1, how, MPI_COMM_WORLD, &request));
    }
    if (how >= SEND_INIT)
        persistent_run(request);
    else
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* The receive is posted before, and cut off. */
static void send_check(enum send how)
{
    MPI_Datatype again;
    MPI_Request request;
    char bytes[EXTRA];
    int err, class;

    MPI_Type_create_resized(MPI_BYTE, 0, 0, &again);
    MPI_Type_commit(&again);
    if (rank == 1)
        CHECK_MPI(MPI_Irecv(bytes, EXTRA, MPI_BYTE, 0, how, MPI_COMM_WORLD, &request));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        send_do(how, "x", again);
    } else {
        err = MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Error_class(err, &class);
        if (class != MPI_ERR_TRUNCATE)
            report_fail("a message of a large count, sent in way %d, was taken for a short one", how);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&again);
}

static void receive_check(enum receive how)
{
    char bytes[EXTRA] = "";
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Message message;
    MPI_Status status;
    int got;

    if (rank == 0) {
        CHECK_MPI(MPI_Send("0123456789abcde", EXTRA, MPI_BYTE, 1, how, MPI_COMM_WORLD));
        return;
    }
    /* more than there is room for: nothing behind the message is accessed */
    switch (how) {
        case RECV:
            CHECK_MPI(MPI_Recv_c(bytes, COUNT - EXTRA, MPI_BYTE, 0, how, MPI_COMM_WORLD, &status));
            break;
        case IRECV:
            CHECK_MPI(MPI_Irecv_c(bytes, COUNT - EXTRA, MPI_BYTE, 0, how, MPI_COMM_WORLD, &request));
            break;
        case RECV_INIT:
            CHECK_MPI(MPI_Recv_init_c(bytes, COUNT - EXTRA, MPI_BYTE, 0, how, MPI_COMM_WORLD, &request));
            CHECK_MPI(MPI_Start(&request));
            break;
        case MRECV:
            CHECK_MPI(MPI_Mprobe(0, how, MPI_COMM_WORLD, &message, &status));
            CHECK_MPI(MPI_Mrecv_c(bytes, COUNT - EXTRA, MPI_BYTE, &message, &status));
            break;
        default:
            CHECK_MPI(MPI_Mprobe(0, how, MPI_COMM_WORLD, &message, &status));
            CHECK_MPI(MPI_Imrecv_c(bytes, COUNT - EXTRA, MPI_BYTE, &message, &request));
    }
    if (request != MPI_REQUEST_NULL)
        CHECK_MPI(MPI_Wait(&request, &status));
    CHECK_MPI(MPI_Get_count(&status, MPI_BYTE, &got));
    if (got != EXTRA || bytes[EXTRA - 2] != 'e')
        report_fail("way %d of receiving with a large count: %d bytes", how, got);
    if (how == RECV_INIT)
        CHECK_MPI(MPI_Request_free(&request));
}

int main(void)
{
    report_time_limit(120);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (enum send how = 0; how < NSENDS; how++)
        send_check(how);
    for (enum receive how = 0; how < NRECEIVES; how++)
        receive_check(how);
    MPI_Finalize();
    return report_done();
}
