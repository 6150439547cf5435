/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests random datatypes in random kinds of memory between any number of processes: many messages
 * in flight, received in random order, some of them into another random datatype of the same
 * signature, or as bytes.
 *
 *     random [seed [messages [kind [kind]]]]
 *
 * kind: only that kind of memory at the sender, and at the receiver. A failure prints the command
 * line to reproduce it. Prints how many messages were of each sort, and how many were copied from
 * the sender's GPU memory: with MPIR_CVAR_GPUDT_DIRECT=always a part of them must be. random-many
 * starts several such jobs. */

#include "randtype.h"
#include "report.h"
#include "side.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW 12               /* messages in flight in a round */
#define MAX_BYTES (600 * 1024)
#define MAX_SPAN (16 << 20)
/* Messages of ten that are received into another type of the same signature, or as bytes */
#define UNEQUAL 4
#define AS_BYTES 3
#define FEW 100                 /* messages whose counts are not checked */

/* A message; every process knows all of them. */
struct msg {
    int from, to;
    MPI_Datatype from_type, to_type;
    MPI_Aint from_count, to_count;
    enum mem_kind from_kind, to_kind;
    int shift[2];
    unsigned seed;
    char *text, *to_text;       /* to_text: NULL unless the receiver has another random type */
    int how;
    struct side out, in;
    MPI_Request sent, received;
};

/* Counts of the messages that a process has received. */
enum { COUNT__ALL, COUNT__BYTES, COUNT__UNEQUAL, COUNT__PULLS, COUNT__REFUSED, COUNT__OPENS,
    N_COUNTS
};

static int rank, nprocs;
static unsigned long long counts[N_COUNTS];
static enum mem_kind only[2] = { MEM__NKINDS, MEM__NKINDS };

/* Half of the buffers are in memory that other processes can map. */
static enum mem_kind kind_draw(struct rng *rng, int end)
{
    static const enum mem_kind mappable[] = { MEM__DEVICE, MEM__OTHER_DEVICE };
    int is_mappable = rng_chance(rng, 50);
    enum mem_kind kind;

    do
        kind = is_mappable ? mappable[rng_range(rng, 0, 1)] :
            (enum mem_kind) rng_range(rng, 0, MEM__NKINDS - 1);
    while (!mem_exists(kind));
    return only[end] != MEM__NKINDS ? only[end] : kind;
}

/* Prepares a type to be used with count n. Random types may not be repeated, since their extents
 * are random too. Returns 0 if it would become too large. */
static int type_repeat(MPI_Datatype * type, MPI_Aint n)
{
    MPI_Aint lb, span;
    MPI_Datatype wide;

    if (n <= 1)
        return 1;
    MPI_Type_get_true_extent(*type, &lb, &span);
    if (span <= 0 || n * (span + 8) >= MAX_SPAN)
        return 0;
    MPI_Type_create_resized(*type, 0, span + 8, &wide);
    randtype_free(type);
    MPI_Type_commit(&wide);
    *type = wide;
    return 1;
}

/* Whether the type maps differ for certain. */
static int types_differ(MPI_Datatype a, MPI_Datatype b)
{
    MPI_Aint lb[2], extent[2];
    int size[2];

    MPI_Type_size(a, &size[0]);
    MPI_Type_size(b, &size[1]);
    MPI_Type_get_true_extent(a, &lb[0], &extent[0]);
    MPI_Type_get_true_extent(b, &lb[1], &extent[1]);
    return size[0] != size[1] || lb[0] != lb[1] || extent[0] != extent[1];
}

/* Draws another type for the receiver, which has room for the message and, as all primitives are
 * equal, its signature. */
static void msg_draw_unequal(struct msg *m, struct rng *rng, const struct randtype_opts *opts,
                             MPI_Aint size)
{
    MPI_Datatype type = randtype_make(rng, opts, &m->to_text);
    MPI_Aint n = 1;
    int one;

    MPI_Type_size(type, &one);
    if (one > 0)
        n = (size + one - 1) / one;
    if ((one > 0 || size == 0) && types_differ(type, m->from_type) && type_repeat(&type, n)) {
        m->to_type = type;
        m->to_count = n;
        return;
    }
    randtype_free(&type);
    free(m->to_text);
    m->to_text = NULL;
}

