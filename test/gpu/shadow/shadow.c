/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Runs programs that use host memory with device buffers. A library to preload: it copies each
 * buffer of the calls in shadow_calls.c, shadow_coll.c, shadow_file.c and shadow_win.c, with its
 * surroundings, to device memory, makes the call there, and copies back the bytes that the call has changed. So
 * MPICH's own tests of datatypes, messages, collectives, one-sided communication and MPI-IO
 * test the engine without changes.
 * Not moved are buffers at absolute addresses, those for which the device has too little memory, and
 * most of those of a program with very many.
 *
 * SHADOW_SIDES selects the buffers: those that calls read ("send"), those that they write ("recv"),
 * windows ("window"), or all ("both", the default). SHADOW_FIRST is the number of buffers of a process after which only
 * some are moved. SHADOW_GPUS is the number of GPUs that the processes are dealt out to (default:
 * 1). At exit the number of operations with device buffers, and of messages that this process has
 * copied from the sender's GPU memory, is appended to the file SHADOW_COUNT. */

#include "shadow.h"

#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Use of a buffer by a call. */
enum { READ = 1, WRITTEN = 2, WINDOW = 4 };

/* The first buffers and bytes of a process are moved, and then one buffer of ONE_OF, so that
 * tests that repeat a call a hundred thousand times do not take long; a prime, as calls come in
 * patterns. */
enum { ALL_OF_BYTES = 256 << 20, ONE_OF = 31, RARER = 1000 };
static long all_of_first = 2000;

/* The operations with a request, oldest first. Completed ones may share a handle, and a handle may
 * be reused before the thread that waits for the old request has removed it. */
static struct operation *pending, **pending_end = &pending;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int sides = READ | WRITTEN | WINDOW;
static int device;
static long nbuffers, nbytes, ncalls;
static unsigned long long ndirect;

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
    if (strcmp(text, "send") && strcmp(text, "recv") && strcmp(text, "window")) {
        fprintf(stderr, "shadow: SHADOW_SIDES is send, recv, window or both\n");
        abort();
    }
    sides = !strcmp(text, "send") ? READ : !strcmp(text, "recv") ? WRITTEN : WINDOW;
}

__attribute__((constructor)) static void numbers_read(void)
{
    const char *rank = getenv("PMI_RANK"), *gpus = getenv("SHADOW_GPUS");
    const char *first = getenv("SHADOW_FIRST");

    if (rank && gpus && atoi(gpus) > 0)
        device = atoi(rank) % atoi(gpus);
    if (first)
        all_of_first = atol(first);
}

/* The library's own count of the messages that it has copied from the sender's GPU memory. */
static unsigned long long direct_count(void)
{
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    unsigned long long value = 0;
    int provided, at, n;

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    if (MPI_T_pvar_get_index("gpudt_direct_pulls", MPI_T_PVAR_CLASS_COUNTER, &at) == MPI_SUCCESS) {
        MPI_T_pvar_session_create(&session);
        MPI_T_pvar_handle_alloc(session, at, NULL, &handle, &n);
        MPI_T_pvar_read(session, handle, &value);
        MPI_T_pvar_handle_free(session, &handle);
        MPI_T_pvar_session_free(&session);
    }
    MPI_T_finalize();
    return value;
}

int MPI_Finalize(void)
{
    ndirect = direct_count();
    return PMPI_Finalize();
}

__attribute__((destructor)) static void count_write(void)
{
    const char *name = getenv("SHADOW_COUNT");
    char line[64];
    int fd;

    if (ncalls == 0 || name == NULL)
        return;
    fd = open(name, O_WRONLY | O_APPEND | O_CREAT, 0666);
    snprintf(line, sizeof(line), "%ld %llu\n", ncalls, ndirect);
    if (fd < 0 || write(fd, line, strlen(line)) != (ssize_t) strlen(line))
        fprintf(stderr, "shadow: cannot write to %s\n", name);
    if (fd >= 0)
        close(fd);
}

/* ---- buffers ---- */

bool windows_are_moved(void)
{
    return (sides & WINDOW) != 0;
}

void device_use(void)
{
    CUDA(cudaSetDevice(device));
}

void call_count(void)
{
    __atomic_add_fetch(&ncalls, 1, __ATOMIC_RELAXED);
}

static bool has_transpose(size_t sz)
{
    long n = __atomic_fetch_add(&nbuffers, 1, __ATOMIC_RELAXED);
    long bytes = __atomic_fetch_add(&nbytes, (long) sz, __ATOMIC_RELAXED);

    return (n < all_of_first && bytes < ALL_OF_BYTES) || n % (ONE_OF + n / RARER) == 0;
}

