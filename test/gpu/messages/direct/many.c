/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Many messages, staged or long: at once, both ways, or one after the other while kernels of both ends wait
 * for each other. See main.c. */

#include "direct.h"

#include <sys/prctl.h>
#include <unistd.h>

#define MAX_WINDOW 30
#define BESIDE_MIN (1 << 20)    /* as MPII_GPUDT_BESIDE_MIN */

/* Messages both ways at once. Half of the receives are posted late, all in another order than the sends.
 *   n, nblocks  (IN)  messages each way, at most MAX_WINDOW; blocks of 16 bytes in each */
static void window_of(int n, int nblocks)
{
    static struct side out[MAX_WINDOW], in[MAX_WINDOW];
    MPI_Request reqs[2 * MAX_WINDOW];
    const unsigned long long before = report_variable("gpudt_direct_staged");
    MPI_Datatype type;

    MPI_Type_vector(nblocks, 2, 3, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < n; i++) {
        side_make(&out[i], kind, type, 1, i % 16);
        side_make(&in[i], kind, type, 1, 0);
        side_fill(&out[i], 2 * i + rank);
        side_clear(&in[i], 2 * i + other);
    }
    for (int late = 0; late < 2; late++) {
        for (int i = n - 1 - late; i >= 0; i -= 2)
            CHECK_MPI(MPI_Irecv(in[i].buf, 1, type, other, i, MPI_COMM_WORLD, &reqs[i]));
        for (int i = late; i < n; i += 2)
            CHECK_MPI(MPI_Isend(out[i].buf, 1, type, other, i, MPI_COMM_WORLD, &reqs[n + i]));
    }
    CHECK_MPI(MPI_Waitall(2 * n, reqs, MPI_STATUSES_IGNORE));
    for (int i = 0; i < n; i++) {
        side_check(&out[i], "a send buffer", 2 * i + rank, out[i].size);
        side_check(&in[i], "a receive buffer", 2 * i + other, in[i].size);
        side_free(&out[i]);
        side_free(&in[i]);
    }
    CHECK(report_variable("gpudt_direct_staged") - before == (unsigned long long) n);
    MPI_Type_free(&type);
}

void window(void)
{
    window_of(MAX_WINDOW, 1000);
}

/* Messages one at a time from rank 0 to rank 1.
 *   n, nblocks  (IN)  messages; blocks of 16 bytes in each */
