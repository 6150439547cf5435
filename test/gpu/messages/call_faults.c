/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Fault injection: each driver call of a send, and of a receive, fails once. Both ends complete,
 * with the data or with an error, and the next message between them arrives. A side that waits
 * polls, so the number of its calls is not bounded: the first MAX_CALLS of them fail one by one,
 * and the first MAX_NAMED of each function in NAMES; and the same, up to MAX_NEW, with buffers that are new
 * to both ends each time, so that they are to be mapped. Emulated driver only. Two processes.
 *
 *     call_faults once|on [far]    one call fails, or all from it on until the message is complete; between
 *                                  two GPUs, by datatypes at both ends */

#include "report.h"
#include "side.h"

#include <stdio.h>
#include <string.h>

#define MAX_CALLS 150
#define MAX_NAMED 12
#define MAX_NEW 60
#define CODE 999                /* CUDA_ERROR_UNKNOWN */

/* Functions that a message may call several times, also late. */
static const char *const NAMES[] = {
    "cuCtxPopCurrent", "cuCtxPushCurrent", "cuEventCreate", "cuEventQuery", "cuEventRecord",
    "cuGraphLaunch", "cuLaunchKernel", "cuMemAlloc", "cuMemFree", "cuMemHostAlloc", "cuMemHostRegister",
    "cuMemHostUnregister", "cuMemcpyAsync", "cuPointerGetAttributes", "cuStreamSynchronize",
    "cuStreamWaitEvent"
};

static int rank, other;
static long times;
static unsigned seed = 1;
static long nfired, nerrors;

/* Send or receive once. Returns MPI's error code. */
static int move(struct side *s)
{
    MPI_Request request;
    int err;

    if (rank == 0)
        err = MPI_Isend(s->buf, (int) s->count, s->type, other, 1, MPI_COMM_WORLD, &request);
    else
        err = MPI_Irecv(s->buf, (int) s->count, s->type, other, 1, MPI_COMM_WORLD, &request);
    if (err == MPI_SUCCESS)
        err = MPI_Wait(&request, MPI_STATUS_IGNORE);
    return err;
}

/* Send a message once. The victim's call number `at` of a function (NULL: of any) fails. Returns
 * whether there were that many calls. */
static int message(struct side *s, int victim, const char *function, long at)
{
    int err, failed[2], mine, before = report_failures;
    long fired = 0;

    seed++;
    if (rank == 0)
        side_fill(s, seed);
    else
        side_clear(s, seed);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        if (rank == victim)
            gpu.emu_fail_set(function, at, CODE, times);
        MPI_Request request = MPI_REQUEST_NULL;
        err = MPI_Isend(s->buf, (int) s->count, s->type, other, 1, MPI_COMM_WORLD, &request);
        /* The receiver cannot know of a send that was not started */
        mine = err != MPI_SUCCESS;
        CHECK_MPI(MPI_Send(&mine, 1, MPI_INT, other, 2, MPI_COMM_WORLD));
        if (mine) {
            char nothing = 0;
            MPI_Send(&nothing, 1, MPI_BYTE, other, 1, MPI_COMM_WORLD);
        } else {
            err = MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    } else {
        MPI_Request request;
        if (rank == victim)
            gpu.emu_fail_set(function, at, CODE, times);
        err = MPI_Irecv(s->buf, (int) s->count, s->type, other, 1, MPI_COMM_WORLD, &request);
        CHECK_MPI(MPI_Recv(&mine, 1, MPI_INT, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (err == MPI_SUCCESS)
            err = MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (rank == victim) {
        fired = gpu.emu_failed_count() > 0;
        gpu.emu_fail_set(NULL, 0, 0, 1);
    }
    failed[rank] = err != MPI_SUCCESS;
    failed[other] = 0;
    MPI_Sendrecv(&failed[rank], 1, MPI_INT, other, 3, &failed[other], 1, MPI_INT, other, 3,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Bcast(&fired, 1, MPI_LONG, victim, MPI_COMM_WORLD);

    nfired += fired;
    nerrors += failed[rank];
    if (err && !fired)
        report_fail("an error without a fault: %s", report_mpi_text(err));
    if (err && fired && rank == victim && strstr(report_mpi_text(err), "CUDA") == NULL)
        report_fail("the error does not name the driver's: %s", report_mpi_text(err));
    if (!failed[0] && !failed[1])
        side_check(s, "a buffer", seed, s->size);
    if (rank == 0)
        side_check(s, "the sent buffer", seed, s->size);
    if (report_failures != before)
        fprintf(stderr, "... rank %d, %s call %ld fails in rank %d, %ld elements of %s memory\n",
                rank, function ? function : "any", at, victim, (long) s->count,
                mem_name(s->mem.kind));
    return fired;
}

/* Calls for buffers between which nothing was sent before. */
static void new_calls(const char *function, MPI_Datatype type, MPI_Aint count)
{
    struct side s;
    int fired = 0;

    for (int victim = 0; victim < 2; victim++) {
        for (long at = 1; at == 1 || (fired && at <= MAX_NEW); at++) {
            side_make(&s, MEM__DEVICE, type, count, 0);
            fired = message(&s, victim, function, at);
            side_free(&s);
        }
    }
}

static void all_calls(enum mem_kind from, enum mem_kind to, MPI_Datatype type, MPI_Aint count)
{
    struct side s;

    side_make(&s, rank == 0 ? from : to, type, count, 0);
    for (int victim = 0; victim < 2; victim++) {
        long at = 1;
        if (!mem_is_gpu(victim == 0 ? from : to))
            continue;
        while (at <= MAX_CALLS && message(&s, victim, NULL, at))
            at++;
        CHECK(at > 1);
        for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++)
            for (at = 1; at <= MAX_NAMED && message(&s, victim, NAMES[i], at);)
                at++;
        /* No state of it is left */
        seed++;
        if (rank == 0)
            side_fill(&s, seed);
        else
            side_clear(&s, seed);
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK_MPI(move(&s));
        side_check(&s, "a buffer after the faults", seed, s.size);
    }
    side_free(&s);
}

int main(int argc, char **argv)
{
    MPI_Datatype vector;

    if (argc < 2)
        return 2;
    times = strcmp(argv[1], "on") == 0 ? 0 : 1;
    report_time_limit(400);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    if (gpu_open() == 0 || !gpu.is_emulated)
        return 1;
    gpu_set_current(0);
    MPI_Type_vector(3, 1, 2, MPI_INT, &vector);
    MPI_Type_commit(&vector);

    if (argc > 2) {
        all_calls(MEM__DEVICE, MEM__OTHER_DEVICE, vector, 5000);
    } else if (times == 1) {
        /* A process whose driver fails for good cannot wait for its kernels before the other one frees
         * the buffer */
        new_calls("cuIpcGetMemHandle", MPI_INT, 600);
        new_calls("cuIpcOpenMemHandle", vector, 300);
        new_calls(NULL, vector, 300);
        new_calls(NULL, vector, 5000);
    }
    /* eager, one chunk, several chunks */
    for (MPI_Aint count = argc > 2 ? 100000 : 10; count < 100000; count *= 60) {
        all_calls(MEM__DEVICE, MEM__DEVICE, vector, 1);
        all_calls(MEM__DEVICE, MEM__DEVICE, MPI_INT, count);
        all_calls(MEM__DEVICE, MEM__PAGEABLE, MPI_INT, count);
        all_calls(MEM__PAGEABLE, MEM__DEVICE, MPI_INT, count);
    }
    CHECK(nfired > 0 && nerrors > 0);
    MPI_Type_free(&vector);
    MPI_Finalize();
    return report_done();
}
