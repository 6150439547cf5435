/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Windows of all flavours, in all kinds of memory. In each epoch a process accesses the window of the
 * next one, in one of several ways to synchronize; what the windows contain is known from what all
 * processes do alike. */

#include "soak.h"

#include <stdlib.h>

#define MAX_INTS (1 << 15)
#define MAX_EPOCHS 5

enum flavour { CREATED, ALLOCATED, ALLOCATED_ON_GPU, DYNAMIC, NFLAVOURS };
enum sync { FENCE, LOCK, LOCK_ALL, POST, NSYNCS };
enum op { PUT, GET, ACCUMULATE, GET_ACCUMULATE, NOPS };

struct window {
    MPI_Comm comm;
    enum flavour flavour;
    int n;                      /* ints */
    MPI_Win win;
    struct mem mem;             /* of CREATED and DYNAMIC */
    int *base;
    MPI_Aint disp;              /* of the next process's window */
};

/* What is in a window: int i is sum + times * i. */
struct content {
    int sum, times;
};

static void window_make(struct window *w, struct rng *own)
{
    const MPI_Aint bytes = w->n * (MPI_Aint) sizeof(int);
    MPI_Info info;
    MPI_Aint mine;

    if (w->flavour == CREATED || w->flavour == DYNAMIC) {
        mem_alloc(&w->mem, kind_draw(own), bytes);
        w->base = (int *) w->mem.addr;
    }
    MPI_Info_create(&info);
    if (w->flavour == ALLOCATED_ON_GPU)
        MPI_Info_set(info, "mpi_memory_alloc_kinds", "cuda:device");
    if (w->flavour == CREATED)
        CHECK_MPI(MPI_Win_create(w->base, bytes, sizeof(int), info, w->comm, &w->win));
    else if (w->flavour == DYNAMIC)
        CHECK_MPI(MPI_Win_create_dynamic(info, w->comm, &w->win));
    else
        CHECK_MPI(MPI_Win_allocate(bytes, sizeof(int), info, w->comm, &w->base, &w->win));
    MPI_Info_free(&info);
    w->disp = 0;
    if (w->flavour == DYNAMIC) {
        CHECK_MPI(MPI_Win_attach(w->win, w->base, bytes));
        MPI_Get_address(w->base, &mine);
        CHECK_MPI(MPI_Sendrecv(&mine, 1, MPI_AINT, (rank + nprocs - 1) % nprocs, 0, &w->disp, 1,
                               MPI_AINT, (rank + 1) % nprocs, 0, w->comm, MPI_STATUS_IGNORE));
    }
}

static void window_end(struct window *w)
{
    if (w->flavour == DYNAMIC) {
        CHECK_MPI(MPI_Barrier(w->comm));
        CHECK_MPI(MPI_Win_detach(w->win, w->base));
    }
    CHECK_MPI(MPI_Win_free(&w->win));
    if (w->flavour == CREATED || w->flavour == DYNAMIC)
        mem_free(&w->mem);
}

static void sync_begin(struct window *w, enum sync sync, MPI_Group next, MPI_Group prev)
{
    switch (sync) {
        case FENCE:
            CHECK_MPI(MPI_Win_fence(0, w->win));
            break;
        case LOCK:
            CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, (rank + 1) % nprocs, 0, w->win));
            break;
        case LOCK_ALL:
            CHECK_MPI(MPI_Win_lock_all(0, w->win));
            break;
        default:
            CHECK_MPI(MPI_Win_post(prev, 0, w->win));
            CHECK_MPI(MPI_Win_start(next, 0, w->win));
            break;
    }
}

static void sync_end(struct window *w, enum sync sync)
{
    switch (sync) {
        case FENCE:
            CHECK_MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win));
            break;
        case LOCK:
            CHECK_MPI(MPI_Win_unlock((rank + 1) % nprocs, w->win));
            break;
        case LOCK_ALL:
            CHECK_MPI(MPI_Win_flush((rank + 1) % nprocs, w->win));
            CHECK_MPI(MPI_Win_unlock_all(w->win));
            break;
        default:
            CHECK_MPI(MPI_Win_complete(w->win));
            CHECK_MPI(MPI_Win_wait(w->win));
            break;
    }
    CHECK_MPI(MPI_Barrier(w->comm));
}

/* A buffer of the origin: n ints, each followed by others if it is strided. */
struct ints {
    struct mem mem;
    int n, stride;
    MPI_Datatype type;          /* of all of them */
};

