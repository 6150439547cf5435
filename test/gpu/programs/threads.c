/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests many threads that commit, pack, unpack and free datatypes at once: types of their own, and
 * shared types that all use for the first time at the same moment and that one thread frees while
 * all are using them.
 *
 *   threads [rounds [threads [seed]]] */

#include "mpiimpl.h"
#include "gpudt.h"

#include "gpu.h"
#include "oracle.h"
#include "randtype.h"
#include "report.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MAX_THREADS 64
#define MEM_SZ ((size_t) 1 << 17)
#define OWN_TRANSFERS 3         /* of each thread in a round, with types of its own */

static const enum mem_kind kinds[] = {
    MEM__DEVICE, MEM__PINNED, MEM__PAGEABLE, MEM__MANAGED, MEM__OTHER_DEVICE
};
#define NMEMS ((int) (sizeof(kinds) / sizeof(kinds[0])))

static int nrounds = 40, nthreads = 8;
static uint64_t seed = 1;
static pthread_barrier_t barrier;

/* The type that all use, and its type map; changed by thread 0 between barriers. */
static MPI_Datatype shared_type;
static oracle *shared_map;

struct worker {
    pthread_t thread;
    struct rng rng;
    struct mem user[NMEMS], packed[NMEMS];
    unsigned char *user_image, *packed_image, *seen, *bytes;
};

/* One transfer of a thread. */
struct transfer {
    MPI_Datatype type;
    const oracle *map;
    MPI_Aint size, lo, hi;
    MPI_Aint first, n;          /* byte range */
    int is_unpack;
    const struct mem *user, *packed;
    MPIR_Gpudt_op *op;
};

static const struct mem *mem_draw(struct rng *rng, const struct mem *mems)
{
    const struct mem *mem;

    do {
        mem = &mems[rng_range(rng, 0, NMEMS - 1)];
    } while (mem->addr == NULL);
    return mem;
}

/* Where the user's buffer is: its lowest byte is 64 bytes into the memory. */
static MPI_Aint buf_off(const struct transfer *t)
{
    return 64 - t->lo;
}

static void transfer_draw(struct worker *w, struct transfer *t)
{
    struct rng *rng = &w->rng;

    oracle_span(t->map, 1, &t->size, &t->lo, &t->hi);
    t->is_unpack = rng_chance(rng, 50);
    t->user = mem_draw(rng, w->user);
    t->packed = mem_draw(rng, w->packed);
    /* transfers without GPU memory are not tested */
    if (!mem_is_gpu(t->user->kind) && !mem_is_gpu(t->packed->kind))
        t->user = &w->user[0];
    t->first = rng_chance(rng, 50) ? 0 : rng_range(rng, 0, t->size);
    t->n = t->size - t->first;
    t->op = NULL;

    /* initial contents: every byte that is written changes */
    for (size_t i = 0; i < MEM_SZ; i += 8) {
        uint64_t bits = rng_next(rng);
        memcpy(w->user_image + i, &bits, 8);
        bits = rng_next(rng);
        memcpy(w->packed_image + i, &bits, 8);
    }
    oracle_pack(t->map, w->user_image + buf_off(t), 1, t->first, t->n, w->bytes);
    for (MPI_Aint i = 0; i < t->n; i++)
        w->packed_image[64 + i] = w->bytes[i] ^ 0xa5;
    mem_write(t->user, 0, w->user_image, MEM_SZ);
    mem_write(t->packed, 0, w->packed_image, MEM_SZ);
    if (t->is_unpack)
        oracle_unpack(t->map, w->user_image + buf_off(t), 1, t->first, t->n, w->packed_image + 64);
    else
        memcpy(w->packed_image + 64, w->bytes, t->n);
}

static void transfer_start(struct transfer *t)
{
    char *user = t->user->addr + buf_off(t), *packed = t->packed->addr + 64;
    MPI_Aint actual;
    bool handled;

    if (t->is_unpack)
        CHECK_MPI(MPIR_Gpudt_iunpack(packed, t->n, user, 1, t->type, t->first, &actual, &t->op,
                                     &handled));
    else
        CHECK_MPI(MPIR_Gpudt_ipack(user, 1, t->type, t->first, packed, t->n, &actual, &t->op,
                                   &handled));
    CHECK(handled);
}

static void transfer_by_mpi(struct transfer *t)
{
    char *user = t->user->addr + buf_off(t), *packed = t->packed->addr + 64;
    int position = 0;

    if (t->is_unpack)
        CHECK_MPI(MPI_Unpack(packed, (int) t->n, &position, user, 1, t->type, MPI_COMM_SELF));
    else
        CHECK_MPI(MPI_Pack(user, 1, t->type, packed, (int) t->n, &position, MPI_COMM_SELF));
}