/* Draws the same message in every process, so all of them make all types. */
static void msg_draw(struct msg *m, struct rng *rng, unsigned seed)
{
    struct randtype_opts opts = { 6, 4096, 1 << 16, 1, 0 };
    int is_long = rng_chance(rng, 15), relation = (int) rng_range(rng, 0, 9);
    int size;

    memset(m, 0, sizeof(*m));
    m->seed = seed;
    m->from = (int) rng_range(rng, 0, nprocs - 1);
    m->to = (int) rng_range(rng, 0, nprocs - 1);
    m->from_kind = kind_draw(rng, 0);
    m->to_kind = kind_draw(rng, 1);
    m->shift[0] = (int) rng_range(rng, 0, 15);
    m->shift[1] = (int) rng_range(rng, 0, 15);
    m->how = (int) rng_range(rng, 0, 3);
    if (relation < UNEQUAL)
        opts.leaf = (int) rng_range(rng, 1, RANDTYPE_LEAVES);
    m->from_type = randtype_make(rng, &opts, &m->text);
    MPI_Type_size(m->from_type, &size);
    m->from_count = 1;
    if (is_long && size > 0) {
        MPI_Aint n = rng_range(rng, 1, 1 + MAX_BYTES / (size + 1) / 4);

        if (type_repeat(&m->from_type, n))
            m->from_count = n;
    }
    m->to_type = m->from_type;
    m->to_count = m->from_count;
    if (relation < UNEQUAL) {
        msg_draw_unequal(m, rng, &opts, size * m->from_count);
    } else if (relation < UNEQUAL + AS_BYTES) {
        /* The library does not check signatures */
        m->to_type = MPI_BYTE;
        m->to_count = size * m->from_count;
    }
}

static void msg_free(struct msg *m)
{
    free(m->text);
    free(m->to_text);
    if (m->to_type != m->from_type)
        randtype_free(&m->to_type);
    randtype_free(&m->from_type);
}

static void msg_recv(struct msg *m, int tag)
{
    side_make(&m->in, m->to_kind, m->to_type, m->to_count, m->shift[1]);
    side_clear(&m->in, m->seed);
    CHECK_MPI(MPI_Irecv(m->in.buf, (int) m->to_count, m->to_type, m->from, tag, MPI_COMM_WORLD,
                        &m->received));
}

static void msg_send(struct msg *m, int tag)
{
    side_make(&m->out, m->from_kind, m->from_type, m->from_count, m->shift[0]);
    side_fill(&m->out, m->seed);
    if (m->how == 0)
        CHECK_MPI(MPI_Issend(m->out.buf, (int) m->from_count, m->from_type, m->to, tag,
                             MPI_COMM_WORLD, &m->sent));
    else
        CHECK_MPI(MPI_Isend(m->out.buf, (int) m->from_count, m->from_type, m->to, tag,
                            MPI_COMM_WORLD, &m->sent));
}

/* Wait for a message and check it: it may be shorter than the receive buffer. */
static void msg_received(struct msg *m)
{
    MPI_Status status;
    MPI_Aint sent;
    int size, n;

    MPI_Type_size(m->from_type, &size);
    sent = size * m->from_count;
    CHECK_MPI(MPI_Wait(&m->received, &status));
    MPI_Get_elements(&status, MPI_BYTE, &n);
    CHECK(n == sent);
    side_check(&m->in, "a received buffer", m->seed, sent);
    side_free(&m->in);
    counts[COUNT__ALL]++;
    counts[COUNT__BYTES] += m->to_type == MPI_BYTE && m->to_text == NULL;
    counts[COUNT__UNEQUAL] += m->to_text != NULL;
}

