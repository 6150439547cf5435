/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Random operations: a write, which is looked for in the file, and a read, from a file that may end
 * before the data does. Processes have different datatypes and kinds of memory. */

#include "files.h"
#include "randtype.h"

#include <stdio.h>

static long ngpu;               /* buffers in GPU memory */

/* One case, as a process sees it. */
struct trial {
    enum form form;
    struct view view;
    MPI_Aint period;            /* as gaps_check has it */
    MPI_Offset off;             /* where the operations begin, in etypes */
    struct rng own;             /* random numbers of this process; others are the same in all */
};

static enum mem_kind mem_draw(struct rng *rng)
{
    enum mem_kind kind;

    do {
        kind = (enum mem_kind) rng_range(rng, 0, MEM__NKINDS - 1);
    } while (!mem_exists(kind));
    return kind;
}

static MPI_Datatype etype_draw(struct rng *rng, MPI_Aint * size)
{
    static const MPI_Aint sizes[] = { 1, 1, 4, 8, 12 };
    const int which = (int) rng_range(rng, 0, 4);
    MPI_Datatype etype;

    *size = sizes[which];
    if (which < 2)
        return MPI_BYTE;
    if (which == 2)
        return MPI_INT;
    if (which == 3)
        return MPI_DOUBLE;
    MPI_Type_contiguous(3, MPI_INT, &etype);
    MPI_Type_commit(&etype);
    return etype;
}

/* The view of this process; its stream begins behind a gap and shares blocks with the others, or is
 * that of all. */
static void view_draw(struct rng *rng, struct trial *t)
{
    struct view *v = &t->view;
    const bool is_contig = rng_chance(rng, 35);
    MPI_Datatype block;
    MPI_Aint lb, extent;

    v->etype = etype_draw(rng, &v->esize);
    v->is_external = v->esize == 4 && rng_chance(rng, 50);
    v->disp = rng_range(rng, 0, 100);
    v->block = rng_range(rng, 1, 20);
    t->period = is_shared(t->form) ? v->block : v->block * nranks;
    v->stride = t->period + rng_range(rng, 1, 9);
    if (is_contig) {
        v->filetype = v->etype;
        v->stride = v->block = 1 << 20;
        t->period = 0;
    } else {
        MPI_Type_get_extent(v->etype, &lb, &extent);
        MPI_Type_contiguous((int) v->block, v->etype, &block);
        MPI_Type_create_resized(block, 0, v->stride * extent, &v->filetype);
        MPI_Type_commit(&v->filetype);
        MPI_Type_free(&block);
    }
    if (!is_shared(t->form))
        v->disp += rank * (is_contig ? 200000 : v->block) * v->esize;
}

static void view_free(struct view *v)
{
    if (v->filetype != v->etype)
        MPI_Type_free(&v->filetype);
    if (v->esize == 12)
        MPI_Type_free(&v->etype);
}

/* Ints of a buffer that begins before, at, or behind its address. */
static MPI_Datatype ints_draw(struct rng *rng, bool may_begin_anywhere)
{
    const int n = (int) rng_range(rng, 1, 60) * 3;
    MPI_Datatype type, vector;

    MPI_Type_vector(n, 2, rng_chance(rng, 50) ? 2 : 3, MPI_INT, &type);
    if (may_begin_anywhere && rng_chance(rng, 50)) {
        MPI_Aint lb, extent, displ = (MPI_Aint) rng_range(rng, 0, 8) * 4 - 16;

        vector = type;
        MPI_Type_create_hindexed_block(1, 1, &displ, vector, &type);
        MPI_Type_free(&vector);
        vector = type;
        MPI_Type_get_extent(vector, &lb, &extent);
        MPI_Type_create_resized(vector, lb, extent + (MPI_Aint) rng_range(rng, 0, 3) * 4, &type);
        MPI_Type_free(&vector);
    }
    return type;
}

/* A buffer whose data is whole etypes. */
static void side_draw(struct trial *t, struct side *s, MPI_Datatype * type)
{
    struct randtype_opts opts = { 5, 3000, 1 << 14, 1, 0 };
    struct rng *rng = &t->own;
    const enum mem_kind kind = mem_draw(rng);
    const int shift = (int) rng_range(rng, 0, 3) * 4;
    int count = (int) rng_range(rng, 1, 6), size;
    MPI_Datatype inner;

    /* for host memory ROMIO flattens the datatype, which it cannot for all of them */
    if (t->view.is_external || !mem_is_gpu(kind) || rng_chance(rng, 30)) {
        *type = ints_draw(rng, t->view.is_external || mem_is_gpu(kind));
    } else {
        inner = randtype_make(rng, &opts, NULL);
        MPI_Type_size(inner, &size);
        if (size == 0) {
            randtype_free(&inner);
            inner = MPI_CHAR;
        }
        /* side by side, so that no byte occurs twice */
        MPI_Aint displ[24], lb, extent;
        MPI_Type_get_true_extent(inner, &lb, &extent);
        for (int i = 0; i < 24; i++)
            displ[i] = i * (extent + 5);
        MPI_Type_create_hindexed_block(24, 1, displ, inner, type);
        randtype_free(&inner);
        count = 1;
    }
    MPI_Type_commit(type);
    side_make(s, kind, *type, count, shift);
    ngpu += mem_is_gpu(kind);
    CHECK(s->size % t->view.esize == 0);
}