static void sequence(int n, int nblocks)
{
    const unsigned long long before = report_variable("gpudt_direct_staged");
    struct side s;
    MPI_Datatype type;

    MPI_Type_vector(nblocks, 2, 3, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    side_make(&s, kind, type, 1, 0);
    for (int i = 0; i < n; i++) {
        if (rank == 0) {
            side_fill(&s, i);
            CHECK_MPI(MPI_Ssend(s.buf, 1, type, 1, i, MPI_COMM_WORLD));
            side_check(&s, "a send buffer", i, s.size);
        } else {
            side_clear(&s, i);
            CHECK_MPI(MPI_Recv(s.buf, 1, type, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            side_check(&s, "a receive buffer", i, s.size);
        }
    }
    CHECK(report_variable("gpudt_direct_staged") - before == (unsigned long long) (rank == 1 ? n : 0));
    side_free(&s);
    MPI_Type_free(&type);
}

/* On a busy machine one direction may be over when the other one begins. */
void both(void)
{
    const int nblocks = 2 * BESIDE_MIN / 16;

    sequence(4, nblocks);
    CHECK(report_variable("gpudt_staged_beside") == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0, all_seen = 0; !all_seen && i < 50; i++) {
        int seen;
        window_of(8, nblocks);
        seen = report_variable("gpudt_staged_beside") > 0 || !mem_exists(MEM__OTHER_DEVICE);
        CHECK_MPI(MPI_Allreduce(&seen, &all_seen, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD));
    }
    CHECK((report_variable("gpudt_staged_beside") > 0) == mem_exists(MEM__OTHER_DEVICE));
}

/* Repeat the sequence until some of the kernels that were launched ahead have given up, or some have
 * not: how long one waits, and for how long the sender is late, differs from machine to machine. */
static void sequence_until(int is_missed)
{
    enum { seconds = 40 };
    const double start = MPI_Wtime();
    unsigned long long nahead, nmissed;
    int is_seen, is_over;

    do {
        sequence(60, 5000);
        nahead = report_variable("gpudt_staged_ahead");
        CHECK((nahead > 0) == (rank == 1 && mem_exists(MEM__OTHER_DEVICE)));
        nmissed = report_variable("gpudt_staged_missed");
        is_seen = !mem_exists(MEM__OTHER_DEVICE) || (is_missed ? nmissed > 0 : nmissed < nahead);
        is_over = is_seen || MPI_Wtime() - start > seconds;
        CHECK_MPI(MPI_Bcast(&is_over, 1, MPI_INT, 1, MPI_COMM_WORLD));
    } while (!is_over);
    CHECK(is_seen || rank == 0);
}

void kernels_wait_longer(void)
{
    enum { slack_ns = 1000000 };

    prctl(PR_SET_TIMERSLACK, slack_ns);
}

void ahead(void)
{
    sequence_until(0);
}

void missed(void)
{
    sequence_until(1);
}

void starved(void)
{
    enum { seconds = 5 };
    struct side s[3];
    MPI_Request reqs[3];
    MPI_Datatype type;
    double start;
    int flag;

    MPI_Type_vector(1000, 2, 3, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < 3; i++)
        side_make(&s[i], kind, type, 1, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    for (int i = 0; i < 3 && rank == 0; i++) {
        side_fill(&s[i], i);
        CHECK_MPI(MPI_Isend(s[i].buf, 1, type, 1 + i / 2, i, MPI_COMM_WORLD, &reqs[i]));
        /* The first two have their places before the third asks */
        while (i == 1 && MPI_Wtime() - start < 0.1)
            CHECK_MPI(MPI_Testall(2, reqs, &flag, MPI_STATUSES_IGNORE));
    }
    if (rank == 0) {
        CHECK_MPI(MPI_Wait(&reqs[2], MPI_STATUS_IGNORE));
        CHECK(MPI_Wtime() - start < seconds - 1);
        CHECK_MPI(MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE));
        CHECK(MPI_Wtime() - start > seconds - 1);
    } else if (rank == 1) {
        for (int i = 0; i < 2; i++) {
            side_clear(&s[i], i);
            CHECK_MPI(MPI_Irecv(s[i].buf, 1, type, 0, i, MPI_COMM_WORLD, &reqs[i]));
        }
        /* They are matched, but not packed before that time is over */
        while (MPI_Wtime() - start < 0.1)
            CHECK_MPI(MPI_Testall(2, reqs, &flag, MPI_STATUSES_IGNORE));
        while (MPI_Wtime() - start < seconds)
            usleep(1000);
        CHECK_MPI(MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE));
        side_check(&s[0], "a receive buffer", 0, s[0].size);
        side_check(&s[1], "a receive buffer", 1, s[1].size);
    } else {
        side_clear(&s[2], 2);
        CHECK_MPI(MPI_Recv(s[2].buf, 1, type, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        side_check(&s[2], "a receive buffer", 2, s[2].size);
    }
    for (int i = 0; i < 3; i++)
        side_free(&s[i]);
    MPI_Type_free(&type);
}

/* The time of n long messages at once from rank 0 to rank 1, in the latter; in rank 0 any number. */
static double burst(struct side *s, int n)
{
    MPI_Request reqs[16];
    double start;

    for (int i = 0; i < n; i++) {
        if (rank == 0)
            side_fill(&s[i], i);
        else
            side_clear(&s[i], i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    for (int i = 0; i < n; i++) {
        if (rank == 0)
            CHECK_MPI(MPI_Isend(s[i].buf, s[i].count, s[i].type, 1, i, MPI_COMM_WORLD, &reqs[i]));
        else
            CHECK_MPI(MPI_Irecv(s[i].buf, s[i].count, s[i].type, 0, i, MPI_COMM_WORLD, &reqs[i]));
    }
    CHECK_MPI(MPI_Waitall(n, reqs, MPI_STATUSES_IGNORE));
    start = MPI_Wtime() - start;
    for (int i = 0; i < n; i++)
        side_check(&s[i], rank == 0 ? "a send buffer" : "a receive buffer", i, s[i].size);
    return start;
}

/* Several at once take less time than one after the other.
 *   share  (IN)  of that time, at most */
static void beside_of(MPI_Datatype type, int count, double share)
{
    enum { n = 8 };
    struct side s[n];
    double one, many;
    int tries = 3, is_beside;

    for (int i = 0; i < n; i++)
        side_make(&s[i], kind, type, count, 0);
    burst(s, 1);                /* maps memory */
    do {                        /* again if others keep the processors busy */
        one = burst(s, 1);
        many = burst(s, n);
        is_beside = many <= share * n * one;
        CHECK_MPI(MPI_Bcast(&is_beside, 1, MPI_INT, 1, MPI_COMM_WORLD));
    } while (!is_beside && --tries);
    if (rank == 1 && !is_beside)
        report_fail("a message of %lld bytes takes %.2f s, %d take %.2f s", (long long) s[0].size, one, n,
                    many);
    for (int i = 0; i < n; i++)
        side_free(&s[i]);
}

/* Long copies run in two lanes, and kernels that cannot share a launch in four. */
void beside(void)
{
    enum { nrows = 190 };       /* of a triangle, which is a list */
    int lengths[nrows], displs[nrows];
    MPI_Datatype list;

    for (int i = 0; i < nrows; i++) {
        lengths[i] = i + 1;
        displs[i] = (nrows + 10) * i;
    }
    MPI_Type_indexed(nrows, lengths, displs, MPI_DOUBLE, &list);
    MPI_Type_commit(&list);
    beside_of(MPI_DOUBLE, 140000, 0.75);
    beside_of(list, 1, 0.45);
    MPI_Type_free(&list);
}
