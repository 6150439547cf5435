/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The MPI calls whose buffers are moved to device memory; see shadow.c. */

#include "shadow.h"

/* ---- packing ---- */

int MPI_Pack(const void *inbuf, int incount, MPI_Datatype type, void *outbuf, int outsize,
             int *position, MPI_Comm comm)
{
    struct operation *op = operation_make(inbuf, incount, type, outbuf, outsize, MPI_BYTE);

    operation_start(op);
    return operation_end(op, PMPI_Pack(op->in.addr, incount, type, op->out.addr, outsize, position,
                                       comm));
}

int MPI_Unpack(const void *inbuf, int insize, int *position, void *outbuf, int outcount,
               MPI_Datatype type, MPI_Comm comm)
{
    struct operation *op = operation_make(inbuf, insize, MPI_BYTE, outbuf, outcount, type);

    operation_start(op);
    return operation_end(op, PMPI_Unpack(op->in.addr, insize, position, op->out.addr, outcount,
                                         type, comm));
}

int MPI_Pack_external(const char datarep[], const void *inbuf, int incount, MPI_Datatype type,
                      void *outbuf, MPI_Aint outsize, MPI_Aint * position)
{
    struct operation *op = operation_make(inbuf, incount, type, outbuf, outsize, MPI_BYTE);

    operation_start(op);
    return operation_end(op, PMPI_Pack_external(datarep, op->in.addr, incount, type, op->out.addr,
                                                outsize, position));
}

int MPI_Unpack_external(const char datarep[], const void *inbuf, MPI_Aint insize,
                        MPI_Aint * position, void *outbuf, int outcount, MPI_Datatype type)
{
    struct operation *op = operation_make(inbuf, insize, MPI_BYTE, outbuf, outcount, type);

    operation_start(op);
    return operation_end(op, PMPI_Unpack_external(datarep, op->in.addr, insize, position,
                                                  op->out.addr, outcount, type));
}

/* ---- messages ----
 *
 * A macro defines the wrapper of a kind of call. */

#define SEND(name_, count_t)                                                                      \
int name_(const void *buf, count_t count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)    \
{                                                                                                 \
    struct operation *op = operation_make(buf, count, type, NO_BUFFER);                           \
                                                                                                  \
    windows_push();                                                                               \
    operation_start(op);                                                                          \
    return operation_end(op, P##name_(op->in.addr, count, type, dest, tag, comm));                \
}

EACH(SEND, MPI_Send)
EACH(SEND, MPI_Bsend)
EACH(SEND, MPI_Ssend)
EACH(SEND, MPI_Rsend)

#define RECV(name_, count_t)                                                                      \
int name_(void *buf, count_t count, MPI_Datatype type, int source, int tag, MPI_Comm comm,        \
          MPI_Status * status)                                                                    \
{                                                                                                 \
    struct operation *op = operation_make(NO_BUFFER, buf, count, type);                           \
    int err;                                                                                      \
                                                                                                  \
    operation_start(op);                                                                          \
    operation_end(op, err = P##name_(op->out.addr, count, type, source, tag, comm, status));      \
    return windows_pull(err);                                                                     \
}

EACH(RECV, MPI_Recv)

#define MRECV(name_, count_t)                                                                     \
int name_(void *buf, count_t count, MPI_Datatype type, MPI_Message * message,                     \
          MPI_Status * status)                                                                    \
{                                                                                                 \
    struct operation *op = operation_make(NO_BUFFER, buf, count, type);                           \
                                                                                                  \
    operation_start(op);                                                                          \
    return operation_end(op, P##name_(op->out.addr, count, type, message, status));               \
}

EACH(MRECV, MPI_Mrecv)

#define SENDRECV(name_, count_t)                                                                  \
int name_(const void *sendbuf, count_t sendcount, MPI_Datatype sendtype, int dest, int sendtag,   \
          void *recvbuf, count_t recvcount, MPI_Datatype recvtype, int source, int recvtag,       \
          MPI_Comm comm, MPI_Status * status)                                                     \
{                                                                                                 \
    struct operation *op = operation_make(sendbuf, sendcount, sendtype,                           \
                                          recvbuf, recvcount, recvtype);                          \
                                                                                                  \
    operation_start(op);                                                                          \
    return operation_end(op, P##name_(op->in.addr, sendcount, sendtype, dest, sendtag,            \
                                      op->out.addr, recvcount, recvtype, source, recvtag,         \
                                      comm, status));                                             \
}

EACH(SENDRECV, MPI_Sendrecv)

#define SENDRECV_REPLACE(name_, count_t)                                                          \
int name_(void *buf, count_t count, MPI_Datatype type, int dest, int sendtag, int source,         \
          int recvtag, MPI_Comm comm, MPI_Status * status)                                        \
{                                                                                                 \
    struct operation *op = operation_make_replace(buf, count, type);                              \
                                                                                                  \
    operation_start(op);                                                                          \
    return operation_end(op, P##name_(op->out.addr, count, type, dest, sendtag, source, recvtag,  \
                                      comm, status));                                             \
}

EACH(SENDRECV_REPLACE, MPI_Sendrecv_replace)

/* ---- messages with a request ---- */

#define ISEND(name_, count_t)                                                                     \
int name_(const void *buf, count_t count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,    \
          MPI_Request * request)                                                                  \
{                                                                                                 \
    struct operation *op = operation_make(buf, count, type, NO_BUFFER);                           \
                                                                                                  \
    windows_push();                                                                               \
    operation_start(op);                                                                          \
    return operation_pending(op, request, P##name_(op->in.addr, count, type, dest, tag, comm,     \
                                                   request));                                     \
}

