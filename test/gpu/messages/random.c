/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests random datatypes in random kinds of memory between any number of processes: many messages
 * in flight, received in random order, some of them into other layouts of the same bytes.
 *
 *     random [seed [messages [kind [kind]]]]
 *
 * kind: only that kind of memory at the sender, and at the receiver. A failure prints the command
 * line to reproduce it. */

#include "randtype.h"
#include "report.h"
#include "side.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW 12               /* messages in flight in a round */
#define MAX_BYTES (600 * 1024)

/* A message; every process knows all of them. */
struct msg {
    int from, to;
    MPI_Datatype from_type, to_type;
    MPI_Aint from_count, to_count;
    enum mem_kind from_kind, to_kind;
    int shift[2];
    unsigned seed;
    char *text;
    int how;
    struct side out, in;
    MPI_Request sent, received;
};

static int rank, nprocs;
static enum mem_kind only[2] = { MEM__NKINDS, MEM__NKINDS };

static enum mem_kind kind_draw(struct rng *rng, int end)
{
    enum mem_kind kind;

    do
        kind = (enum mem_kind) rng_range(rng, 0, MEM__NKINDS - 1);
    while (!mem_exists(kind));
    return only[end] != MEM__NKINDS ? only[end] : kind;
}

/* Draws the same message in every process, so all of them make all types. */
static void msg_draw(struct msg *m, struct rng *rng, unsigned seed)
{
    struct randtype_opts opts = { 6, 4096, 1 << 16, 1 };
    int is_long = rng_chance(rng, 15);
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
    m->from_type = m->to_type = randtype_make(rng, &opts, &m->text);
    MPI_Type_size(m->from_type, &size);
    m->from_count = 1;
    if (is_long && size > 0) {
        /* Random types may not be repeated, since their extents are random too */
        MPI_Aint span_lb, span, n = rng_range(rng, 1, 1 + MAX_BYTES / (size + 1) / 4);
        MPI_Datatype wide;
        MPI_Type_get_true_extent(m->from_type, &span_lb, &span);
        if (span > 0 && n * (span + 8) < (16 << 20)) {
            MPI_Type_create_resized(m->from_type, 0, span + 8, &wide);
            randtype_free(&m->from_type);
            MPI_Type_commit(&wide);
            m->from_type = m->to_type = wide;
            m->from_count = n;
        }
    }
    m->to_count = m->from_count;
    if (rng_chance(rng, 40)) {
        /* Bytes: the library does not check signatures */
        m->to_type = MPI_BYTE;
        m->to_count = size * m->from_count;
    }
}

static void msg_free(struct msg *m)
{
    free(m->text);
    if (m->from_count > 1)
        MPI_Type_free(&m->from_type);
    else
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
        if (m->to == rank) {
            CHECK_MPI(MPI_Wait(&m->received, MPI_STATUS_IGNORE));
            side_check(&m->in, "a received buffer", m->seed, m->in.size);
            side_free(&m->in);
        }
        if (m->from == rank) {
            CHECK_MPI(MPI_Wait(&m->sent, MPI_STATUS_IGNORE));
            side_check(&m->out, "a sent buffer", m->seed, m->out.size);
            side_free(&m->out);
        }
        if (report_failures != fails)
            fprintf(stderr, "... message %lu from %d in %s memory to %d in %s memory%s: %ld x %s\n",
                    first + order[i], m->from, mem_name(m->from_kind), m->to, mem_name(m->to_kind),
                    m->to_type == MPI_BYTE ? ", as bytes" : "", (long) m->from_count, m->text);
    }
    for (int i = 0; i < n; i++)
        msg_free(&msgs[i]);
    if (report_failures != before)
        fprintf(stderr, "again: random %lu, round of message %lu\n", seed, first);
}

int main(int argc, char **argv)
{
    unsigned long seed = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
    unsigned long total = argc > 2 ? strtoul(argv[2], NULL, 0) : 300;
    struct rng rng;

    report_time_limit(900);
    MPI_Init(NULL, NULL);
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
    MPI_Finalize();
    return report_done();
}
