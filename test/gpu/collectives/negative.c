/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Reductions of datatypes with a negative extent, whose elements lie one below the other, in host and
 * GPU memory. What each process gives is known to all, so that the results are computed by loops. */

#include "collectives.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

#define N 5                     /* elements, or of each block */
#define SZ 12                   /* bytes of an element: 8, and 4 after a gap of 2 */
#define UNTOUCHED 0xee

static int rank, nprocs;

/* An element, and memory for nprocs * N of them: displacements are from the buffer's address. */
struct layout {
    MPI_Aint displ, extent;
    MPI_Datatype type;
    MPI_Aint lo, hi;
};

static struct layout layout;    /* of the calls that are being made */
static int commutes;            /* whether their operation does */

static void layout_make(struct layout *l, MPI_Aint displ, MPI_Aint extent)
{
    const MPI_Aint displs[] = { displ, displ + 10 };
    const int lengths[] = { 8, 4 };
    MPI_Datatype type;

    MPI_Type_create_hindexed(2, lengths, displs, MPI_BYTE, &type);
    MPI_Type_create_resized(type, displ, extent, &l->type);
    MPI_Type_commit(&l->type);
    MPI_Type_free(&type);
    l->displ = displ;
    l->extent = extent;
    l->lo = displ + (nprocs * N - 1) * extent;
    l->hi = displ + 14;
}

/* The displacement of byte k of element e. */
static MPI_Aint displ_of(const struct layout *l, int e, int k)
{
    return l->displ + e * l->extent + k + (k < 8 ? 0 : 2);
}

static MPI_Aint place_of(const struct layout *l, int e, int k)
{
    return displ_of(l, e, k) - l->lo;
}

/* An operation that commutes, for which MPICH has other algorithms than for op_affine. */
static void op_xor(void *in, void *inout, int *len, MPI_Datatype * type)
{
    (void) type;
    for (int i = 0; i < *len * SZ; i++) {
        MPI_Aint at = displ_of(&layout, i / SZ, i % SZ);
        ((unsigned char *) inout)[at] ^= ((const unsigned char *) in)[at];
    }
}

static unsigned char given(int process, int e, int k)
{
    return (unsigned char) (37 * process + 11 * e + 5 * k + 3);
}

/* The operands of processes 0 to last, from left to right, as op_xor or op_affine combines them. */
static unsigned char combined(int last, int e, int k)
{
    unsigned f = given(0, e, k);

    for (int i = 1; commutes && i <= last; i++)
        f ^= given(i, e, k);
    for (int i = 1; !commutes && i <= last; i++) {
        unsigned g = given(i, e, k);
        unsigned high = (f >> 4) * (g >> 4), low = (f >> 4) * (g & 15) + (f & 15);
        f = (high & 15) << 4 | (low & 15);
    }
    return (unsigned char) f;
}

/* Whether a process gets a result, of which elements by which processes. */
static int has_result(const struct call *c, int *first_element, int *last_process)
{
    *first_element = 0;
    *last_process = nprocs - 1;
    switch (c->what) {
        case CALL__reduce:
            return rank == c->root;
        case CALL__scan:
            *last_process = rank;
            return 1;
        case CALL__exscan:
            *last_process = rank - 1;
            return rank > 0;
        case CALL__reduce_scatter:
        case CALL__reduce_scatter_block:
            *first_element = rank * N;
            return 1;
        default:
            return 1;
    }
}

static void result_check(const struct call *c, const struct layout *l, const char *name,
                         struct mem *to)
{
    const size_t sz = (size_t) (l->hi - l->lo);
    unsigned char *seen = malloc(sz), *expected = malloc(sz);
    int first, last;

    memset(expected, UNTOUCHED, sz);
    if (has_result(c, &first, &last)) {
        for (int i = 0; i < N * SZ; i++)
            expected[place_of(l, i / SZ, i % SZ)] = combined(last, first + i / SZ, i % SZ);
    }
    mem_read(to, 0, seen, sz);
    if (!report_compare(name, seen, expected, sz))
        report_fail("... %s, mode %d, extent %ld", name, c->mode, (long) l->extent);
    free(seen);
    free(expected);
}

static void call_run(enum what what, enum mode mode, MPI_Op op, const struct layout *l,
                     enum mem_kind kind)
{
    const size_t sz = (size_t) (l->hi - l->lo);
    int is_scatter = what == CALL__reduce_scatter || what == CALL__reduce_scatter_block;
    unsigned char *image = malloc(sz);
    struct call c = {.what = what,.mode = mode,.comm = MPI_COMM_WORLD,.root = nprocs - 1,.op = op };
    MPI_Request request = MPI_REQUEST_NULL;
    struct mem from, to;

    c.send.type[0] = c.recv.type[0] = l->type;
    c.send.count[0] = is_scatter ? nprocs * N : N;
    c.recv.count[0] = N;
    for (int i = 0; i < nprocs; i++)
        c.counts[i] = N;
    mem_alloc(&from, kind, sz);
    mem_alloc(&to, kind, sz);
    memset(image, UNTOUCHED, sz);
    mem_write(&to, 0, image, sz);
    for (int i = 0; i < nprocs * N * SZ; i++)
        image[place_of(l, i / SZ, i % SZ)] = given(rank, i / SZ, i % SZ);
    mem_write(&from, 0, image, sz);
    CHECK_MPI(call_start(&c, (char *) from.addr - l->lo, (char *) to.addr - l->lo, &request));
    if (mode == MODE__PERSISTENT)
        CHECK_MPI(MPI_Start(&request));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    result_check(&c, l, call_name(what), &to);
    if (mode == MODE__PERSISTENT)
        MPI_Request_free(&request);
    mem_free(&from);
    mem_free(&to);
    free(image);
}

void negative_run(void)
{
    static const struct {
        MPI_Aint displ, extent;
    } layouts[] = { {0, -14}, {48, -16}, {-40, -72} };
    MPI_Op op[2];

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    MPI_Op_create(op_affine, 0, &op[0]);
    MPI_Op_create(op_xor, 1, &op[1]);
    for (int i = 0; i < 3 * 2 * MODE__NMODES * 2; i++) {
        layout_make(&layout, layouts[i % 3].displ, layouts[i % 3].extent);
        commutes = i / 3 % 2;
        for (int what = CALL__NMOVING; what < CALL__NCALLS; what++)
            call_run((enum what) what, (enum mode) (i / 6 % MODE__NMODES), op[commutes], &layout,
                     i / 6 < MODE__NMODES ? MEM__PAGEABLE : MEM__DEVICE);
        MPI_Type_free(&layout.type);
    }
    MPI_Op_free(&op[0]);
    MPI_Op_free(&op[1]);
}