EACH(ISEND, MPI_Isend)
EACH(ISEND, MPI_Ibsend)
EACH(ISEND, MPI_Issend)
EACH(ISEND, MPI_Irsend)

#define IRECV(name_, count_t)                                                                     \
int name_(void *buf, count_t count, MPI_Datatype type, int source, int tag, MPI_Comm comm,        \
          MPI_Request * request)                                                                  \
{                                                                                                 \
    struct operation *op = operation_make(NO_BUFFER, buf, count, type);                           \
                                                                                                  \
    operation_start(op);                                                                          \
    return operation_pending(op, request, P##name_(op->out.addr, count, type, source, tag, comm,  \
                                                   request));                                     \
}

EACH(IRECV, MPI_Irecv)

#define IMRECV(name_, count_t)                                                                    \
int name_(void *buf, count_t count, MPI_Datatype type, MPI_Message * message,                     \
          MPI_Request * request)                                                                  \
{                                                                                                 \
    struct operation *op = operation_make(NO_BUFFER, buf, count, type);                           \
                                                                                                  \
    operation_start(op);                                                                          \
    return operation_pending(op, request, P##name_(op->out.addr, count, type, message, request)); \
}

EACH(IMRECV, MPI_Imrecv)

#define ISENDRECV(name_, count_t)                                                                 \
int name_(const void *sendbuf, count_t sendcount, MPI_Datatype sendtype, int dest, int sendtag,   \
          void *recvbuf, count_t recvcount, MPI_Datatype recvtype, int source, int recvtag,       \
          MPI_Comm comm, MPI_Request * request)                                                   \
{                                                                                                 \
    struct operation *op = operation_make(sendbuf, sendcount, sendtype,                           \
                                          recvbuf, recvcount, recvtype);                          \
                                                                                                  \
    operation_start(op);                                                                          \
    return operation_pending(op, request,                                                         \
                             P##name_(op->in.addr, sendcount, sendtype, dest, sendtag,            \
                                      op->out.addr, recvcount, recvtype, source, recvtag,         \
                                      comm, request));                                            \
}

EACH(ISENDRECV, MPI_Isendrecv)

#define ISENDRECV_REPLACE(name_, count_t)                                                         \
int name_(void *buf, count_t count, MPI_Datatype type, int dest, int sendtag, int source,         \
          int recvtag, MPI_Comm comm, MPI_Request * request)                                      \
{                                                                                                 \
    struct operation *op = operation_make_replace(buf, count, type);                              \
                                                                                                  \
    operation_start(op);                                                                          \
    return operation_pending(op, request,                                                         \
                             P##name_(op->out.addr, count, type, dest, sendtag, source, recvtag,  \
                                      comm, request));                                            \
}

