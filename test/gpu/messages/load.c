/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests many messages with GPU buffers at once. Two processes.
 *
 *     load probe      unmatched sends add no cost to an MPI call
 *     load memory     the memory of a process that only calls MPI_Send does not grow
 *     load isend      MPI_Isend does not wait for the GPU, and messages keep their order: to be
 *                     run with EMU_DELAY_MIN_US=200000
 *     load window     many long messages both ways, while GPUs are slow or a process is not in MPI,
 *                     are not staged through pageable memory: to be run with few and small chunks
 *     load unsafe     short messages are sent even if earlier ones are not received
 *     load rare       copies in flight are seen to end by a program that seldom calls MPI: to be run
 *                     with MPIR_CVAR_GPUDT_DIRECT=always
 *     load burst      copies that packets start share launches if these arrive together, and are
 *                     launched before a call returns: to be run with MPIR_CVAR_GPUDT_DIRECT=pull */

#include "report.h"
#include "side.h"

#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, other;

/* ---- probe ---- */

#define NSENDS 1000
#define SEND_SZ 20000           /* more than is sent eagerly */

/* Seconds of a call of MPI_Iprobe that finds nothing: the best of many, since other processes use
 * the processor. */
static double probe_seconds(void)
{
    double best = 1;
    int flag;

    for (int i = 0; i < 50; i++) {
        double begin = MPI_Wtime();
        for (int k = 0; k < 100; k++)
            CHECK_MPI(MPI_Iprobe(other, 12345, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        begin = (MPI_Wtime() - begin) / 100;
        best = begin < best ? begin : best;
    }
    return best;
}

static void probe(void)
{
    static MPI_Request requests[NSENDS];
    static MPI_Status statuses[NSENDS];
    struct side s;
    double without, with;

    side_make(&s, MEM__DEVICE, MPI_CHAR, SEND_SZ, 0);
    side_fill(&s, 1);
    /* The first message allocates memory that is kept */
    if (rank == 0)
        CHECK_MPI(MPI_Send(s.buf, SEND_SZ, MPI_CHAR, other, 0, MPI_COMM_WORLD));
    else
        CHECK_MPI(MPI_Recv(s.buf, SEND_SZ, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        without = probe_seconds();
        for (int i = 0; i < NSENDS; i++)
            CHECK_MPI(MPI_Isend(s.buf, SEND_SZ, MPI_CHAR, other, i, MPI_COMM_WORLD, &requests[i]));
        with = probe_seconds();
        if (with > 4 * without + 0.5e-6)
            report_fail("MPI_Iprobe takes %.2f us beside %d sends, %.2f us without", with * 1e6,
                        NSENDS, without * 1e6);
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK_MPI(MPI_Waitall(NSENDS, requests, statuses));
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < NSENDS; i++)
            CHECK_MPI(MPI_Recv(s.buf, SEND_SZ, MPI_CHAR, other, i, MPI_COMM_WORLD,
                               MPI_STATUS_IGNORE));
    }
    side_free(&s);
}

/* ---- memory ---- */

#define NSHORT 20000
#define GROWTH 1000000          /* bytes, maximum */

static void memory(void)
{
    struct side s;
    size_t before = 0, after;

    side_make(&s, MEM__DEVICE, MPI_CHAR, 8, 0);
    if (rank == 0)
        side_fill(&s, 1);
    else
        side_clear(&s, 1);
    for (int i = 0; i < NSHORT; i++) {
        if (rank == 0 && i == 1000)
            before = mallinfo2().uordblks;
        if (rank == 0)
            CHECK_MPI(MPI_Send(s.buf, 8, MPI_CHAR, other, 0, MPI_COMM_WORLD));
        else
            CHECK_MPI(MPI_Recv(s.buf, 8, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    after = mallinfo2().uordblks;
    if (rank == 0 && after > before + GROWTH)
        report_fail("%zu bytes more after %d sends", after - before, NSHORT - 1000);
    side_check(&s, "a buffer", 1, s.size);
    side_free(&s);
}

/* ---- isend ---- */

#define NISENDS 12
#define ISEND_N 100             /* ints */
#define GPU_SECONDS 0.2         /* minimum time of an operation of the emulated GPU */

/* GPU and host buffers alternately, all with one tag. Returns whether the calls of MPI_Isend were in
 * time. */
static int isend_order(void)
{
    struct side s[NISENDS];
    MPI_Request requests[NISENDS];
    MPI_Status statuses[NISENDS];
    double begin;
    int is_in_time;

    for (int i = 0; i < NISENDS; i++) {
        side_make(&s[i], i % 3 ? MEM__DEVICE : MEM__PAGEABLE, MPI_INT, ISEND_N, 0);
        if (rank == 0)
            side_fill(&s[i], i);
        else
            side_clear(&s[i], i);
    }
    /* Half of the messages are expected */
    for (int i = 0; rank == 1 && i < NISENDS / 2; i++)
        CHECK_MPI(MPI_Irecv(s[i].buf, ISEND_N, MPI_INT, i % 4 ? other : MPI_ANY_SOURCE, 1,
                            MPI_COMM_WORLD, &requests[i]));
    MPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    for (int i = 0; rank == 0 && i < NISENDS; i++)
        CHECK_MPI(MPI_Isend(s[i].buf, ISEND_N, MPI_INT, other, 1, MPI_COMM_WORLD, &requests[i]));
    is_in_time = MPI_Wtime() - begin < GPU_SECONDS / 2;
    CHECK_MPI(MPI_Bcast(&is_in_time, 1, MPI_INT, 0, MPI_COMM_WORLD));
    for (int i = NISENDS / 2; rank == 1 && i < NISENDS; i++)
        CHECK_MPI(MPI_Irecv(s[i].buf, ISEND_N, MPI_INT, i % 4 ? other : MPI_ANY_SOURCE, 1,
                            MPI_COMM_WORLD, &requests[i]));
    CHECK_MPI(MPI_Waitall(NISENDS, requests, statuses));
    for (int i = 0; i < NISENDS; i++) {
        side_check(&s[i], "a buffer in order", i, s[i].size);
        side_free(&s[i]);
    }
    return is_in_time;
}

enum way { PROBED, MPROBED, CANCELLED, LEFT, NWAYS };

/* A message whose envelope has arrived while it is still being packed. Returns whether the receiver was in
 * time. */
static int isend_early(enum way way)
{
    struct side s;
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    int count, is_cancelled = 0, is_in_time = 1;

    side_make(&s, MEM__DEVICE, MPI_INT, ISEND_N, 0);
    if (rank == 0)
        side_fill(&s, way);
    else
        side_clear(&s, way);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        CHECK_MPI(MPI_Isend(s.buf, ISEND_N, MPI_INT, other, way, MPI_COMM_WORLD, &request));
        if (way == CANCELLED)
            CHECK_MPI(MPI_Cancel(&request));
        if (way == LEFT)
            CHECK_MPI(MPI_Request_free(&request));
        else
            CHECK_MPI(MPI_Wait(&request, &status));
        if (way == CANCELLED)
            CHECK_MPI(MPI_Test_cancelled(&status, &is_cancelled));
        CHECK_MPI(MPI_Send(&is_cancelled, 1, MPI_INT, other, NWAYS, MPI_COMM_WORLD));
    } else {
        double begin = MPI_Wtime();
        if (way == PROBED || way == MPROBED) {
            if (way == PROBED)
                CHECK_MPI(MPI_Probe(other, way, MPI_COMM_WORLD, &status));
            else
                CHECK_MPI(MPI_Mprobe(other, way, MPI_COMM_WORLD, &message, &status));
            CHECK_MPI(MPI_Get_count(&status, MPI_INT, &count));
            CHECK(count == ISEND_N);
            is_in_time = MPI_Wtime() - begin < GPU_SECONDS / 2;
        }
        if (way == CANCELLED)
            CHECK_MPI(MPI_Recv(&is_cancelled, 1, MPI_INT, other, NWAYS, MPI_COMM_WORLD,
                               MPI_STATUS_IGNORE));
        if (way == MPROBED)
            CHECK_MPI(MPI_Mrecv(s.buf, ISEND_N, MPI_INT, &message, MPI_STATUS_IGNORE));
        else if (!is_cancelled)
            CHECK_MPI(MPI_Recv(s.buf, ISEND_N, MPI_INT, other, way, MPI_COMM_WORLD,
                               MPI_STATUS_IGNORE));
        if (!is_cancelled)
            side_check(&s, "a message known early", way, s.size);
        if (way != CANCELLED)
            CHECK_MPI(MPI_Recv(&is_cancelled, 1, MPI_INT, other, NWAYS, MPI_COMM_WORLD,
                               MPI_STATUS_IGNORE));
    }
    CHECK_MPI(MPI_Bcast(&is_in_time, 1, MPI_INT, 1, MPI_COMM_WORLD));
    side_free(&s);
    return is_in_time;
}

static void isend(void)
{
    int is_in_time = 0;

    /* The first message allocates memory that is kept */
    isend_early(LEFT);
    /* All again if others keep the processors busy */
    for (int i = 0; i < 5 && !is_in_time; i++)
        is_in_time = isend_order();
    CHECK(is_in_time);
    for (enum way way = PROBED; way < NWAYS; way++) {
        is_in_time = 0;
        for (int i = 0; i < 5 && !is_in_time; i++)
            is_in_time = isend_early(way);
        CHECK(is_in_time);
    }
}

/* ---- window ---- */

#define WINDOW 64
#define LONG_SZ (128 * 1024)

/* A window of messages each way.
 *   is_away  (IN)  whether the second process is not in MPI for a while */
static void window_once(int is_away)
{
    static struct side s[2 * WINDOW];
    static MPI_Request requests[2 * WINDOW];
    static MPI_Status statuses[2 * WINDOW];

    for (int i = 0; i < 2 * WINDOW; i++) {
        side_make(&s[i], MEM__DEVICE, MPI_CHAR, LONG_SZ, 0);
        if (i < WINDOW)
            side_clear(&s[i], i);
        else
            side_fill(&s[i], i - WINDOW);
    }
    for (int i = 0; i < WINDOW; i++)
        CHECK_MPI(MPI_Irecv(s[i].buf, LONG_SZ, MPI_CHAR, other, i, MPI_COMM_WORLD, &requests[i]));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = WINDOW; i < 2 * WINDOW; i++)
        CHECK_MPI(MPI_Isend(s[i].buf, LONG_SZ, MPI_CHAR, other, i - WINDOW, MPI_COMM_WORLD,
                            &requests[i]));
    if (is_away && rank == 1)
        usleep(200000);
    CHECK_MPI(MPI_Waitall(2 * WINDOW, requests, statuses));
    for (int i = 0; i < 2 * WINDOW; i++) {
        if (i < WINDOW)
            side_check(&s[i], "a buffer of a window", i, s[i].size);
        side_free(&s[i]);
    }
}

static void window(void)
{
    window_once(0);
    window_once(1);
    CHECK(report_variable("gpudt_heap_chunks") == 0);
}

/* ---- unsafe ---- */

#define NUNSAFE 200
#define EAGER_SZ 8192           /* default of MPIR_CVAR_GPUDT_EAGER_MAX */

static void unsafe(void)
{
    struct side out, in;

    side_make(&out, MEM__DEVICE, MPI_CHAR, EAGER_SZ, 0);
    side_make(&in, MEM__DEVICE, MPI_CHAR, EAGER_SZ, 0);
    for (int i = 0; i < NUNSAFE; i++) {
        side_fill(&out, i);
        CHECK_MPI(MPI_Send(out.buf, EAGER_SZ, MPI_CHAR, other, i, MPI_COMM_WORLD));
    }
    for (int i = NUNSAFE - 1; i >= 0; i--) {
        side_clear(&in, i);
        CHECK_MPI(MPI_Recv(in.buf, EAGER_SZ, MPI_CHAR, other, i, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE));
        side_check(&in, "a buffer", i, in.size);
    }
    side_free(&out);
    side_free(&in);
}

/* ---- rare ---- */

#define NRARE 4
#define RARE_SZ (256 << 10)     /* contiguous ones of this size are copied by the driver */
#define MAX_TESTS 8             /* one for each message, and some for the packets */
#define MAX_ROUNDS 20

/* Returns the number of tests that complete NRARE messages. */
static int rare_round(void)
{
    struct side s[NRARE];
    MPI_Request requests[NRARE];
    int are_done = 0, ntests = 0;

    for (int i = 0; i < NRARE; i++) {
        side_make(&s[i], MEM__DEVICE, MPI_CHAR, RARE_SZ, 0);
        if (rank == 0)
            side_fill(&s[i], (unsigned) i);
        else
            side_clear(&s[i], (unsigned) i);
        if (rank == 0)
            CHECK_MPI(MPI_Isend(s[i].buf, RARE_SZ, MPI_CHAR, other, i, MPI_COMM_WORLD,
                                &requests[i]));
        else
            CHECK_MPI(MPI_Irecv(s[i].buf, RARE_SZ, MPI_CHAR, other, i, MPI_COMM_WORLD,
                                &requests[i]));
    }
    if (rank == 0)
        CHECK_MPI(MPI_Waitall(NRARE, requests, MPI_STATUSES_IGNORE));
    while (rank == 1 && !are_done) {
        usleep(5000);
        CHECK_MPI(MPI_Testall(NRARE, requests, &are_done, MPI_STATUSES_IGNORE));
        ntests++;
    }
    for (int i = 0; i < NRARE; i++) {
        side_check(&s[i], "a buffer", (unsigned) i, s[i].size);
        side_free(&s[i]);
    }
    return ntests;
}

/* One good round is enough: on a busy machine the other process and the emulated GPU may not run for
 * longer than the receiver sleeps. */
static void rare(void)
{
    int ntests, best = INT_MAX;

    for (int i = 0; i < MAX_ROUNDS && best > MAX_TESTS; i++) {
        ntests = rare_round();
        CHECK_MPI(MPI_Bcast(&ntests, 1, MPI_INT, 1, MPI_COMM_WORLD));
        best = ntests < best ? ntests : best;
    }
    if (best > MAX_TESTS)
        report_fail("%d messages took %d tests or more, 5 ms apart", NRARE, best);
}

/* ---- burst ---- */

#define NBURST 64
#define BURST_SZ (64 << 10)
#define NFIRST 8                /* messages that are too few for a launch while others may follow */
#define BURST_LAUNCHES 12       /* of at least 16 messages each, and some more at the ends */

/* GPU messages, which all arrive while the receiver is not in MPI.
 *   nfirst  (IN)  number of those that the receiver finds before a host message, which ends the call in
 *                 which it handles them
 * Returns the number of the receiver's launches. */
static unsigned long long burst_once(int nfirst)
{
    static struct side s[NBURST];
    static MPI_Request requests[NBURST];
    unsigned long long nlaunches = 0;
    double end;
    int word = 0;

    for (int i = 0; i < NBURST; i++) {
        side_make(&s[i], MEM__DEVICE, MPI_CHAR, BURST_SZ, 0);
        if (rank == 0)
            side_fill(&s[i], (unsigned) i);
        else
            side_clear(&s[i], (unsigned) i);
    }
    for (int i = 0; rank == 1 && i < NBURST; i++)
        CHECK_MPI(MPI_Irecv(s[i].buf, BURST_SZ, MPI_CHAR, other, i, MPI_COMM_WORLD, &requests[i]));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < NBURST; i++) {
        if (i == nfirst)
            CHECK_MPI(MPI_Send(&word, 1, MPI_INT, other, NBURST, MPI_COMM_WORLD));
        CHECK_MPI(MPI_Isend(s[i].buf, BURST_SZ, MPI_CHAR, other, i, MPI_COMM_WORLD, &requests[i]));
    }
    if (rank == 1) {
        usleep(100000);
        nlaunches = report_variable("gpudt_launches");
        CHECK_MPI(MPI_Recv(&word, 1, MPI_INT, other, NBURST, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        /* These must not wait for the next call */
        end = MPI_Wtime() + 10;
        for (int i = 0; i < nfirst; i++) {
            while (!side_is_received(&s[i], (unsigned) i, s[i].size) && MPI_Wtime() < end)
                usleep(10000);
        }
        for (int i = 0; i < nfirst; i++)
            side_check(&s[i], "a buffer of a burst between two calls", (unsigned) i, s[i].size);
    }
    CHECK_MPI(MPI_Waitall(NBURST, requests, MPI_STATUSES_IGNORE));
    if (rank == 1)
        nlaunches = report_variable("gpudt_launches") - nlaunches;
    for (int i = 0; i < NBURST; i++) {
        side_check(&s[i], "a buffer of a burst", (unsigned) i, s[i].size);
        side_free(&s[i]);
    }
    return nlaunches;
}

/* One good round is enough, as above. */
static void burst(void)
{
    for (int nfirst = NFIRST; nfirst >= 0; nfirst -= NFIRST) {
        unsigned long long nlaunches = BURST_LAUNCHES + 1;

        for (int i = 0; i < MAX_ROUNDS && nlaunches > BURST_LAUNCHES; i++) {
            nlaunches = burst_once(nfirst);
            CHECK_MPI(MPI_Bcast(&nlaunches, 1, MPI_UNSIGNED_LONG_LONG, 1, MPI_COMM_WORLD));
        }
        if (nlaunches > BURST_LAUNCHES)
            report_fail("%d messages took %llu launches", NBURST, nlaunches);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run) (void);
    } modes[] = { {"probe", probe}, {"memory", memory}, {"isend", isend}, {"window", window},
        {"unsafe", unsafe}, {"rare", rare}, {"burst", burst}
    };
    int provided, n = 0;

    report_time_limit(100);
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);

    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (argc == 2 && strcmp(argv[1], modes[i].name) == 0) {
            modes[i].run();
            n++;
        }
    }
    CHECK(n == 1);
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
