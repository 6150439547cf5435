/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests messages that one of the processes copies between its own and the other one's GPU memory.
 * Two processes, with a GPU each if the machine has two. To be run with
 * MPIR_CVAR_GPUDT_DIRECT=always, except where noted.
 *
 * Usage: direct WHAT [KIND]
 * KIND is the kind of memory, device if omitted; shareable is that of mapped virtual ranges, which
 * are shared by file descriptors, as is shared-pool, which is mapped for each message.
 *   pulled    messages of every kind of datatype are copied this way, expected ones and unexpected
 *             ones, and nothing passes through host memory
 *   pushed    with MPIR_CVAR_GPUDT_DIRECT=push: long ones are copied by the sender
 *   across    the sender copies where it is the cheaper way: to a contiguous buffer from a strided
 *             one, and from memory that the receiver cannot map; two GPUs
 *   rows      with MPIR_CVAR_GPUDT_STRATEGY=copy2d and two GPUs: rows of one width are a copy of the driver
 *   forgotten  long datatypes that are freed after each message are freed by the receiver, too
 *   staged    with MPIR_CVAR_GPUDT_DIRECT=staged: long ones pass through memory of the sender's GPU
 *   window    the same for many more messages at once than there are places for segments
 *   both      the same for long messages, whose kernels take account of the other direction if each
 *             process has a GPU of its own, and do not if they share one
 *   ahead     with MPIR_CVAR_GPUDT_DIRECT=staged and two GPUs: kernels that unpack are launched while the
 *             other end packs
 *   missed    the same, and the one end is so much slower at times that they give up
 *   starved   three processes, and a GPU that takes 0.2 s for anything: a message is sent while all
 *             places are held by messages whose receiver does not call MPI
 *   beside    with a GPU that is slow to start anything: long ones are copied two at a time, lists more
 *   refused   none is, as the memory cannot be mapped
 *   kinds     memory that cannot be mapped goes the other way; mixed ends
 *   late      unexpected short messages whose buffers are reused at once
 *   auto      with MPIR_CVAR_GPUDT_DIRECT=auto: memory is mapped once that pays off
 *   hidden    the same, by the sender of memory that the receiver cannot map */

#include "direct.h"

#include <string.h>

#define MAX_TYPES 8
#define EAGER_MAX 8192          /* as MPIR_CVAR_GPUDT_EAGER_MAX */
#define LONG_LIST 1000          /* entries; too many for an offer */

int rank, other;
enum mem_kind kind = MEM__DEVICE;

static unsigned nlong;          /* messages received that are sent by rendezvous. A short one may be
                                 * packed before its receive is posted */
static unsigned nlong_sent;

static int types_make(MPI_Datatype * types)
{
    const int lengths[] = { 3, 1, 4, 1, 5, 9, 2, 6 }, displs[] = { 0, 5, 7, 12, 14, 20, 30, 33 };
    const int sizes[] = { 9, 8, 7 }, subsizes[] = { 4, 3, 5 }, starts[] = { 2, 1, 1 };
    const int two[] = { 1, 2 };
    const MPI_Aint at[] = { 0, 16 };
    const MPI_Datatype members[] = { MPI_DOUBLE, MPI_INT };
    static int long_lengths[LONG_LIST], long_displs[LONG_LIST];
    int n = 0;

    MPI_Type_contiguous(1, MPI_DOUBLE, &types[n++]);
    MPI_Type_vector(5, 1, 2, MPI_DOUBLE, &types[n++]);
    MPI_Type_vector(3, 2, 5, MPI_BYTE, &types[n++]);
    MPI_Type_indexed(8, lengths, displs, MPI_INT, &types[n++]);
    MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_FLOAT, &types[n++]);
    MPI_Type_create_struct(2, two, at, members, &types[n++]);
    for (int i = 0; i < LONG_LIST; i++) {
        long_lengths[i] = 1 + i % 5;
        long_displs[i] = 7 * i + i % 2;
    }
    MPI_Type_indexed(LONG_LIST, long_lengths, long_displs, MPI_SHORT, &types[n++]);
    for (int i = 0; i < n; i++)
        MPI_Type_commit(&types[i]);
    return n;
}