EACH(ISENDRECV_REPLACE, MPI_Isendrecv_replace)

/* ---- persistent requests: their operation starts with MPI_Start ---- */

#define SEND_INIT(name_, count_t)                                                                 \
int name_(const void *buf, count_t count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,    \
          MPI_Request * request)                                                                  \
{                                                                                                 \
    struct operation *op = operation_make(buf, count, type, NO_BUFFER);                           \
                                                                                                  \
    op->persistent = true;                                                                        \
    return operation_pending(op, request, P##name_(op->in.addr, count, type, dest, tag, comm,     \
                                                   request));                                     \
}

EACH(SEND_INIT, MPI_Send_init)
EACH(SEND_INIT, MPI_Bsend_init)
EACH(SEND_INIT, MPI_Ssend_init)
EACH(SEND_INIT, MPI_Rsend_init)

#define RECV_INIT(name_, count_t)                                                                 \
int name_(void *buf, count_t count, MPI_Datatype type, int source, int tag, MPI_Comm comm,        \
          MPI_Request * request)                                                                  \
{                                                                                                 \
    struct operation *op = operation_make(NO_BUFFER, buf, count, type);                           \
                                                                                                  \
    op->persistent = true;                                                                        \
    return operation_pending(op, request, P##name_(op->out.addr, count, type, source, tag, comm,  \
                                                   request));                                     \
}

EACH(RECV_INIT, MPI_Recv_init)

int MPI_Start(MPI_Request * request)
{
    requests_start(1, request);
    return PMPI_Start(request);
}

int MPI_Startall(int n, MPI_Request requests[])
{
    requests_start(n, requests);
    return PMPI_Startall(n, requests);
}

/* ---- completion of requests, also of cancelled ones ---- */

int MPI_Wait(MPI_Request * request, MPI_Status * status)
{
    MPI_Request *before = requests_copy(1, request);

    return requests_end(1, before, request, PMPI_Wait(request, status));
}

int MPI_Waitall(int n, MPI_Request requests[], MPI_Status statuses[])
{
    MPI_Request *before = requests_copy(n, requests);

    return requests_end(n, before, requests, PMPI_Waitall(n, requests, statuses));
}

int MPI_Waitany(int n, MPI_Request requests[], int *index, MPI_Status * status)
{
    MPI_Request *before = requests_copy(n, requests);

    return requests_end(n, before, requests, PMPI_Waitany(n, requests, index, status));
}

int MPI_Waitsome(int n, MPI_Request requests[], int *nindices, int indices[],
                 MPI_Status statuses[])
{
    MPI_Request *before = requests_copy(n, requests);

    return requests_end(n, before, requests,
                        PMPI_Waitsome(n, requests, nindices, indices, statuses));
}

int MPI_Test(MPI_Request * request, int *flag, MPI_Status * status)
{
    MPI_Request *before = requests_copy(1, request);

    return requests_end(1, before, request, PMPI_Test(request, flag, status));
}

int MPI_Testall(int n, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    MPI_Request *before = requests_copy(n, requests);

    return requests_end(n, before, requests, PMPI_Testall(n, requests, flag, statuses));
}

int MPI_Testany(int n, MPI_Request requests[], int *index, int *flag, MPI_Status * status)
{
    MPI_Request *before = requests_copy(n, requests);

    return requests_end(n, before, requests, PMPI_Testany(n, requests, index, flag, status));
}

int MPI_Testsome(int n, MPI_Request requests[], int *nindices, int indices[],
                 MPI_Status statuses[])
{
    MPI_Request *before = requests_copy(n, requests);

    return requests_end(n, before, requests,
                        PMPI_Testsome(n, requests, nindices, indices, statuses));
}

/* The request is not freed, but the program may read its data. */
int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status * status)
{
    int err = PMPI_Request_get_status(request, flag, status);
    struct operation *op = operation_find(request, false);

    if (op && *flag)
        operation_fetch(op);
    return err;
}

int MPI_Request_free(MPI_Request * request)
{
    struct operation *op = operation_find(*request, true);

    if (op)
        operation_free(op);
    return PMPI_Request_free(request);
}
