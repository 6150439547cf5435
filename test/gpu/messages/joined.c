/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests messages that are pulled together with others which differ by their addresses only, in bursts,
 * while something else changes from message to message: the alignment, counts, datatypes that are freed
 * at once so that others get their handles, memory, and receives that are too short. Every byte of the
 * receiver's memory is compared. Two processes, of which each sends and receives; with "alike", messages
 * must have joined others; with "host", some are received in host memory. */

#include "gpu.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NMESSAGES 48            /* of a burst */
#define PART (64 << 10)         /* bytes of memory of a message */
#define INTS (NMESSAGES * PART / (int) sizeof(int))
#define ROUNDS 6
#define POISON (-1)

static int rank, other, round_number;
static struct mem from, to, to_other;

/* Blocks of `length` integers, `stride` integers apart, `count` * `n` in all. */
struct form {
    int count, n, length, stride;
};

struct message {
    struct form out, in;
    int from_at, to_at;         /* integers into its part */
    int to_second;              /* received in to_other */
    int is_short;               /* the receive has one datatype less */
    int is_fresh;               /* the datatypes are freed as soon as it is started */
};

typedef void (*choose_fn) (int i, struct message * m);

static int extent_of(const struct form *f)
{
    return f->n * f->stride;
}

static MPI_Datatype type_make(const struct form *f)
{
    MPI_Datatype vector, type;

    MPI_Type_vector(f->n, f->length, f->stride, MPI_INT, &vector);
    MPI_Type_create_resized(vector, 0, (MPI_Aint) extent_of(f) * (MPI_Aint) sizeof(int), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&vector);
    return type;
}

/* The datatypes of all messages but those whose datatypes are freed. */
#define NKEPT 8
static struct {
    struct form form;
    MPI_Datatype type;
} kept[NKEPT];
static int nkept;

static MPI_Datatype type_get(const struct form *f, int is_fresh)
{
    int i = 0;

    if (is_fresh)
        return type_make(f);
    while (i < nkept && (kept[i].form.n != f->n || kept[i].form.length != f->length ||
                         kept[i].form.stride != f->stride))
        i++;
    if (i == nkept) {
        kept[nkept].form = *f;
        kept[nkept++].type = type_make(f);
    }
    return kept[i].type;
}

static void type_put(MPI_Datatype type, int is_fresh)
{
    if (is_fresh)
        MPI_Type_free(&type);
}

/* Where integer i of the stream is. */
static int place_of(const struct form *f, int i)
{
    return i / f->length * f->stride + i % f->length;
}

static int value(int sender, int i)
{
    return (sender * ROUNDS + round_number) * INTS + i;
}

/* ---- what changes ---- */

static const struct form wide = { 4, 128, 2, 4 }, narrow = { 4, 128, 1, 2 }, dense = { 4, 128, 2, 2 };

static void alike(int i, struct message *m)
{
    (void) i;
    m->out = m->in = wide;
}

static void contiguous(int i, struct message *m)
{
    (void) i;
    m->out = m->in = dense;
}

static void alignments(int i, struct message *m)
{
    m->out = m->in = wide;
    m->from_at = i % 3;
    m->to_at = i / 3 % 5;
}

static void counts(int i, struct message *m)
{
    m->out = m->in = wide;
    m->out.count = m->in.count = 2 + i % 2;
}

/* Of two kinds the receiver's datatypes are the same, of two the sender's. */
static void datatypes(int i, struct message *m)
{
    m->is_fresh = round_number % 2;
    m->out = i % 3 ? wide : dense;
    m->in = i % 2 ? wide : dense;
    if (i % 8 == 7) {
        m->out = narrow;
        m->in = narrow;
    }
}

static void memory(int i, struct message *m)
{
    m->out = m->in = wide;
    m->to_second = i % 2;
}

static void short_receives(int i, struct message *m)
{
    m->out = m->in = wide;
    m->is_short = i % 5 == 4;
}

/* ---- a burst ---- */

