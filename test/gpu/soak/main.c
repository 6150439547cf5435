/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Soak test: a long run's operations in a short time. In each round communicators, datatypes and
 * buffers are created, messages of all sizes and modes are exchanged, another thread has messages of
 * its own, the GPU has other work, windows and files come and go, and everything is freed. After a
 * tenth of the time, and some rounds, the library has allocated all it needs; at the end it must not
 * have more of pinned memory, GPU memory, datatypes there, mappings, open files, or memory of the
 * process. Two processes or more.
 *
 *     soak [seconds [seed]] */

#include "soak.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define LOAD_SZ (4 << 20)       /* bytes of the GPU's other work */
#define LEAST_FIRST 80          /* rounds until everything has been used */

int rank, nprocs;
static CUstream load_stream;
static struct mem load_mem;
static int may_thread;

/* A thread of the program: short messages on a communicator of its own. */
static void *thread(void *arg)
{
    MPI_Comm comm = *(MPI_Comm *) arg;

    gpu_set_current(0);
    for (int i = 0; i < 8; i++) {
        int n = 1 + i * i * 40, to = (rank + 1) % nprocs, from = (rank + nprocs - 1) % nprocs;
        struct side out, in;
        side_make(&out, MEM__DEVICE, MPI_INT, n, 0);
        side_make(&in, MEM__DEVICE, MPI_INT, n, 0);
        side_fill(&out, 7 * i + rank);
        side_clear(&in, 7 * i + from);
        CHECK_MPI(MPI_Sendrecv(out.buf, n, MPI_INT, to, i, in.buf, n, MPI_INT, from, i, comm,
                               MPI_STATUS_IGNORE));
        side_check(&in, "a thread's buffer", 7 * i + from, in.size);
        side_free(&out);
        side_free(&in);
    }
    return NULL;
}

/* Other work of the program's on the GPU. */
static void load_start(void)
{
    for (int i = 0; i < 4; i++) {
        CU(MemsetD8Async((CUdeviceptr) load_mem.addr, (unsigned char) i, LOAD_SZ, load_stream));
        CU(MemcpyAsync((CUdeviceptr) load_mem.addr, (CUdeviceptr) (load_mem.addr + LOAD_SZ),
                       LOAD_SZ, load_stream));
    }
}

static void turn(struct rng *rng, struct rng *own, unsigned seed)
{
    const int has_window = rng_chance(rng, 60), has_file = rng_chance(rng, 40);
    MPI_Comm comms[2];
    pthread_t other;

    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]));
    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comms[1]));
    if (may_thread && pthread_create(&other, NULL, thread, &comms[0]))
        exit(3);
    load_start();
    messages(rng, own, seed, comms[1]);
    if (has_window) {
        window(rng, own, comms[1]);
        messages(rng, own, seed + 1000, comms[1]);
    }
    if (has_file)
        file(rng, own, seed + 2000, comms[1]);
    if (may_thread)
        pthread_join(other, NULL);
    CU(StreamSynchronize(load_stream));
    CHECK_MPI(MPI_Comm_free(&comms[1]));
    CHECK_MPI(MPI_Comm_free(&comms[0]));
}

/* Rounds until a time is reached, as seen by process 0, and not fewer than some, unless it gets too
 * late. Returns their number.
 *   first  (IN)  rounds that were done before */
static int turns(struct rng *rng, struct rng *own, int first, int least, double until,
                 double at_latest)
{
    int n = 0, go_on = 1;

    while (go_on) {
        turn(rng, own, 10000u * (unsigned) (first + n++));
        go_on = (MPI_Wtime() < until || (n < least && MPI_Wtime() < at_latest)) &&
            report_failures == 0;
        CHECK_MPI(MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD));
    }
    return n;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 10, begin;
    unsigned long seed = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;
    static char attached[ATTACHED];
    struct state before, after;
    struct rng rng, own;
    int provided, n, size;
    void *detached;

    report_time_limit((unsigned) (3 * seconds) + 100);
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
    may_thread = report_may_thread("messages of another thread");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    CU(StreamCreate(&load_stream, CU_STREAM_NON_BLOCKING));
    mem_alloc(&load_mem, MEM__DEVICE, 2 * LOAD_SZ);
    MPI_Buffer_attach(attached, sizeof(attached));
    folder_make();
    rng_init(&rng, seed);
    rng_init(&own, seed + 1 + rank);

    begin = MPI_Wtime();
    n = turns(&rng, &own, 0, LEAST_FIRST, begin + seconds / 10, begin + seconds / 2);
    state_get(&before);
    n += turns(&rng, &own, n, 1, begin + seconds, begin + seconds);
    state_get(&after);
    state_compare(&before, &after);
    if (rank == 0 || report_failures)
        fprintf(stderr, "soak %.0f %lu: %d turns in %.1f s\n", seconds, seed, n,
                MPI_Wtime() - begin);

    folder_remove();
    MPI_Buffer_detach(&detached, &size);
    mem_free(&load_mem);
    CU(StreamDestroy(load_stream));
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