static void ints_make(struct ints *b, struct rng *own, int n)
{
    b->n = n;
    b->stride = (int) rng_range(own, 1, 2);
    mem_alloc(&b->mem, kind_draw(own), (size_t) n * b->stride * sizeof(int));
    MPI_Type_vector(n, 1, b->stride, MPI_INT, &b->type);
    MPI_Type_commit(&b->type);
}

static void ints_free(struct ints *b)
{
    MPI_Type_free(&b->type);
    mem_free(&b->mem);
}

static void ints_set(struct ints *b, int sum)
{
    int *values = malloc((size_t) b->n * b->stride * sizeof(int));

    for (int i = 0; i < b->n * b->stride; i++)
        values[i] = i % b->stride ? -1 : sum + i / b->stride;
    mem_write(&b->mem, 0, values, (size_t) b->n * b->stride * sizeof(int));
    free(values);
}

static void ints_check(const struct ints *b, struct content c, const char *what)
{
    int *values = malloc((size_t) b->n * b->stride * sizeof(int));

    mem_read(&b->mem, 0, values, (size_t) b->n * b->stride * sizeof(int));
    for (int i = 0; i < b->n; i++) {
        if (values[i * b->stride] != c.sum + c.times * i) {
            report_fail("%s: int %d is %d, expected %d", what, i, values[i * b->stride],
                        c.sum + c.times * i);
            break;
        }
    }
    free(values);
}

static void op_do(struct window *w, enum op op, struct ints *out, struct ints *in)
{
    const int next = (rank + 1) % nprocs, n = w->n;

    switch (op) {
        case PUT:
            CHECK_MPI(MPI_Put(out->mem.addr, 1, out->type, next, w->disp, n, MPI_INT, w->win));
            break;
        case GET:
            CHECK_MPI(MPI_Get(in->mem.addr, 1, in->type, next, w->disp, n, MPI_INT, w->win));
            break;
        case ACCUMULATE:
            CHECK_MPI(MPI_Accumulate(out->mem.addr, 1, out->type, next, w->disp, n, MPI_INT,
                                     MPI_SUM, w->win));
            break;
        default:
            CHECK_MPI(MPI_Get_accumulate(out->mem.addr, 1, out->type, in->mem.addr, 1, in->type,
                                         next, w->disp, n, MPI_INT, MPI_SUM, w->win));
            break;
    }
}

/* What an operation does to the window of the next process.
 *   value  (IN)  of the buffer */
static struct content content_after(struct content c, enum op op, int value)
{
    const struct content put = { value, 1 }, sum = { c.sum + value, c.times + 1 };

    return op == PUT ? put : op == GET ? c : sum;
}

static void epochs(struct window *w, struct rng *rng, struct rng *own, MPI_Group next,
                   MPI_Group prev)
{
    const int n = (int) rng_range(rng, 1, MAX_EPOCHS);
    struct content c = { 0, 0 };
    struct ints out, in;

    for (int i = 0; i < n; i++) {
        /* what a window contains first is not known */
        const enum op op = i ? (enum op) rng_range(rng, 0, NOPS - 1) : PUT;
        const enum sync sync = (enum sync) rng_range(rng, 0, NSYNCS - 1);
        const int value = 100 * (rank + 1) + 7 * i;

        ints_make(&out, own, w->n);
        ints_make(&in, own, w->n);
        ints_set(&out, value);
        sync_begin(w, sync, next, prev);
        op_do(w, op, &out, &in);
        sync_end(w, sync);
        if (op == GET || op == GET_ACCUMULATE)
            ints_check(&in, c, "what was got from a window");
        c = content_after(c, op, value);
        ints_free(&out);
        ints_free(&in);
    }
}

void window(struct rng *rng, struct rng *own, MPI_Comm comm)
{
    const int neighbours[2] = { (rank + 1) % nprocs, (rank + nprocs - 1) % nprocs };
    struct window w = {.comm = comm };
    MPI_Group all, next, prev;

    w.flavour = (enum flavour) rng_range(rng, 0, NFLAVOURS - 1);
    w.n = (int) rng_range(rng, 1, rng_chance(rng, 30) ? MAX_INTS : 500);
    MPI_Comm_group(comm, &all);
    MPI_Group_incl(all, 1, &neighbours[0], &next);
    MPI_Group_incl(all, 1, &neighbours[1], &prev);
    window_make(&w, own);
    epochs(&w, rng, own, next, prev);
    window_end(&w);
    MPI_Group_free(&all);
    MPI_Group_free(&next);
    MPI_Group_free(&prev);
}
