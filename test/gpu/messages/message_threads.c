/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests threads that send and receive concurrently, GPU and host buffers, short and long. Two
 * processes.
 *
 *     message_threads [rounds] */

#include "report.h"
#include "side.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define NTHREADS 4

static int rank, other, rounds;

static void *thread(void *arg)
{
    int me = (int) (intptr_t) arg;
    static const int lengths[] = { 3, 1000, 60000 };
    struct side out, in;
    MPI_Request request;

    gpu_set_current(0);
    for (int i = 0; i < rounds; i++) {
        int n = lengths[(i + me) % 3];
        unsigned seed = (unsigned) (i * NTHREADS + me);
        side_make(&out, (i + me) % 4 == 3 ? MEM__PAGEABLE : MEM__DEVICE, MPI_INT, n, 0);
        side_make(&in, (i + me) % 5 == 4 ? MEM__PAGEABLE : MEM__DEVICE, MPI_INT, n, 0);
        side_fill(&out, seed);
        side_clear(&in, seed);
        CHECK_MPI(MPI_Irecv(in.buf, n, MPI_INT, other, me, MPI_COMM_WORLD, &request));
        CHECK_MPI(MPI_Send(out.buf, n, MPI_INT, other, me, MPI_COMM_WORLD));
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        side_check(&in, "a thread's received buffer", seed, in.size);
        side_check(&out, "a thread's sent buffer", seed, out.size);
        side_free(&out);
        side_free(&in);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t threads[NTHREADS];

    rounds = argc > 1 ? atoi(argv[1]) : 60;
    report_time_limit(300);
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    if (!report_may_thread(NULL)) {
        MPI_Finalize();
        return report_done();
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    if (gpu_open() == 0)
        return 1;
    for (intptr_t i = 0; i < NTHREADS; i++)
        pthread_create(&threads[i], NULL, thread, (void *) i);
    for (int i = 0; i < NTHREADS; i++)
        pthread_join(threads[i], NULL);
    MPI_Finalize();
    return report_done();
}