static void round_run(struct rng *rng, unsigned long first, int n, unsigned long seed)
{
    struct msg msgs[WINDOW];
    int order[WINDOW], before = report_failures;

    for (int i = 0; i < n; i++) {
        msg_draw(&msgs[i], rng, (unsigned) (first + i));
        order[i] = i;
    }
    for (int i = n - 1; i > 0; i--) {
        int j = (int) rng_range(rng, 0, i), k = order[i];
        order[i] = order[j];
        order[j] = k;
    }

    /* Half of the receives are posted first */
    for (int i = 0; i < n; i++) {
        if (msgs[order[i]].to == rank && order[i] % 2)
            msg_recv(&msgs[order[i]], order[i]);
    }
    for (int i = 0; i < n; i++) {
        if (msgs[i].from == rank)
            msg_send(&msgs[i], i);
    }
    for (int i = 0; i < n; i++) {
        if (msgs[order[i]].to == rank && order[i] % 2 == 0)
            msg_recv(&msgs[order[i]], order[i]);
    }
    for (int i = 0; i < n; i++) {
        struct msg *m = &msgs[order[i]];
        int fails = report_failures;
        if (m->to == rank)
            msg_received(m);
        if (m->from == rank) {
            CHECK_MPI(MPI_Wait(&m->sent, MPI_STATUS_IGNORE));
            side_check(&m->out, "a sent buffer", m->seed, m->out.size);
            side_free(&m->out);
        }
        if (report_failures != fails)
            fprintf(stderr, "... message %lu from %d in %s memory to %d in %s memory: %ld x %s, "
                    "received as %ld x %s\n",
                    first + order[i], m->from, mem_name(m->from_kind), m->to, mem_name(m->to_kind),
                    (long) m->from_count, m->text, (long) m->to_count,
                    m->to_text ? m->to_text : m->to_type == MPI_BYTE ? "bytes" : "the same");
    }
    for (int i = 0; i < n; i++)
        msg_free(&msgs[i]);
    if (report_failures != before)
        fprintf(stderr, "again: random %lu, round of message %lu\n", seed, first);
}

/* Prints the sums of all processes. */
static void counts_print(void)
{
    const char *direct = getenv("MPIR_CVAR_GPUDT_DIRECT");
    unsigned long long sum[N_COUNTS];

    counts[COUNT__PULLS] = report_variable("gpudt_direct_pulls");
    counts[COUNT__REFUSED] = report_variable("gpudt_direct_refused");
    counts[COUNT__OPENS] = report_variable("gpudt_ipc_opens");
    MPI_Reduce(counts, sum, N_COUNTS, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank != 0)
        return;
    printf("%llu messages: %llu into another type of the same signature, %llu into bytes; "
           "%llu copied from the sender's GPU memory, %llu refused, %llu allocations mapped\n",
           sum[COUNT__ALL], sum[COUNT__UNEQUAL], sum[COUNT__BYTES], sum[COUNT__PULLS],
           sum[COUNT__REFUSED], sum[COUNT__OPENS]);
    if (sum[COUNT__ALL] < FEW)
        return;
    CHECK(sum[COUNT__UNEQUAL] * 5 > sum[COUNT__ALL]);
    if (direct && !strcmp(direct, "always") && only[0] == MEM__NKINDS && only[1] == MEM__NKINDS)
        CHECK(sum[COUNT__PULLS] * 20 > sum[COUNT__ALL]);
}

int main(int argc, char **argv)
{
    unsigned long seed = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
    unsigned long total = argc > 2 ? strtoul(argv[2], NULL, 0) : 300;
    struct rng rng;
    int provided;

    report_time_limit(900);
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    for (int i = 0; i < 2 && argc > 3 + i; i++) {
        only[i] = mem_named(argv[3 + i]);
        if (only[i] == MEM__NKINDS || !mem_exists(only[i]))
            return 2;
    }

    rng_init(&rng, seed);
    for (unsigned long at = 0; at < total; at += WINDOW)
        round_run(&rng, at, (int) (total - at < WINDOW ? total - at : WINDOW), seed);
    counts_print();
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