static void expect(const struct message *m, int i, int *first, int *second)
{
    int *image = m->to_second ? second : first;
    const int base = i * (PART / (int) sizeof(int));
    const int n = (m->in.count - m->is_short) * m->in.n * m->in.length;

    for (int k = 0; k < n; k++)
        image[base + m->to_at + place_of(&m->in, k)] =
            value(other, base + m->from_at + place_of(&m->out, k));
}

static void buffers_fill(int *first, int *second)
{
    static int source[INTS];

    for (int i = 0; i < INTS; i++) {
        source[i] = value(rank, i);
        first[i] = second[i] = POISON;
    }
    mem_write(&from, 0, source, sizeof(source));
    mem_write(&to, 0, first, sizeof(source));
    mem_write(&to_other, 0, second, sizeof(source));
}

/* Each by itself: waiting for all ends with the first error. */
static void wait_for_all(MPI_Request * requests, const struct message *messages)
{
    for (int i = 0; i < 2 * NMESSAGES; i++) {
        const int mpi_errno = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        int class = MPI_SUCCESS;
        if (mpi_errno)
            MPI_Error_class(mpi_errno, &class);
        CHECK(class == (i < NMESSAGES && messages[i].is_short ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
    }
}

/* All messages are sent before any is received, so that their packets come one after another. */
static void burst(choose_fn choose)
{
    static int first[INTS], second[INTS], seen[INTS];
    struct message messages[NMESSAGES];
    MPI_Request requests[2 * NMESSAGES];

    buffers_fill(first, second);
    for (int i = 0; i < NMESSAGES; i++) {
        struct message *m = &messages[i];
        memset(m, 0, sizeof(*m));
        choose(i, m);
        expect(m, i, first, second);
        MPI_Datatype type = type_get(&m->in, m->is_fresh);
        char *part = (m->to_second ? to_other.addr : to.addr) + (size_t) i * PART;
        CHECK_MPI(MPI_Irecv(part + m->to_at * (int) sizeof(int), m->in.count - m->is_short, type, other, i,
                            MPI_COMM_WORLD, &requests[i]));
        type_put(type, m->is_fresh);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < NMESSAGES; i++) {
        const struct message *m = &messages[i];
        MPI_Datatype type = type_get(&m->out, m->is_fresh);
        CHECK_MPI(MPI_Isend(from.addr + (size_t) i * PART + m->from_at * (int) sizeof(int), m->out.count,
                            type, other, i, MPI_COMM_WORLD, &requests[NMESSAGES + i]));
        type_put(type, m->is_fresh);
    }
    usleep(2000);
    wait_for_all(requests, messages);
    mem_read(&to, 0, seen, sizeof(seen));
    report_compare("memory of the receives", seen, first, sizeof(seen));
    mem_read(&to_other, 0, seen, sizeof(seen));
    report_compare("other memory of the receives", seen, second, sizeof(seen));
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static const choose_fn changes[] = {
        alike, contiguous, alignments, counts, datatypes, memory, short_receives
    };
    const int must_join = argc > 1 && strcmp(argv[1], "alike") == 0;
    const int nchanges = must_join ? 2 : (int) (sizeof(changes) / sizeof(changes[0]));
    unsigned long long before;
    int provided;

    report_time_limit(120);
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(rank == 1 && mem_exists(MEM__OTHER_DEVICE));
    mem_alloc(&from, rank == 1 && mem_exists(MEM__OTHER_DEVICE) ? MEM__OTHER_DEVICE : MEM__DEVICE,
              INTS * sizeof(int));
    mem_alloc(&to, from.kind, INTS * sizeof(int));
    mem_alloc(&to_other, strcmp(argc > 1 ? argv[1] : "", "host") == 0 ? MEM__PAGEABLE : from.kind,
              INTS * sizeof(int));
    before = report_variable("gpudt_pulls_joined");
    for (round_number = 0; round_number < ROUNDS; round_number++) {
        for (int i = 0; i < nchanges; i++)
            burst(changes[i]);
    }
    if (must_join)
        CHECK(report_variable("gpudt_pulls_joined") > before);
    for (int i = 0; i < nkept; i++)
        MPI_Type_free(&kept[i].type);
    mem_free(&from);
    mem_free(&to);
    mem_free(&to_other);
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
