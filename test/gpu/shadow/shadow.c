/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Gives programs that know only host memory device buffers: preloaded, it copies each buffer of the
 * calls below to device memory, with its surroundings, makes the call there, and copies back what
 * the call has changed. So MPICH's own tests of datatypes and of messages test the engine as they
 * are. Buffers at absolute addresses stay where they are, those for which a device has too little
 * memory, and of a program that has very many all but some.
 *
 * SHADOW_SIDES says which buffers move: those that calls read ("send"), those that they write
 * ("recv"), or all ("both", which is the default). At exit the number of operations with device
 * buffers is appended to the file that SHADOW_COUNT names. */

#include <mpi.h>
#include <cuda_runtime_api.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a call does with a buffer. */
enum { READ = 1, WRITTEN = 2 };

/* The first buffers and bytes of a process move, and then one buffer of some, so that tests that
 * repeat a call a hundred thousand times end soon; a prime, as calls come in patterns. */
enum { ALL_OF_FIRST = 2000, ALL_OF_BYTES = 256 << 20, ONE_OF = 31 };

/* A buffer and its copy in device memory. */
struct shadow {
    char *host;                 /* lowest byte of the buffer; NULL: there is no copy */
    size_t sz;
    char *mem;
    char *before;               /* what was in it at the start; NULL: the call only reads it */
    void *addr;                 /* stands for the address that the program gave */
};

/* A call, or a request and what it stands for. */
struct operation {
    struct shadow in, out;      /* a buffer that is read and written is "out" */
    bool active;                /* started, and not yet copied back */
    bool persistent;
    MPI_Request request;
    struct operation *next;
};

/* The operations that have a request, oldest first: complete ones may share a handle, and a handle
 * may be used again before the old one's waiting thread has come to take it out. */
static struct operation *pending, **pending_end = &pending;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int sides = READ | WRITTEN;
static long nbuffers, nbytes, ncalls;

static void cuda_ok(cudaError_t err, const char *call)
{
    if (err != cudaSuccess) {
        fprintf(stderr, "shadow: %s: %s\n", call, cudaGetErrorString(err));
        abort();
    }
}

#define CUDA(call_) cuda_ok(call_, #call_)

static void *allocate(size_t sz)
{
    void *mem = calloc(1, sz ? sz : 1);

    if (mem == NULL) {
        fprintf(stderr, "shadow: out of memory\n");
        abort();
    }
    return mem;
}

__attribute__((constructor)) static void sides_read(void)
{
    const char *text = getenv("SHADOW_SIDES");

    if (text == NULL || !strcmp(text, "both"))
        return;
    if (strcmp(text, "send") && strcmp(text, "recv")) {
        fprintf(stderr, "shadow: SHADOW_SIDES is send, recv or both\n");
        abort();
    }
    sides = strcmp(text, "send") ? WRITTEN : READ;
}

__attribute__((destructor)) static void count_write(void)
{
    const char *name = getenv("SHADOW_COUNT");
    char line[32];
    int fd;

    if (ncalls == 0 || name == NULL)
        return;
    fd = open(name, O_WRONLY | O_APPEND | O_CREAT, 0666);
    snprintf(line, sizeof(line), "%ld\n", ncalls);
    if (fd < 0 || write(fd, line, strlen(line)) != (ssize_t) strlen(line))
        fprintf(stderr, "shadow: cannot write to %s\n", name);
    if (fd >= 0)
        close(fd);
}

/* ---- buffers ---- */

static bool has_turn(size_t sz)
{
    long n = __atomic_fetch_add(&nbuffers, 1, __ATOMIC_RELAXED);
    long bytes = __atomic_fetch_add(&nbytes, (long) sz, __ATOMIC_RELAXED);

    return (n < ALL_OF_FIRST && bytes < ALL_OF_BYTES) || n % ONE_OF == 0;
}

/* Make room for a copy of a buffer's memory from its first byte to its last. An empty one, one at
 * absolute addresses, or one that the call will refuse is passed on. */
static void shadow_make(struct shadow *s, int use, const void *buf, MPI_Count count,
                        MPI_Datatype type)
{
    MPI_Count size = 0, lb, extent, true_lb, true_extent, reach;
    cudaError_t err;

    s->addr = (void *) buf;
    if (!(use & sides) || buf == MPI_BOTTOM || buf == MPI_IN_PLACE || count <= 0 ||
        type == MPI_DATATYPE_NULL || PMPI_Type_size_x(type, &size) || size <= 0)
        return;
    PMPI_Type_get_extent_x(type, &lb, &extent);
    PMPI_Type_get_true_extent_x(type, &true_lb, &true_extent);
    reach = extent * (count - 1);
    s->sz = (size_t) (true_extent + (reach < 0 ? -reach : reach));
    if (!has_turn(s->sz))
        return;
    err = cudaMalloc((void **) &s->mem, s->sz);
    if (err == cudaErrorMemoryAllocation)
        return;
    cuda_ok(err, "cudaMalloc");
    s->host = (char *) buf + true_lb + (reach < 0 ? reach : 0);
    s->addr = (void *) ((uintptr_t) buf + ((uintptr_t) s->mem - (uintptr_t) s->host));
    if (use & WRITTEN)
        s->before = allocate(s->sz);
}