static void transfer_check(struct worker *w, struct transfer *t)
{
    mem_read(t->user, 0, w->seen, MEM_SZ);
    report_compare(t->is_unpack ? "unpacked" : "source", w->seen, w->user_image, MEM_SZ);
    mem_read(t->packed, 0, w->seen, MEM_SZ);
    report_compare(t->is_unpack ? "source" : "packed", w->seen, w->packed_image, MEM_SZ);
}

static MPI_Datatype type_make(struct rng *rng)
{
    struct randtype_opts opts = { 6, 4096, MEM_SZ / 4, 1 };
    return randtype_make(rng, &opts, NULL);
}

/* A transfer with a type that the thread creates and frees. */
static void own_transfer(struct worker *w)
{
    MPI_Datatype type = type_make(&w->rng);
    oracle *map = oracle_create(type);
    struct transfer t = {.type = type,.map = map };

    transfer_draw(w, &t);
    if (t.first == 0 && rng_chance(&w->rng, 60)) {
        transfer_by_mpi(&t);
        randtype_free(&type);
    } else {
        transfer_start(&t);
        randtype_free(&type);
        CHECK_MPI(MPIR_Gpudt_wait(t.op));
    }
    transfer_check(w, &t);
    oracle_free(map);
}

static void *worker_run(void *arg)
{
    struct worker *w = arg;
    bool is_first = false;

    CU(CtxSetCurrent(gpu_primary(0)));
    for (int round = 0; round < nrounds; round++) {
        struct transfer t;

        is_first = pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
        if (is_first) {
            shared_type = type_make(&w->rng);
            shared_map = oracle_create(shared_type);
        }
        pthread_barrier_wait(&barrier);
        t = (struct transfer) {.type = shared_type,.map = shared_map };
        transfer_draw(w, &t);
        pthread_barrier_wait(&barrier);
        transfer_start(&t);
        pthread_barrier_wait(&barrier);
        if (is_first)
            randtype_free(&shared_type);
        CHECK_MPI(MPIR_Gpudt_wait(t.op));
        transfer_check(w, &t);
        for (int i = 0; i < OWN_TRANSFERS; i++)
            own_transfer(w);
        pthread_barrier_wait(&barrier);
        if (is_first)
            oracle_free(shared_map);
    }
    return NULL;
}

static void worker_make(struct worker *w, int number)
{
    rng_init(&w->rng, seed * MAX_THREADS + number);
    for (int i = 0; i < NMEMS; i++) {
        if (mem_exists(kinds[i])) {
            mem_alloc(&w->user[i], kinds[i], MEM_SZ);
            mem_alloc(&w->packed[i], kinds[i], MEM_SZ);
        }
    }
    w->user_image = malloc(MEM_SZ);
    w->packed_image = malloc(MEM_SZ);
    w->seen = malloc(MEM_SZ);
    w->bytes = malloc(MEM_SZ);
}

static void worker_free(struct worker *w)
{
    for (int i = 0; i < NMEMS; i++) {
        mem_free(&w->user[i]);
        mem_free(&w->packed[i]);
    }
    free(w->user_image);
    free(w->packed_image);
    free(w->seen);
    free(w->bytes);
}

int main(int argc, char **argv)
{
    static struct worker workers[MAX_THREADS];
    int provided;

    if (argc > 1)
        nrounds = atoi(argv[1]);
    if (argc > 2)
        nthreads = atoi(argv[2]);
    if (argc > 3)
        seed = strtoull(argv[3], NULL, 0);
    if (nthreads < 1 || nthreads > MAX_THREADS || nrounds < 1)
        return 2;
    report_time_limit(300);
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    if (!report_may_thread(NULL)) {
        MPI_Finalize();
        return report_done();
    }
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (gpu_open() == 0)
        return 1;

    gpu_peers_enable();
    gpu_set_current(0);
    pthread_barrier_init(&barrier, NULL, nthreads);
    for (int i = 0; i < nthreads; i++)
        worker_make(&workers[i], i);
    for (int i = 0; i < nthreads; i++)
        pthread_create(&workers[i].thread, NULL, worker_run, &workers[i]);
    for (int i = 0; i < nthreads; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < nthreads; i++)
        worker_free(&workers[i]);
    pthread_barrier_destroy(&barrier);
    MPI_Finalize();
    return report_done();
}