/* One message from rank 0 to rank 1, or back.
 *   is_late  (IN)  the receive is posted after the message has arrived */
static void message(int from, MPI_Datatype type, int count, int seed, int is_late)
{
    struct side s;

    side_make(&s, kind, type, count, seed % 16);
    if (from == rank) {
        MPI_Request req;
        side_fill(&s, seed);
        CHECK_MPI(MPI_Isend(s.buf, count, type, other, seed, MPI_COMM_WORLD, &req));
        if (is_late)
            CHECK_MPI(MPI_Send(NULL, 0, MPI_BYTE, other, 99999, MPI_COMM_WORLD));
        CHECK_MPI(MPI_Wait(&req, MPI_STATUS_IGNORE));
        side_check(&s, "a send buffer", seed, s.size);
        nlong_sent += s.size > EAGER_MAX;
    } else {
        side_clear(&s, seed);
        if (is_late)
            CHECK_MPI(MPI_Recv(NULL, 0, MPI_BYTE, other, 99999, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_MPI(MPI_Recv(s.buf, count, type, other, seed, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        side_check(&s, "a receive buffer", seed, s.size);
        nlong += s.size > EAGER_MAX;
    }
    side_free(&s);
}

/* Messages of every datatype and count, or of some.
 *   step  (IN)  1: all; 3: every third datatype, one count */
static void all_types(int seed, int step)
{
    static const int counts[] = { 1, 7, 40, 300 };
    MPI_Datatype types[MAX_TYPES];
    int ntypes = types_make(types);

    for (int t = 0; t < ntypes; t += step) {
        for (int c = step - 1; c < 4; c += step) {
            for (int from = 0; from < 2; from++)
                message(from, types[t], counts[c], seed + t * 8 + c * 2 + from, c % 2);
        }
    }
    for (int t = 0; t < ntypes; t++)
        MPI_Type_free(&types[t]);
}

static void pulled(void)
{
    unsigned long long before = report_variable("gpudt_direct_pulls");
    unsigned long long nstaged = report_variable("gpudt_direct_staged");

    all_types(0, 1);
    CHECK(nlong >= 3);
    /* The longest one is staged on some GPUs, if staging memory was used before */
    nstaged = report_variable("gpudt_direct_staged") - nstaged;
    CHECK(nstaged <= 1);
    CHECK(report_variable("gpudt_direct_pulls") - before + nstaged >= nlong);
    CHECK(report_variable("gpudt_direct_refused") == 0);
    CHECK(report_variable("gpudt_ipc_failures") == 0);
}

static void pushed(void)
{
    all_types(0, 1);
    CHECK(nlong_sent >= 3);
    CHECK(report_variable("gpudt_direct_pushes") == nlong_sent);
    CHECK(report_variable("gpudt_direct_staged") == 0);
    CHECK(report_variable("gpudt_direct_refused") == 0);
    CHECK(report_variable("gpudt_ipc_failures") == 0);
}

/* Messages of n doubles from rank 0 to rank 1, from and to the same memory. Returns how many of them
 * were pushed, in rank 0. */
static int are_pushed(int nmessages, enum mem_kind from, MPI_Datatype type, enum mem_kind to,
                      MPI_Datatype to_type, int n)
{
    unsigned long long before = report_variable("gpudt_direct_pushes");
    struct side s;

    side_make(&s, rank == 0 ? from : to, rank == 0 ? type : to_type, n, 0);
    for (int i = 0; i < nmessages; i++) {
        if (rank == 0) {
            side_fill(&s, i);
            CHECK_MPI(MPI_Send(s.buf, n, type, 1, 1, MPI_COMM_WORLD));
            side_check(&s, "a send buffer", i, s.size);
        } else {
            side_clear(&s, i);
            CHECK_MPI(MPI_Recv(s.buf, n, to_type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            side_check(&s, "a receive buffer", i, s.size);
        }
    }
    side_free(&s);
    return (int) (report_variable("gpudt_direct_pushes") - before);
}

static int is_pushed(enum mem_kind from, MPI_Datatype type, enum mem_kind to, MPI_Datatype to_type,
                     int n)
{
    return are_pushed(1, from, type, to, to_type, n);
}

static void across(void)
{
    enum { few = 2000, many = 200000 };
    const int is_sender = rank == 0;
    MPI_Datatype spread;

    MPI_Type_create_resized(MPI_DOUBLE, 0, 64, &spread);
    MPI_Type_commit(&spread);
    CHECK(is_pushed(kind, spread, kind, MPI_DOUBLE, many) == is_sender);
    CHECK(!is_pushed(kind, spread, kind, MPI_DOUBLE, few));
    CHECK(!is_pushed(kind, MPI_DOUBLE, kind, MPI_DOUBLE, many));
    CHECK(!is_pushed(kind, MPI_DOUBLE, kind, spread, many));
    CHECK(!is_pushed(kind, spread, kind, spread, many));
    if (mem_exists(MEM__POOL)) {
        CHECK(is_pushed(MEM__POOL, MPI_DOUBLE, kind, MPI_DOUBLE, few) == is_sender);
        CHECK(is_pushed(MEM__POOL, spread, kind, MPI_DOUBLE, many) == is_sender);
        CHECK(is_pushed(MEM__POOL, MPI_DOUBLE, kind, spread, few) == is_sender);
        CHECK(!is_pushed(kind, MPI_DOUBLE, MEM__POOL, MPI_DOUBLE, few));
    }
    MPI_Type_free(&spread);
}

/* Send one element of a datatype, and receive one of another. Returns how many copies of the driver that
 * takes in both processes. */
static int ncopies(MPI_Datatype type, MPI_Datatype to_type)
{
    int before = (int) report_variable("gpudt_copies"), n;

    are_pushed(1, kind, type, kind, to_type, 1);
    n = (int) report_variable("gpudt_copies") - before;
    MPI_Allreduce(MPI_IN_PLACE, &n, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return n;
}

static void rows(void)
{
    enum { n = 100000 };        /* for so many a kernel is faster */
    MPI_Datatype narrow, spread, wide;

    MPI_Type_vector(n, 2, 3, MPI_DOUBLE, &narrow);
    MPI_Type_vector(n, 2, 7, MPI_DOUBLE, &spread);
    MPI_Type_vector(n / 2, 4, 7, MPI_DOUBLE, &wide);
    MPI_Type_commit(&narrow);
    MPI_Type_commit(&spread);
    MPI_Type_commit(&wide);
    if (mem_exists(MEM__OTHER_DEVICE)) {
        CHECK(ncopies(narrow, spread) == 1);
        CHECK(ncopies(spread, narrow) == 1);
        CHECK(ncopies(narrow, wide) == 0);
    }
    CHECK(report_variable("gpudt_direct_refused") == 0);
    MPI_Type_free(&narrow);
    MPI_Type_free(&spread);
    MPI_Type_free(&wide);
}

static void forgotten(void)
{
    enum { n = 100 };
    static int lengths[LONG_LIST], displs[LONG_LIST];
    MPI_Datatype type;

    for (int turn = 0; turn < n; turn++) {
        for (int i = 0; i < LONG_LIST; i++) {
            lengths[i] = 1 + (i + turn) % 5;
            displs[i] = 7 * i + i % 2;
        }
        MPI_Type_indexed(LONG_LIST, lengths, displs, MPI_SHORT, &type);
        MPI_Type_commit(&type);
        message(0, type, 3, turn, 0);
        MPI_Type_free(&type);
    }
    /* All but the last one, as the next one has been read since */
    CHECK(report_variable("gpudt_direct_pulls") == (unsigned long long) (rank == 1 ? n : 0));
    CHECK(report_variable("gpudt_peer_types_freed") == (unsigned long long) (rank == 1 ? n - 1 : 0));
}

static void hidden(void)
{
    enum { n = 200 };
    int npushed;

    if (!mem_exists(MEM__POOL))
        return;
    npushed = are_pushed(n, MEM__POOL, MPI_DOUBLE, kind, MPI_DOUBLE, 2000);
    CHECK(npushed > 0 || rank == 1);
    CHECK(npushed < n);
}

static void staged(void)
{
    unsigned long long before = report_variable("gpudt_direct_staged");

    all_types(0, 1);
    CHECK(nlong >= 3);
    CHECK(report_variable("gpudt_direct_staged") - before >= nlong);
    CHECK(report_variable("gpudt_direct_refused") == 0);
}

static void refused(void)
{
    all_types(0, 1);
    CHECK(report_variable("gpudt_direct_pulls") == 0);
    CHECK(report_variable("gpudt_direct_pushes") == 0);
    CHECK(report_variable("gpudt_direct_staged") == 0);
    CHECK(report_variable("gpudt_ipc_mapped") == 0);
}

static void kinds(void)
{
    static const enum mem_kind others[] = {
        MEM__POOL, MEM__MAPPED, MEM__MANAGED, MEM__PINNED, MEM__PAGEABLE, MEM__OTHER_CTX,
        MEM__SHAREABLE, MEM__SHARED_POOL
    };
    const enum mem_kind own = kind;

    for (int i = 0; i < (int) (sizeof(others) / sizeof(others[0])); i++) {
        for (int which = 0; which < 3; which++) {
            kind = which == 2 || which == rank ? others[i] : own;
            if (mem_exists(kind))
                all_types(1000 * i + 100 * which, 3);
        }
    }
    kind = own;
}

/* The sender fills its buffer anew after each MPI_Send. The receiver looks at half of the messages
 * when they have arrived. */
static void late(void)
{
    struct side s;

    side_make(&s, kind, MPI_INT, 500, 0);
    for (int i = 0; i < 400; i++) {
        if (rank == 0) {
            side_fill(&s, i);
            CHECK_MPI(MPI_Send(s.buf, 500, MPI_INT, 1, i, MPI_COMM_WORLD));
        } else {
            side_clear(&s, i);
            if (i % 2)
                CHECK_MPI(MPI_Probe(0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK_MPI(MPI_Recv(s.buf, 500, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            side_check(&s, "a receive buffer", i, s.size);
        }
    }
    side_free(&s);
}

/* A first message is not worth the time to map its memory; many are. */
static void automatic(void)
{
    struct side s;

    side_make(&s, kind, MPI_DOUBLE, 1000, 0);
    for (int i = 0; i < 1000; i++) {
        if (rank == 0) {
            side_fill(&s, i);
            CHECK_MPI(MPI_Ssend(s.buf, 1000, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD));
        } else {
            side_clear(&s, i);
            CHECK_MPI(MPI_Recv(s.buf, 1000, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            side_check(&s, "a receive buffer", i, s.size);
            if (i == 0)
                CHECK(report_variable("gpudt_ipc_opens") == 0);
        }
    }
    if (rank == 1) {
        CHECK(report_variable("gpudt_ipc_opens") == 1);
        CHECK(report_variable("gpudt_direct_pulls") > 0);
    }
    side_free(&s);
}

int main(int argc, char **argv)
{
    static const struct report_case tests[] = {
        {"pulled", pulled}, {"pushed", pushed}, {"across", across}, {"rows", rows},
        {"staged", staged}, {"window", window}, {"both", both}, {"ahead", ahead}, {"missed", missed},
        {"starved", starved}, {"beside", beside}, {"refused", refused}, {"kinds", kinds},
        {"late", late}, {"auto", automatic}, {"hidden", hidden}, {"forgotten", forgotten}
    };
    int provided;

    report_time_limit(120);
    if (argc > 1 && strcmp(argv[1], "ahead") == 0)
        kernels_wait_longer();
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    if (gpu_open() == 0)
        return 1;
    if (rank == 1 && mem_exists(MEM__OTHER_DEVICE))
        kind = MEM__OTHER_DEVICE;
    if (argc > 2)
        kind = mem_named(argv[2]);
    gpu_set_current(kind == MEM__OTHER_DEVICE);
    report_case_run(tests, sizeof(tests) / sizeof(tests[0]), argc > 1 ? argv[1] : NULL);
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