/* An operation on a side, at MPI_BOTTOM or not. Returns the bytes by the status. */
static MPI_Count side_call(struct trial *t, bool is_read, struct side *s)
{
    const bool is_bottom = rng_chance(&t->own, 20);
    MPI_Datatype all, absolute;
    MPI_Count got;

    seek(t->form, t->off);
    if (!is_bottom) {
        CHECK_MPI(call(t->form, is_read, t->off, s->buf, (int) s->count, s->type, &got));
        return got;
    }
    MPI_Type_contiguous((int) s->count, s->type, &all);
    absolute = randtype_absolute(all, s->buf);
    CHECK_MPI(call(t->form, is_read, t->off, MPI_BOTTOM, 1, absolute, &got));
    MPI_Type_free(&all);
    MPI_Type_free(&absolute);
    return got;
}

/* Where a stream begins: behind those of lower ranks, if they share a pointer. */
static MPI_Offset begin_of(const struct trial *t, MPI_Aint n)
{
    long long mine = n, sum = 0;

    MPI_Exscan(&mine, &sum, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    return t->off * t->view.esize + (is_shared(t->form) && rank > 0 ? sum : 0);
}

/* The end of the file, if all processes write n bytes from there. */
static MPI_Offset end_of(const struct trial *t, MPI_Offset begin, MPI_Aint n)
{
    long long mine = place(&t->view, begin + n - 1) + 1, most;

    MPI_Allreduce(&mine, &most, 1, MPI_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

/* The individual pointer after n bytes. */
static void position_check(const struct trial *t, MPI_Aint n)
{
    MPI_Offset at;

    if (is_individual(t->form)) {
        CHECK_MPI(MPI_File_get_position(file, &at));
        CHECK(at == t->off + n / t->view.esize);
    }
}

static void write_check(struct trial *t, struct side *out, unsigned mark)
{
    const MPI_Offset begin = begin_of(t, out->size), sz = end_of(t, begin, out->size);
    MPI_Count got;

    file_fill(sz);
    side_fill(out, mark);
    got = side_call(t, false, out);
    if (got != out->size)
        report_fail("%s: %ld bytes written, the status has %ld", forms[t->form], (long) out->size,
                    (long) got);
    side_check(out, "a buffer that was written from", mark, out->size);
    position_check(t, out->size);
    MPI_Barrier(MPI_COMM_WORLD);
    file_check(&t->view, begin, mark, out->size, forms[t->form]);
    gaps_check(sz, &t->view, t->period);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void read_check(struct trial *t, struct rng *rng, struct side *in, unsigned mark)
{
    const struct view *v = &t->view;
    const MPI_Offset begin = begin_of(t, in->size), end = end_of(t, begin, in->size);
    const MPI_Offset sz = rng_chance(rng, 50) ? rng_range(rng, 0, end) : end;
    MPI_Aint expected = 0;
    MPI_Count got;

    file_fill(end);
    file_put(v, begin, mark, in->size);
    file_cut(sz);
    while (expected < in->size && place(v, begin + expected) < sz)
        expected++;
    if (v->filetype != v->etype)
        expected = expected / v->esize * v->esize;

    side_clear(in, mark);
    got = side_call(t, true, in);
    /* the drivers' reads to host memory deliver more than there is, unless all is contiguous */
    if (expected == in->size || mem_is_gpu(in->mem.kind) || v->is_external) {
        if (got != expected)
            report_fail("%s: %ld bytes of %ld read, the status has %ld", forms[t->form],
                        (long) expected, (long) in->size, (long) got);
        /* a part of a number cannot be converted */
        side_check(in, "a buffer that was read to", mark,
                   v->is_external ? expected / 4 * 4 : expected);
    }
    if (expected == in->size)
        position_check(t, in->size);
}

/* Open the file, with a way to do collective operations. */
static void open_somehow(struct rng *rng)
{
    static const char *const ways[] = { "automatic", "enable", "disable" };
    const char *way = ways[rng_range(rng, 0, 2)];
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_read", way);
    MPI_Info_set(info, "romio_cb_write", way);
    file_open(MPI_MODE_RDWR, info);
    MPI_Info_free(&info);
}

static void case_run(uint64_t seed, long nth)
{
    struct trial t;
    struct rng rng;
    struct side out, in;
    MPI_Datatype out_type, in_type;
    const unsigned mark = (unsigned) (seed + nth) * 64 + rank * 2;
    const int failures = report_failures;

    rng_init(&rng, seed * 1000003 + nth);
    rng_init(&t.own, (seed * 1000003 + nth) * 64 + rank + 1);
    t.form = (enum form) rng_range(&rng, 0, NFORMS - 1);
    t.off = rng_range(&rng, 0, 30);
    view_draw(&rng, &t);
    side_draw(&t, &out, &out_type);
    side_draw(&t, &in, &in_type);

    open_somehow(&rng);
    CHECK_MPI(MPI_File_set_view(file, t.view.disp, t.view.etype, t.view.filetype,
                                t.view.is_external ? "external32" : rng_chance(&rng, 50) ? "native" :
                                "internal", MPI_INFO_NULL));
    CHECK_MPI(MPI_File_set_atomicity(file, rng_chance(&rng, 20)));
    write_check(&t, &out, mark);
    read_check(&t, &rng, &in, mark + 1);
    if (report_failures != failures)
        fprintf(stderr, "... rank %d: %s, etype of %ld bytes, %s%s, from %s to %s memory; again: "
                "files %llu 1 %ld\n", rank, forms[t.form], (long) t.view.esize,
                t.view.filetype == t.view.etype ? "contiguous" : "strided",
                t.view.is_external ? ", external32" : "", mem_name(out.mem.kind),
                mem_name(in.mem.kind), (unsigned long long) seed, nth);

    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_MPI(MPI_File_close(&file));
    side_free(&out);
    side_free(&in);
    MPI_Type_free(&out_type);
    MPI_Type_free(&in_type);
    view_free(&t.view);
}

void random_cases(uint64_t seed, long cases, long first)
{
    for (long i = first; i < first + cases; i++)
        case_run(seed, i);
    CHECK(ngpu > 0 || cases < 10);
}