struct range range_of(const void *buf, MPI_Count count, MPI_Datatype type)
{
    struct range range = { 0, 0 };
    MPI_Count size = 0, lb, extent, true_lb, true_extent, reach;

    if (buf == MPI_BOTTOM || buf == MPI_IN_PLACE || count <= 0 || type == MPI_DATATYPE_NULL ||
        PMPI_Type_size_x(type, &size) || size <= 0)
        return range;
    PMPI_Type_get_extent_x(type, &lb, &extent);
    PMPI_Type_get_true_extent_x(type, &true_lb, &true_extent);
    reach = extent * (count - 1);
    range.lo = true_lb + (reach < 0 ? reach : 0);
    range.hi = true_lb + true_extent + (reach > 0 ? reach : 0);
    return range;
}

/* Whether a buffer is a copy already: ROMIO calls MPI functions with the arguments of its own. */
static bool is_copy(const void *buf)
{
    struct cudaPointerAttributes attr;

    return cudaPointerGetAttributes(&attr, buf) == cudaSuccess &&
        attr.type == cudaMemoryTypeDevice;
}

/* Allocate a copy of a buffer's memory from its first byte to its last. An empty buffer, one at
 * absolute addresses, or one that the call will refuse is passed on. */
static void shadow_make(struct shadow *s, int use, const void *buf, struct range range)
{
    cudaError_t err;

    s->addr = (void *) buf;
    if (!(use & sides) || range.hi <= range.lo)
        return;
    s->sz = (size_t) (range.hi - range.lo);
    if (!has_transpose(s->sz))
        return;
    device_use();
    if (is_copy((const char *) buf + range.lo))
        return;
    err = cudaMalloc((void **) &s->mem, s->sz);
    if (err == cudaErrorMemoryAllocation)
        return;
    cuda_ok(err, "cudaMalloc");
    s->host = (char *) buf + range.lo;
    s->addr = (void *) ((uintptr_t) buf + ((uintptr_t) s->mem - (uintptr_t) s->host));
    if (use & WRITTEN)
        s->before = allocate(s->sz);
}

static void shadow_fill(struct shadow *s)
{
    if (s->host == NULL)
        return;
    /* Memory between a datatype's elements may be the allocator's, which changes it at any call: it is read once. */
    if (s->before)
        memcpy(s->before, s->host, s->sz);
    CUDA(cudaMemcpy(s->mem, s->before ? s->before : s->host, s->sz, cudaMemcpyHostToDevice));
}

/* Copies back only bytes that have changed: bytes between a datatype's elements may belong to
 * another operation that has completed meanwhile. */
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

struct operation *operation_make(const void *inbuf, MPI_Count incount, MPI_Datatype intype,
                                 void *outbuf, MPI_Count outcount, MPI_Datatype outtype)
{
    return operation_make_ranges(inbuf, range_of(inbuf, incount, intype),
                                 outbuf, range_of(outbuf, outcount, outtype));
}

struct operation *operation_make_ranges(const void *inbuf, struct range in, void *outbuf,
                                        struct range out)
{
    struct operation *op = allocate(sizeof(*op));

    shadow_make(&op->in, READ, inbuf, in);
    shadow_make(&op->out, WRITTEN, outbuf, out);
    return op;
}

struct operation *operation_make_replace(void *buf, MPI_Count count, MPI_Datatype type)
{
    struct operation *op = allocate(sizeof(*op));

    shadow_make(&op->out, READ | WRITTEN, buf, range_of(buf, count, type));
    return op;
}

void operation_start(struct operation *op)
{
    shadow_fill(&op->in);
    shadow_fill(&op->out);
    op->active = true;
    if (op->in.host || op->out.host)
        call_count();
}

void operation_fetch(struct operation *op)
{
    if (op->active)
        shadow_fetch(&op->out);
    op->active = false;
}

void operation_free(struct operation *op)
{
    if (!op->active) {
        shadow_free(&op->in);
        shadow_free(&op->out);
        free(op);
    }
}

int operation_end(struct operation *op, int err)
{
    operation_fetch(op);
    operation_free(op);
    return err;
}

int operation_pending(struct operation *op, const MPI_Request * request, int err)
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

struct operation *operation_find(MPI_Request request, bool take)
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

void requests_start(int n, const MPI_Request requests[])
{
    for (int i = 0; i < n; i++) {
        struct operation *op = operation_find(requests[i], false);

        if (op)
            operation_start(op);
    }
}

MPI_Request *requests_copy(int n, const MPI_Request requests[])
{
    size_t sz = n > 0 ? n * sizeof(*requests) : 0;
    MPI_Request *copy = allocate(sz);

    if (sz)
        memcpy(copy, requests, sz);
    return copy;
}

int requests_end(int n, MPI_Request * before, const MPI_Request after[], int err)
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
    return windows_pull(err);
}