static void shadow_fill(struct shadow *s)
{
    if (s->host == NULL)
        return;
    CUDA(cudaMemcpy(s->mem, s->host, s->sz, cudaMemcpyHostToDevice));
    if (s->before)
        memcpy(s->before, s->host, s->sz);
}

/* Only bytes that have changed are copied back: what lies between a datatype's elements may belong
 * to another operation that has completed in the meantime. */
static void shadow_fetch(struct shadow *s)
{
    char *now;

    if (s->before == NULL)
        return;
    now = allocate(s->sz);
    CUDA(cudaMemcpy(now, s->mem, s->sz, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < s->sz; i++) {
        if (now[i] != s->before[i])
            s->host[i] = now[i];
    }
    free(now);
}

static void shadow_free(struct shadow *s)
{
    if (s->host)
        CUDA(cudaFree(s->mem));
    free(s->before);
}

/* ---- operations ---- */

/* An operation that reads one buffer and writes another. */
static struct operation *operation_make(const void *inbuf, MPI_Count incount, MPI_Datatype intype,
                                        void *outbuf, MPI_Count outcount, MPI_Datatype outtype)
{
    struct operation *op = allocate(sizeof(*op));

    shadow_make(&op->in, READ, inbuf, incount, intype);
    shadow_make(&op->out, WRITTEN, outbuf, outcount, outtype);
    return op;
}

#define NO_BUFFER NULL, 0, MPI_DATATYPE_NULL

/* An operation that reads and writes one buffer. */
static struct operation *operation_make_replace(void *buf, MPI_Count count, MPI_Datatype type)
{
    struct operation *op = allocate(sizeof(*op));

    shadow_make(&op->out, READ | WRITTEN, buf, count, type);
    return op;
}

static void operation_start(struct operation *op)
{
    shadow_fill(&op->in);
    shadow_fill(&op->out);
    op->active = true;
    if (op->in.host || op->out.host)
        __atomic_add_fetch(&ncalls, 1, __ATOMIC_RELAXED);
}

/* Of an operation that is complete. */
static void operation_fetch(struct operation *op)
{
    if (op->active)
        shadow_fetch(&op->out);
    op->active = false;
}

/* Free it; if it is under way, its device memory stays. */
static void operation_free(struct operation *op)
{
    if (!op->active) {
        shadow_free(&op->in);
        shadow_free(&op->out);
        free(op);
    }
}

/* After a call that has done all, with the value that it returned. */
static int operation_end(struct operation *op, int err)
{
    operation_fetch(op);
    operation_free(op);
    return err;
}

/* After a call that has made a request. */
static int operation_pending(struct operation *op, const MPI_Request * request, int err)
{
    if (err)
        return operation_end(op, err);
    op->request = *request;
    pthread_mutex_lock(&mutex);
    *pending_end = op;
    pending_end = &op->next;
    pthread_mutex_unlock(&mutex);
    return err;
}

/* A request's operation or NULL, which is also what MPI_REQUEST_NULL has. take: it is no longer
 * pending. */
static struct operation *operation_find(MPI_Request request, bool take)
{
    struct operation **at = &pending, *op;

    pthread_mutex_lock(&mutex);
    while (*at && (*at)->request != request)
        at = &(*at)->next;
    op = *at;
    if (op && take) {
        *at = op->next;
        if (op->next == NULL)
            pending_end = at;
    }
    pthread_mutex_unlock(&mutex);
    return op;
}

static void requests_start(int n, const MPI_Request requests[])
{
    for (int i = 0; i < n; i++) {
        struct operation *op = operation_find(requests[i], false);

        if (op)
            operation_start(op);
    }
}

static MPI_Request *requests_copy(int n, const MPI_Request requests[])
{
    size_t sz = n > 0 ? n * sizeof(*requests) : 0;
    MPI_Request *copy = allocate(sz);

    if (sz)
        memcpy(copy, requests, sz);
    return copy;
}

/* The program has asked for some requests: what became MPI_REQUEST_NULL is complete. A persistent
 * one keeps its handle; one that is complete may be copied back before a call has named it. */
static int requests_end(int n, MPI_Request * before, const MPI_Request after[], int err)
{
    for (int i = 0; i < n; i++) {
        struct operation *op;
        int flag = 0;

        if (before[i] != MPI_REQUEST_NULL && after[i] == MPI_REQUEST_NULL) {
            op = operation_find(before[i], true);
            if (op)
                operation_end(op, MPI_SUCCESS);
        } else if ((op = operation_find(before[i], false)) && op->persistent && op->active) {
            PMPI_Request_get_status(before[i], &flag, MPI_STATUS_IGNORE);
            if (flag)
                operation_fetch(op);
        }
    }
    free(before);
    return err;
}

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
 * A macro defines a call of a kind; EACH also its variant for large counts. */

#define EACH(define_, name_) define_(name_, int) define_(name_##_c, MPI_Count)

#define SEND(name_, count_t)                                                                      \
int name_(const void *buf, count_t count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)    \
{                                                                                                 \
    struct operation *op = operation_make(buf, count, type, NO_BUFFER);                           \
                                                                                                  \
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
                                                                                                  \
    operation_start(op);                                                                          \
    return operation_end(op, P##name_(op->out.addr, count, type, source, tag, comm, status));     \
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

/* ---- persistent requests: their operation begins with MPI_Start ---- */

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

/* ---- what completes requests; a cancelled one must be completed, too ---- */

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

/* The request stays, but the program may look at its data. */
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
