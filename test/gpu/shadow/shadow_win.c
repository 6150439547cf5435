/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* One-sided calls; see shadow.c. Buffers of origins and results are moved as those of other calls, and
 * are complete when the window is synchronized.
 *
 * Memory of MPI_Win_create and MPI_Win_allocate is moved for as long as the window exists. The program
 * loads and stores host memory meanwhile: each call that synchronizes a window copies what the program
 * has stored to the device before, and what others have written from there afterwards. Only bytes that
 * differ from those of the last such copy are written. A second window on the same memory, memory of
 * dynamic windows, whose addresses others use, and memory shared by processes stay where they are. */

#include "shadow.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_BYTES = 64 << 20,      /* of a window that is moved */
    MOST_COPIES = 64            /* of stores, each by itself */
};

/* An operation without a request that is not known to be complete. */
struct started {
    int rank;
    struct operation *op;
    struct started *next;
};

struct window {
    MPI_Win win;
    char *host;                 /* the program's memory; NULL: not moved */
    char *mem;                  /* on the device */
    char *last;                 /* contents of both after the last copy */
    size_t sz;
    bool is_allocated;          /* by this library, for MPI_Win_allocate */
    struct started *started;
    struct window *next;
};

static struct window *windows;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

#define CUDA(call_)                                                                               \
    do {                                                                                          \
        cudaError_t err_ = (call_);                                                               \
        if (err_ != cudaSuccess) {                                                                \
            fprintf(stderr, "shadow: %s: %s\n", #call_, cudaGetErrorString(err_));                \
            abort();                                                                              \
        }                                                                                         \
    } while (0)

static void *allocate(size_t sz)
{
    void *mem = calloc(1, sz);

    if (mem == NULL) {
        fprintf(stderr, "shadow: out of memory\n");
        abort();
    }
    return mem;
}

/* ---- memory of windows; the caller has the mutex ---- */

/* The first byte from i on in which two contents of sz bytes differ; sz: none. */
static size_t differing_next(const char *a, const char *b, size_t i, size_t sz)
{
    enum { STEP = 4096 };

    while (sz - i >= STEP && memcmp(a + i, b + i, STEP) == 0)
        i += STEP;
    while (i < sz && a[i] == b[i])
        i++;
    return i;
}

/* The bytes [first, end) that the program has stored next, from byte i on; false: no more. */
static bool stored_next(const struct window *w, size_t i, size_t *first, size_t *end)
{
    i = differing_next(w->host, w->last, i, w->sz);
    *first = i;
    while (i < w->sz && w->host[i] != w->last[i])
        i++;
    *end = i;
    return *first < i;
}

/* Copy what the program has stored to the device. Other processes may write to the bytes between, which are
 * therefore not copied. A program that fills an array of structures stores very many short pieces: those are
 * one datatype, as copying each by itself takes minutes. */
static void stores_push(struct window *w)
{
    size_t first, end, n = 0, sz = 0;
    int *lens, position = 0;
    MPI_Aint *displs;
    char *stored;
    MPI_Datatype type;

    if (w->host == NULL)
        return;
    for (size_t i = 0; stored_next(w, i, &first, &end); i = end)
        n++;
    if (n <= MOST_COPIES) {
        for (size_t i = 0; stored_next(w, i, &first, &end); i = end) {
            memcpy(w->last + first, w->host + first, end - first);
            CUDA(cudaMemcpy(w->mem + first, w->last + first, end - first, cudaMemcpyHostToDevice));
        }
        return;
    }
    lens = allocate(n * sizeof(*lens));
    displs = allocate(n * sizeof(*displs));
    stored = allocate(w->sz);
    n = 0;
    for (size_t i = 0; stored_next(w, i, &first, &end); i = end, n++) {
        lens[n] = (int) (end - first);
        displs[n] = (MPI_Aint) first;
        memcpy(w->last + first, w->host + first, end - first);
        memcpy(stored + sz, w->last + first, end - first);
        sz += end - first;
    }
    if (PMPI_Type_create_hindexed((int) n, lens, displs, MPI_BYTE, &type) ||
        PMPI_Type_commit(&type) ||
        PMPI_Unpack(stored, (int) sz, &position, w->mem, 1, type, MPI_COMM_SELF) ||
        PMPI_Type_free(&type)) {
        fprintf(stderr, "shadow: stores to a window cannot be copied\n");
        abort();
    }
    free(lens);
    free(displs);
    free(stored);
}

/* Copy what others have written from the device. */
static void writes_pull(struct window *w)
{
    char *now;

    if (w->host == NULL)
        return;
    stores_push(w);
    now = allocate(w->sz);
    CUDA(cudaMemcpy(now, w->mem, w->sz, cudaMemcpyDeviceToHost));
    for (size_t i = 0; (i = differing_next(now, w->last, i, w->sz)) < w->sz; i++)
        w->host[i] = w->last[i] = now[i];
    free(now);
}

static struct window *window_find(MPI_Win win)
{
    struct window *w = windows;

    while (w && w->win != win)
        w = w->next;
    return w;
}

/* The window whose memory a range overlaps. */
static struct window *window_at(const char *addr, size_t sz)
{
    struct window *w = windows;

    while (w && !(w->host && addr < w->host + w->sz && w->host < addr + sz))
        w = w->next;
    return w;
}

/* The address of a buffer: on the device, if it is in a window that is moved. */
static void *addr_in_window(const void *buf, MPI_Count count, MPI_Datatype type)
{
    struct range range = range_of(buf, count, type);
    void *addr = (void *) buf;
    struct window *w;

    if (range.hi <= range.lo)
        return addr;
    pthread_mutex_lock(&mutex);
    w = window_at((const char *) buf + range.lo, (size_t) (range.hi - range.lo));
    if (w) {
        stores_push(w);
        addr = (void *) ((uintptr_t) buf + ((uintptr_t) w->mem - (uintptr_t) w->host));
    }
    pthread_mutex_unlock(&mutex);
    return addr;
}

/* ---- life of a window ---- */

/* Move memory; host of the result is NULL if it stays where it is. */
static struct window *window_make(void *base, MPI_Aint size)
{
    struct window *w = allocate(sizeof(*w));

    w->win = MPI_WIN_NULL;
    if (base && size > 0 && size <= MOST_BYTES && windows_are_moved() &&
        !window_at(base, (size_t) size)) {
        device_use();
        if (cudaMalloc((void **) &w->mem, (size_t) size) == cudaSuccess) {
            w->host = base;
            w->sz = (size_t) size;
            w->last = allocate(w->sz);
            memcpy(w->last, base, w->sz);
            CUDA(cudaMemcpy(w->mem, base, w->sz, cudaMemcpyHostToDevice));
            call_count();
        }
    }
    return w;
}

static void window_free(struct window *w)
{
    if (w->host)
        CUDA(cudaFree(w->mem));
    free(w->last);
    if (w->is_allocated)
        free(w->host);
    free(w);
}

static int window_add(struct window *w, const MPI_Win * win, int err)
{
    if (err) {
        window_free(w);
        return err;
    }
    pthread_mutex_lock(&mutex);
    w->win = *win;
    w->next = windows;
    windows = w;
    pthread_mutex_unlock(&mutex);
    return err;
}

#define CREATE(name_, unit_t)                                                                     \
int name_(void *base, MPI_Aint size, unit_t unit, MPI_Info info, MPI_Comm comm, MPI_Win * win)    \
{                                                                                                 \
    struct window *w = window_make(base, size);                                                   \
                                                                                                  \
    return window_add(w, win, P##name_(w->host ? w->mem : base, size, unit, info, comm, win));    \
}

CREATE(MPI_Win_create, int)
CREATE(MPI_Win_create_c, MPI_Aint)

/* Memory that the library allocates would be host memory. */
int MPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *baseptr,
                     MPI_Win * win)
{
    struct window *w;
    void *base;
    int err, is_moved = windows_are_moved() && size > 0 && size <= MOST_BYTES;

    PMPI_Allreduce(MPI_IN_PLACE, &is_moved, 1, MPI_INT, MPI_MIN, comm);
    if (!is_moved)
        return PMPI_Win_allocate(size, unit, info, comm, baseptr, win);
    base = allocate((size_t) size);
    w = window_make(base, size);
    if (w->host == NULL) {
        fprintf(stderr, "shadow: no device memory for MPI_Win_allocate\n");
        abort();
    }
    w->is_allocated = true;
    err = window_add(w, win, PMPI_Win_create(w->mem, size, unit, info, comm, win));
    if (err == MPI_SUCCESS)
        memcpy(baseptr, &base, sizeof(base));
    return err;
}

/* The program asks for what it has passed. */
int MPI_Win_get_attr(MPI_Win win, int keyval, void *value, int *flag)
{
    static int allocated = MPI_WIN_FLAVOR_ALLOCATE, *flavor = &allocated;
    int err = PMPI_Win_get_attr(win, keyval, value, flag);
    const struct window *w;

    pthread_mutex_lock(&mutex);
    w = window_find(win);
    if (err == MPI_SUCCESS && w && w->host && keyval == MPI_WIN_BASE)
        memcpy(value, &w->host, sizeof(w->host));
    else if (err == MPI_SUCCESS && w && w->is_allocated && keyval == MPI_WIN_CREATE_FLAVOR)
        memcpy(value, &flavor, sizeof(flavor));
    pthread_mutex_unlock(&mutex);
    return err;
}

/* ---- synchronization ---- */

/* Instead of a rank; not MPI_PROC_NULL. */
enum { ALL_RANKS = -100, NONE = -101 };

/* Before a call that synchronizes a window. */
static void sync_before(MPI_Win win)
{
    struct window *w;

    pthread_mutex_lock(&mutex);
    w = window_find(win);
    if (w)
        stores_push(w);
    pthread_mutex_unlock(&mutex);
}

/* After it: the operations on a rank are complete, on ALL_RANKS, or on NONE. Returns err. */
static int sync_after(MPI_Win win, int completed, int err)
{
    struct window *w;

    pthread_mutex_lock(&mutex);
    w = window_find(win);
    for (struct started ** at = w ? &w->started : NULL; at && *at;) {
        struct started *s = *at;

        if (completed != ALL_RANKS && completed != s->rank) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        operation_end(s->op, MPI_SUCCESS);
        free(s);
    }
    if (w)
        writes_pull(w);
    pthread_mutex_unlock(&mutex);
    return err;
}

#define SYNC(name_, completed_, params_, args_)                                                   \
int name_ params_                                                                                 \
{                                                                                                 \
    sync_before(win);                                                                             \
    return sync_after(win, completed_, P##name_ args_);                                           \
}

SYNC(MPI_Win_fence, ALL_RANKS, (int assert, MPI_Win win), (assert, win))
SYNC(MPI_Win_post, NONE, (MPI_Group group, int assert, MPI_Win win), (group, assert, win))
SYNC(MPI_Win_start, NONE, (MPI_Group group, int assert, MPI_Win win), (group, assert, win))
SYNC(MPI_Win_complete, ALL_RANKS, (MPI_Win win), (win))
SYNC(MPI_Win_wait, NONE, (MPI_Win win), (win))
SYNC(MPI_Win_test, NONE, (MPI_Win win, int *flag), (win, flag))
SYNC(MPI_Win_lock, NONE, (int type, int rank, int assert, MPI_Win win), (type, rank, assert, win))
SYNC(MPI_Win_unlock, rank, (int rank, MPI_Win win), (rank, win))
SYNC(MPI_Win_lock_all, NONE, (int assert, MPI_Win win), (assert, win))
SYNC(MPI_Win_unlock_all, ALL_RANKS, (MPI_Win win), (win))
SYNC(MPI_Win_flush, rank, (int rank, MPI_Win win), (rank, win))
SYNC(MPI_Win_flush_local, rank, (int rank, MPI_Win win), (rank, win))
SYNC(MPI_Win_flush_all, ALL_RANKS, (MPI_Win win), (win))
SYNC(MPI_Win_flush_local_all, ALL_RANKS, (MPI_Win win), (win))
SYNC(MPI_Win_sync, NONE, (MPI_Win win), (win))

int MPI_Win_free(MPI_Win * win)
{
    MPI_Win freed = *win;
    struct window **at, *w;
    int err;

    sync_before(freed);
    err = PMPI_Win_free(win);
    if (err)
        return err;
    sync_after(freed, ALL_RANKS, MPI_SUCCESS);
    pthread_mutex_lock(&mutex);
    for (at = &windows; *at && (*at)->win != freed; at = &(*at)->next);
    w = *at;
    if (w)
        *at = w->next;
    pthread_mutex_unlock(&mutex);
    if (w)
        window_free(w);
    return err;
}

void windows_push(void)
{
    pthread_mutex_lock(&mutex);
    for (struct window * w = windows; w; w = w->next)
        stores_push(w);
    pthread_mutex_unlock(&mutex);
}

int windows_pull(int err)
{
    pthread_mutex_lock(&mutex);
    for (struct window * w = windows; w; w = w->next)
        writes_pull(w);
    pthread_mutex_unlock(&mutex);
    return err;
}

int MPI_Barrier(MPI_Comm comm)
{
    windows_push();
    return windows_pull(PMPI_Barrier(comm));
}

/* ---- operations ---- */

static struct operation *rma_make(const void *origin, MPI_Count count, MPI_Datatype type,
                                  void *result, MPI_Count nresults, MPI_Datatype result_type)
{
    struct operation *op = operation_make(addr_in_window(origin, count, type), count, type,
                                          addr_in_window(result, nresults, result_type), nresults,
                                          result_type);

    operation_start(op);
    return op;
}

/* After the call: keep the operation until the window is synchronized. */
static int rma_started(struct operation *op, int rank, MPI_Win win, int err)
{
    struct started *s;
    struct window *w;

    if (err || rank == MPI_PROC_NULL)
        return operation_end(op, err);
    pthread_mutex_lock(&mutex);
    w = window_find(win);
    if (w == NULL) {
        w = allocate(sizeof(*w));
        w->win = win;
        w->next = windows;
        windows = w;
    }
    s = allocate(sizeof(*s));
    *s = (struct started) {.rank = rank,.op = op,.next = w->started };
    w->started = s;
    pthread_mutex_unlock(&mutex);
    return err;
}

#define TARGET(count_t) int rank, MPI_Aint disp, count_t tcount, MPI_Datatype ttype
#define RMA_IN(op_, count_) op_, count_, type, rank, disp, tcount, ttype

#define PUT(name_, count_t)                                                                       \
int name_(const void *buf, count_t count, MPI_Datatype type, TARGET(count_t), MPI_Win win)        \
{                                                                                                 \
    struct operation *op = rma_make(buf, count, type, NO_BUFFER);                                 \
                                                                                                  \
    return rma_started(op, rank, win, P##name_(RMA_IN(op->in.addr, count), win));                 \
}

EACH(PUT, MPI_Put)

#define RPUT(name_, count_t)                                                                      \
int name_(const void *buf, count_t count, MPI_Datatype type, TARGET(count_t), MPI_Win win,        \
          MPI_Request * request)                                                                  \
{                                                                                                 \
    struct operation *op = rma_make(buf, count, type, NO_BUFFER);                                 \
                                                                                                  \
    return operation_pending(op, request, P##name_(RMA_IN(op->in.addr, count), win, request));    \
}

EACH(RPUT, MPI_Rput)

#define GET(name_, count_t)                                                                       \
int name_(void *buf, count_t count, MPI_Datatype type, TARGET(count_t), MPI_Win win)              \
{                                                                                                 \
    struct operation *op = rma_make(NO_BUFFER, buf, count, type);                                 \
                                                                                                  \
    return rma_started(op, rank, win, P##name_(RMA_IN(op->out.addr, count), win));                \
}

EACH(GET, MPI_Get)

#define RGET(name_, count_t)                                                                      \
int name_(void *buf, count_t count, MPI_Datatype type, TARGET(count_t), MPI_Win win,              \
          MPI_Request * request)                                                                  \
{                                                                                                 \
    struct operation *op = rma_make(NO_BUFFER, buf, count, type);                                 \
                                                                                                  \
    return operation_pending(op, request, P##name_(RMA_IN(op->out.addr, count), win, request));   \
}

EACH(RGET, MPI_Rget)

#define ACCUMULATE(name_, count_t)                                                                \
int name_(const void *buf, count_t count, MPI_Datatype type, TARGET(count_t), MPI_Op op_,         \
          MPI_Win win)                                                                            \
{                                                                                                 \
    struct operation *op = rma_make(buf, count, type, NO_BUFFER);                                 \
                                                                                                  \
    return rma_started(op, rank, win, P##name_(RMA_IN(op->in.addr, count), op_, win));            \
}

EACH(ACCUMULATE, MPI_Accumulate)

#define RACCUMULATE(name_, count_t)                                                               \
int name_(const void *buf, count_t count, MPI_Datatype type, TARGET(count_t), MPI_Op op_,         \
          MPI_Win win, MPI_Request * request)                                                     \
{                                                                                                 \
    struct operation *op = rma_make(buf, count, type, NO_BUFFER);                                 \
                                                                                                  \
    return operation_pending(op, request,                                                         \
                             P##name_(RMA_IN(op->in.addr, count), op_, win, request));            \
}

EACH(RACCUMULATE, MPI_Raccumulate)

/* MPI_NO_OP ignores the origin. */
#define GET_ACCUMULATE(name_, count_t)                                                            \
int name_(const void *buf, count_t count, MPI_Datatype type, void *result, count_t nresults,      \
          MPI_Datatype result_type, TARGET(count_t), MPI_Op op_, MPI_Win win)                     \
{                                                                                                 \
    struct operation *op = rma_make(buf, op_ == MPI_NO_OP ? 0 : count, type, result, nresults,    \
                                    result_type);                                                 \
                                                                                                  \
    return rma_started(op, rank, win, P##name_(op->in.addr, count, type, op->out.addr, nresults,  \
                                               result_type, rank, disp, tcount, ttype, op_, win));\
}

EACH(GET_ACCUMULATE, MPI_Get_accumulate)

#define RGET_ACCUMULATE(name_, count_t)                                                           \
int name_(const void *buf, count_t count, MPI_Datatype type, void *result, count_t nresults,      \
          MPI_Datatype result_type, TARGET(count_t), MPI_Op op_, MPI_Win win,                     \
          MPI_Request * request)                                                                  \
{                                                                                                 \
    struct operation *op = rma_make(buf, op_ == MPI_NO_OP ? 0 : count, type, result, nresults,    \
                                    result_type);                                                 \
                                                                                                  \
    return operation_pending(op, request,                                                         \
                             P##name_(op->in.addr, count, type, op->out.addr, nresults,           \
                                      result_type, rank, disp, tcount, ttype, op_, win,           \
                                      request));                                                  \
}

EACH(RGET_ACCUMULATE, MPI_Rget_accumulate)

int MPI_Fetch_and_op(const void *buf, void *result, MPI_Datatype type, int rank, MPI_Aint disp,
                     MPI_Op op_, MPI_Win win)
{
    struct operation *op = rma_make(buf, op_ == MPI_NO_OP ? 0 : 1, type, result, 1, type);

    return rma_started(op, rank, win, PMPI_Fetch_and_op(op->in.addr, op->out.addr, type, rank,
                                                        disp, op_, win));
}

int MPI_Compare_and_swap(const void *buf, const void *compare, void *result, MPI_Datatype type,
                         int rank, MPI_Aint disp, MPI_Win win)
{
    struct operation *op = rma_make(buf, 1, type, result, 1, type);
    struct operation *compared = rma_make(compare, 1, type, NO_BUFFER);
    int err = PMPI_Compare_and_swap(op->in.addr, compared->in.addr, op->out.addr, type, rank, disp,
                                    win);

    rma_started(compared, rank, win, err);
    return rma_started(op, rank, win, err);
}
