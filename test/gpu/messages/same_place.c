/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that plans which are kept for the next message of the same kind are used for no other:
 * messages between the same two buffers, while counts, offsets (by half of the widest unit, and by one)
 * and datatypes change, and with datatypes that are freed so that others take their place. Datatypes have
 * the same size, extent and outer stride, and differ inside. From process to process and from each to
 * itself; two processes. */

#include "gpu.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

#define BLOCKS 8                /* of each datatype, of one integer */
#define EXTENT 64               /* integers */
#define MOST 40                 /* datatypes of a message */
#define INTS ((MOST + 1) * EXTENT)
#define ROUNDS 60
#define INNER 5                 /* more than the largest distance of blocks */
#define POISON (-1)

static int rank, other;
static struct mem from, to;

/* A datatype whose blocks are `inner` integers apart. */
static MPI_Datatype type_make(int inner)
{
    MPI_Datatype vector, type;

    MPI_Type_vector(BLOCKS, 1, inner, MPI_INT, &vector);
    MPI_Type_create_resized(vector, 0, EXTENT * (MPI_Aint) sizeof(int), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&vector);
    return type;
}

static MPI_Datatype kept[INNER];

/* The same, made for a single message or kept for later ones. */
static MPI_Datatype type_of(int inner, int is_kept)
{
    if (!is_kept)
        return type_make(inner);
    if (kept[inner] == MPI_DATATYPE_NULL)
        kept[inner] = type_make(inner);
    return kept[inner];
}

static int value(int round, int i)
{
    return round * INTS + i;
}

/* What a message does, in each process. */
struct round {
    int round, n, shift;        /* shift: integers that the buffers begin after the allocations */
    int inner_from, inner_to;
};

static void buffers_fill(const struct round *r)
{
    static int source[INTS], poison[INTS];

    for (int i = 0; i < INTS; i++) {
        source[i] = value(r->round, i);
        poison[i] = POISON;
    }
    mem_write(&from, 0, source, sizeof(source));
    mem_write(&to, 0, poison, sizeof(poison));
}

static void buffer_check(const struct round *r, const char *what)
{
    static int seen[INTS], expected[INTS];

    for (int i = 0; i < INTS; i++)
        expected[i] = POISON;
    for (int k = 0; k < r->n * BLOCKS; k++) {
        const int base = r->shift + k / BLOCKS * EXTENT;
        expected[base + k % BLOCKS * r->inner_to] =
            value(r->round, base + k % BLOCKS * r->inner_from);
    }
    mem_read(&to, 0, seen, sizeof(seen));
    report_compare(what, seen, expected, sizeof(seen));
}

static void run(const struct round *r, int is_own, int is_kept)
{
    MPI_Datatype out = type_of(r->inner_from, is_kept), in = type_of(r->inner_to, is_kept);
    char *source = from.addr + r->shift * sizeof(int), *target = to.addr + r->shift * sizeof(int);
    const int peer = is_own ? rank : other;

    buffers_fill(r);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_MPI(MPI_Sendrecv(source, r->n, out, peer, 0, target, r->n, in, peer, 0, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE));
    buffer_check(r, is_own ? "a buffer of a message to itself" : "a buffer of a message");
    MPI_Barrier(MPI_COMM_WORLD);
    if (!is_kept) {
        MPI_Type_free(&out);
        MPI_Type_free(&in);
    }
}

int main(void)
{
    report_time_limit(120);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(rank == 1 && mem_exists(MEM__OTHER_DEVICE));
    mem_alloc(&from, rank == 1 && mem_exists(MEM__OTHER_DEVICE) ? MEM__OTHER_DEVICE : MEM__DEVICE,
              INTS * sizeof(int));
    mem_alloc(&to, from.kind, INTS * sizeof(int));
    for (int i = 0; i < INNER; i++)
        kept[i] = MPI_DATATYPE_NULL;
    for (int i = 0; i < 4 * ROUNDS; i++) {
        /* Of three rounds with the same datatypes the second may have another offset or count */
        const struct round r = {
            .round = i,.n = i / 7 % 3 ? MOST : MOST - 3,.shift = i / 10 % 3 * 2,
            .inner_from = 2 + i / 3 % 3,.inner_to = 3 + i / 9 % 2
        };
        run(&r, i / ROUNDS % 2, i / ROUNDS < 2);
    }
    for (int i = 0; i < INNER; i++) {
        if (kept[i] != MPI_DATATYPE_NULL)
            MPI_Type_free(&kept[i]);
    }
    mem_free(&from);
    mem_free(&to);
    MPI_Finalize();
    return report_done();
}
