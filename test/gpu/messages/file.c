/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* MPI-IO from and to any kind of memory: random datatypes, views and representations with every
 * form of the calls. What a call writes is compared with the file as the operating system shows it,
 * and what it reads with bytes that were written to the file without MPI. Any number of processes.
 *
 *     file [SEED [CASES [FIRST]]]    a case does not depend on those before it
 *     file errors                    calls that must fail, or do nothing
 *     file faults                    each driver call fails once; emulated driver only
 *
 * The file is in a new folder in TMPDIR. */

#include "randtype.h"
#include "report.h"
#include "side.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_CALLS 40            /* driver calls of an operation that fail */
#define CODE 999                /* CUDA_ERROR_UNKNOWN */
#define GAP 0xA5                /* a byte of the file that no process writes */

enum form {
    AT, INDIVIDUAL, SHARED, ORDERED, AT_ALL, ALL, SPLIT_AT_ALL, SPLIT_ALL, SPLIT_ORDERED,
    I_AT, I_INDIVIDUAL, I_SHARED, I_AT_ALL, I_ALL, NFORMS
};

static const char *const forms[] = {
    "at", "individual", "shared", "ordered", "at_all", "all", "at_all_begin", "all_begin",
    "ordered_begin", "iat", "iindividual", "ishared", "iat_all", "iall"
};

/* The view of a process: blocks of etypes, in a file contiguous if the stride is the block. */
struct view {
    MPI_Datatype etype, filetype;
    MPI_Offset disp;
    MPI_Aint esize, block, stride;      /* bytes of an etype; etypes of a block, and from one to the
                                         * next */
    bool is_external;
};

static int rank, nranks, fd;
static char folder[256], path[300];
static MPI_File file;
static long ngpu;

static bool is_shared(enum form form)
{
    return form == SHARED || form == I_SHARED || form == ORDERED || form == SPLIT_ORDERED;
}

static bool is_individual(enum form form)
{
    return form == INDIVIDUAL || form == ALL || form == SPLIT_ALL || form == I_INDIVIDUAL ||
        form == I_ALL;
}

/* ---- the file ---- */

static void folder_make(void)
{
    const char *tmp = getenv("TMPDIR");

    if (rank == 0) {
        snprintf(folder, sizeof(folder), "%s/gpudt-file-XXXXXX", tmp ? tmp : "/tmp");
        if (mkdtemp(folder) == NULL)
            perror(folder), exit(1);
    }
    MPI_Bcast(folder, sizeof(folder), MPI_CHAR, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof(path), "%s/file", folder);
    if (rank == 0)
        close(open(path, O_RDWR | O_CREAT, 0600));
    MPI_Barrier(MPI_COMM_WORLD);
    fd = open(path, O_RDWR);
    if (fd < 0)
        perror(path), exit(1);
}

static void folder_remove(void)
{
    close(fd);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        unlink(path);
        if (rmdir(folder))
            perror(folder), report_failures++;
    }
}

/* Where byte i of a process's stream is in the file. */
static MPI_Offset place(const struct view *v, MPI_Offset i)
{
    const MPI_Offset e = i / v->esize;

    return v->disp + (e / v->block * v->stride + e % v->block) * v->esize + i % v->esize;
}

/* Position i of the stream has this byte of the message: ints have the opposite order of bytes in
 * an external32 file. */
static MPI_Aint turned(const struct view *v, MPI_Aint i)
{
    return v->is_external ? i / 4 * 4 + 3 - i % 4 : i;
}

static void file_fill(MPI_Offset sz)
{
    char *gap = malloc(sz);

    memset(gap, GAP, sz);
    if (rank == 0) {
        CHECK(ftruncate(fd, 0) == 0);
        CHECK(pwrite(fd, gap, sz, 0) == sz);
    }
    free(gap);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void file_put(const struct view *v, MPI_Offset begin, unsigned seed, MPI_Aint n)
{
    for (MPI_Aint i = 0; i < n; i++) {
        unsigned char byte = side_byte(seed, turned(v, i));
        CHECK(pwrite(fd, &byte, 1, place(v, begin + i)) == 1);
    }
}

/* All bytes of the file that this process may write: its stream, and what is between. */
static void file_check(const struct view *v, MPI_Offset begin, unsigned seed, MPI_Aint n,
                       const char *what)
{
    MPI_Offset sz = place(v, begin + n - 1) + 1, low = place(v, begin);
    unsigned char *seen = malloc(sz - low), *expected = malloc(sz - low);

    CHECK(pread(fd, seen, sz - low, low) == sz - low);
    memcpy(expected, seen, sz - low);
    for (MPI_Aint i = 0; i < n; i++)
        expected[place(v, begin + i) - low] = side_byte(seed, turned(v, i));
    report_compare(what, seen, expected, sz - low);
    free(seen);
    free(expected);
}

/* Bytes that no process's view has. */
static void gaps_check(MPI_Offset sz, const struct view *v, MPI_Aint period)
{
    unsigned char *seen = malloc(sz);

    if (period * v->esize > 0 && rank == 0) {
        CHECK(pread(fd, seen, sz, 0) == sz);
        for (MPI_Offset i = v->disp; i < sz; i++) {
            if ((i - v->disp) / v->esize % v->stride >= period && seen[i] != GAP) {
                report_fail("byte %lld of the file, which is in no view, was written",
                            (long long) i);
                break;
            }
        }
    }
    free(seen);
}

/* ---- calls ---- */

/* One form of write or read. Shared pointers are moved by one process after the other.
 *   got  (OUT)  bytes by the status */
static int call(enum form form, bool is_read, MPI_Offset off, void *buf, int n, MPI_Datatype type,
                MPI_Count * got)
{
    MPI_Status status;
    MPI_Request request = MPI_REQUEST_NULL;
    int err = MPI_SUCCESS, end = MPI_SUCCESS;

    memset(&status, 0, sizeof(status));
    for (int turn = 0; turn < nranks; turn++) {
        const bool in_turn = form == SHARED || form == I_SHARED;

        if (in_turn)
            MPI_Barrier(MPI_COMM_WORLD);
        if (turn != (in_turn ? rank : 0))
            continue;
#define DO(read_, write_) err = is_read ? read_ : write_
        switch (form) {
            case AT:
                DO(MPI_File_read_at(file, off, buf, n, type, &status),
                   MPI_File_write_at(file, off, buf, n, type, &status));
                break;
            case INDIVIDUAL:
                DO(MPI_File_read(file, buf, n, type, &status),
                   MPI_File_write(file, buf, n, type, &status));
                break;
            case SHARED:
                DO(MPI_File_read_shared(file, buf, n, type, &status),
                   MPI_File_write_shared(file, buf, n, type, &status));
                break;
            case ORDERED:
                DO(MPI_File_read_ordered(file, buf, n, type, &status),
                   MPI_File_write_ordered(file, buf, n, type, &status));
                break;
            case AT_ALL:
                DO(MPI_File_read_at_all(file, off, buf, n, type, &status),
                   MPI_File_write_at_all(file, off, buf, n, type, &status));
                break;
            case ALL:
                DO(MPI_File_read_all(file, buf, n, type, &status),
                   MPI_File_write_all(file, buf, n, type, &status));
                break;
            case SPLIT_AT_ALL:
                DO(MPI_File_read_at_all_begin(file, off, buf, n, type),
                   MPI_File_write_at_all_begin(file, off, buf, n, type));
                end = is_read ? MPI_File_read_at_all_end(file, buf, &status) :
                    MPI_File_write_at_all_end(file, buf, &status);
                break;
            case SPLIT_ALL:
                DO(MPI_File_read_all_begin(file, buf, n, type),
                   MPI_File_write_all_begin(file, buf, n, type));
                end = is_read ? MPI_File_read_all_end(file, buf, &status) :
                    MPI_File_write_all_end(file, buf, &status);
                break;
            case SPLIT_ORDERED:
                DO(MPI_File_read_ordered_begin(file, buf, n, type),
                   MPI_File_write_ordered_begin(file, buf, n, type));
                end = is_read ? MPI_File_read_ordered_end(file, buf, &status) :
                    MPI_File_write_ordered_end(file, buf, &status);
                break;
            case I_AT:
                DO(MPI_File_iread_at(file, off, buf, n, type, &request),
                   MPI_File_iwrite_at(file, off, buf, n, type, &request));
                break;
            case I_INDIVIDUAL:
                DO(MPI_File_iread(file, buf, n, type, &request),
                   MPI_File_iwrite(file, buf, n, type, &request));
                break;
            case I_SHARED:
                DO(MPI_File_iread_shared(file, buf, n, type, &request),
                   MPI_File_iwrite_shared(file, buf, n, type, &request));
                break;
            case I_AT_ALL:
                DO(MPI_File_iread_at_all(file, off, buf, n, type, &request),
                   MPI_File_iwrite_at_all(file, off, buf, n, type, &request));
                break;
            default:
                DO(MPI_File_iread_all(file, buf, n, type, &request),
                   MPI_File_iwrite_all(file, buf, n, type, &request));
        }
#undef DO
    }
    if (request != MPI_REQUEST_NULL) {
        /* a nonblocking collective may not keep its process from sending messages */
        MPI_Barrier(MPI_COMM_WORLD);
        end = MPI_Wait(&request, &status);
    } else if (form >= I_AT) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (err == MPI_SUCCESS)
        err = end;
    *got = -1;
    if (err == MPI_SUCCESS)
        MPI_Get_elements_x(&status, MPI_BYTE, got);
    return err;
}

/* ---- random cases ---- */

static enum mem_kind mem_draw(struct rng *rng)
{
    enum mem_kind kind;

    do {
        kind = (enum mem_kind) rng_range(rng, 0, MEM__NKINDS - 1);
    } while (!mem_exists(kind));
    return kind;
}

/* The view of this process; its stream begins behind a gap and shares blocks with the others, or is
 * that of all. */
static void view_draw(struct rng *rng, enum form form, struct view *v, MPI_Aint * period)
{
    static const MPI_Aint sizes[] = { 1, 1, 4, 8, 12 };
    const int which = (int) rng_range(rng, 0, 4);
    const bool is_contig = rng_chance(rng, 35);
    MPI_Datatype block;
    MPI_Aint lb, extent;

    v->is_external = false;
    v->esize = sizes[which];
    if (which < 2)
        v->etype = MPI_BYTE;
    else if (which == 2)
        v->etype = MPI_INT;
    else if (which == 3)
        v->etype = MPI_DOUBLE;
    else
        MPI_Type_contiguous(3, MPI_INT, &v->etype), MPI_Type_commit(&v->etype);
    v->disp = rng_range(rng, 0, 100);
    v->block = rng_range(rng, 1, 20);
    *period = is_shared(form) ? v->block : v->block * nranks;
    v->stride = *period + rng_range(rng, 1, 9);
    if (is_contig) {
        v->filetype = v->etype;
        v->stride = v->block = 1 << 20;
        *period = 0;
    } else {
        MPI_Type_get_extent(v->etype, &lb, &extent);
        MPI_Type_contiguous((int) v->block, v->etype, &block);
        MPI_Type_create_resized(block, 0, v->stride * extent, &v->filetype);
        MPI_Type_commit(&v->filetype);
        MPI_Type_free(&block);
    }
}

static void view_free(struct view *v)
{
    if (v->filetype != v->etype)
        MPI_Type_free(&v->filetype);
    if (v->esize == 12)
        MPI_Type_free(&v->etype);
}

/* A buffer whose data is whole etypes. */
static void side_draw(struct rng *rng, const struct view *v, struct side *s, MPI_Datatype * type)
{
    struct randtype_opts opts = { 5, 3000, 1 << 14, 1, 0 };
    const enum mem_kind kind = mem_draw(rng);
    const int shift = (int) rng_range(rng, 0, 3) * 4;
    int count = (int) rng_range(rng, 1, 6), size;
    MPI_Datatype inner;

    /* for host memory ROMIO flattens the datatype, which it cannot for all of them */
    if (v->is_external || !mem_is_gpu(kind) || rng_chance(rng, 30)) {
        MPI_Type_vector((int) rng_range(rng, 1, 60) * 3, 2, rng_chance(rng, 50) ? 2 : 3, MPI_INT, type);
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
    CHECK(s->size % v->esize == 0);
}

/* The arguments of a call for a side, at MPI_BOTTOM or not. */
static int side_call(enum form form, bool is_read, MPI_Offset off, struct side *s, bool is_bottom,
                     MPI_Count * got)
{
    MPI_Datatype all, absolute;
    int err;

    if (!is_bottom)
        return call(form, is_read, off, s->buf, (int) s->count, s->type, got);
    MPI_Type_contiguous((int) s->count, s->type, &all);
    absolute = randtype_absolute(all, s->buf);
    err = call(form, is_read, off, MPI_BOTTOM, 1, absolute, got);
    MPI_Type_free(&all);
    MPI_Type_free(&absolute);
    return err;
}

/* Set pointers, so that the operation begins at etype off. */
static void seek(enum form form, MPI_Offset off)
{
    if (is_individual(form))
        CHECK_MPI(MPI_File_seek(file, off, MPI_SEEK_SET));
    if (is_shared(form))
        CHECK_MPI(MPI_File_seek_shared(file, off, MPI_SEEK_SET));
}

/* Bytes of the streams of lower ranks, if they share a pointer. */
static MPI_Offset before(enum form form, MPI_Aint n)
{
    long long mine = n, sum = 0;

    MPI_Exscan(&mine, &sum, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    return is_shared(form) && rank > 0 ? sum : 0;
}

static MPI_Offset most_of(MPI_Offset mine)
{
    long long n = mine, most;

    MPI_Allreduce(&n, &most, 1, MPI_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

static void case_run(uint64_t seed, long nth)
{
    struct rng rng, own;
    struct view v;
    struct side out, in;
    MPI_Datatype out_type, in_type;
    enum form form;
    MPI_Aint period, expected;
    MPI_Offset off, begin, sz, at;
    MPI_Count got;
    const unsigned mark = (unsigned) (seed + nth) * 64 + rank * 2;
    const int failures = report_failures;
    bool is_short;
    char what[80];
    int err;

    rng_init(&rng, seed * 1000003 + nth);
    rng_init(&own, (seed * 1000003 + nth) * 64 + rank + 1);
    form = (enum form) rng_range(&rng, 0, NFORMS - 1);
    view_draw(&rng, form, &v, &period);
    v.is_external = v.esize == 4 && form < I_AT && rng_chance(&rng, 40);
    if (!is_shared(form))
        v.disp += v.filetype == v.etype ? rank * (200000 * v.esize) : rank * v.block * v.esize;
    off = rng_range(&rng, 0, 30);
    side_draw(&own, &v, &out, &out_type);
    side_draw(&own, &v, &in, &in_type);
    snprintf(what, sizeof(what), "%s", forms[form]);

    begin = off * v.esize + before(form, out.size);
    sz = most_of(place(&v, begin + out.size - 1) + 1);
    file_fill(sz);
    CHECK_MPI(MPI_File_set_view(file, v.disp, v.etype, v.filetype,
                                v.is_external ? "external32" : rng_chance(&rng, 50) ? "native" :
                                "internal", MPI_INFO_NULL));
    CHECK_MPI(MPI_File_set_atomicity(file, rng_chance(&rng, 20)));

    side_fill(&out, mark);
    seek(form, off);
    /* the conversion to external32 refuses MPI_BOTTOM */
    err = side_call(form, false, off, &out, !v.is_external && rng_chance(&own, 20), &got);
    CHECK_MPI(err);
    if (got != out.size)
        report_fail("%s: %ld bytes written, the status has %ld", what, (long) out.size, (long) got);
    side_check(&out, "a buffer that was written from", mark, out.size);
    if (is_individual(form)) {
        CHECK_MPI(MPI_File_get_position(file, &at));
        CHECK(at == off + out.size / v.esize);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    file_check(&v, begin, mark, out.size, what);
    gaps_check(sz, &v, period);
    MPI_Barrier(MPI_COMM_WORLD);

    /* a file that may end before the data does */
    begin = off * v.esize + before(form, in.size);
    sz = most_of(place(&v, begin + in.size - 1) + 1);
    file_fill(sz);
    file_put(&v, begin, mark + 1, in.size);
    is_short = !v.is_external && rng_chance(&rng, 50);
    sz = is_short ? rng_range(&rng, 0, sz) : sz;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        CHECK(ftruncate(fd, sz) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    for (expected = 0; expected < in.size && place(&v, begin + expected) < sz; expected++);
    if (v.filetype != v.etype)
        expected = expected / v.esize * v.esize;

    side_clear(&in, mark + 1);
    seek(form, off);
    err = side_call(form, true, off, &in, !v.is_external && rng_chance(&own, 20), &got);
    CHECK_MPI(err);
    /* the drivers' reads to host memory deliver more than there is, unless all is contiguous */
    if (expected == in.size || mem_is_gpu(in.mem.kind)) {
        if (got != expected)
            report_fail("%s: %ld bytes of %ld read, the status has %ld", what, (long) expected,
                        (long) in.size, (long) got);
        side_check(&in, "a buffer that was read to", mark + 1, expected);
    }
    if (is_individual(form) && expected == in.size) {
        CHECK_MPI(MPI_File_get_position(file, &at));
        CHECK(at == off + in.size / v.esize);
    }
    if (report_failures != failures)
        fprintf(stderr, "... rank %d: %s, etype of %ld bytes, %s%s, from %s to %s memory; again: "
                "file %llu 1 %ld\n", rank, what, (long) v.esize,
                v.filetype == v.etype ? "contiguous" : "strided",
                v.is_external ? ", external32" : "", mem_name(out.mem.kind),
                mem_name(in.mem.kind), (unsigned long long) seed, nth);

    MPI_Barrier(MPI_COMM_WORLD);
    side_free(&out);
    side_free(&in);
    MPI_Type_free(&out_type);
    MPI_Type_free(&in_type);
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    view_free(&v);
}

static void file_open(int amode)
{
    CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &file));
    MPI_File_set_errhandler(file, MPI_ERRORS_RETURN);
}

/* ---- errors ---- */

static void expect(int err, int class, const char *what)
{
    int seen = MPI_SUCCESS;

    MPI_Error_class(err, &seen);
    if (seen != class)
        report_fail("%s: error class %d, expected %d: %s", what, seen, class, report_mpi_text(err));
}

static void errors(void)
{
    struct side s;
    MPI_Count got;

    side_make(&s, MEM__DEVICE, MPI_INT, 1000, 0);
    for (int form = 0; form < NFORMS; form++) {
        file_open(MPI_MODE_RDONLY);
        file_fill(100);
        side_clear(&s, 1);
        /* split calls whose begin fails cannot be ended, others check a count of 0, too */
        if (form < SPLIT_AT_ALL && form != ORDERED && form != SHARED)
            expect(call(form, false, 0, s.buf, 1000, MPI_INT, &got), MPI_ERR_READ_ONLY,
                   "a write to a file that is open for reading");
        CHECK_MPI(call(form, true, 0, s.buf, 0, MPI_INT, &got));
        CHECK(got == 0);
        if (form < SPLIT_AT_ALL)
            CHECK(call(form, true, 0, s.buf, -1, MPI_INT, &got) != MPI_SUCCESS);
        side_check(&s, "a buffer that nothing was read to", 1, 0);
        CHECK_MPI(MPI_File_close(&file));
        if (form < SPLIT_AT_ALL && form != ORDERED && form != SHARED) {
            file_open(MPI_MODE_WRONLY);
            CHECK(call(form, true, 0, s.buf, 1000, MPI_INT, &got) != MPI_SUCCESS);
            side_check(&s, "a buffer that nothing was read to", 1, 0);
            CHECK_MPI(MPI_File_close(&file));
        }
    }
    side_free(&s);
}

/* ---- faults ---- */

/* Calls of a form while one driver call fails in the last process. Returns whether there are that
 * many. */
static bool fault(enum form form, bool is_read, struct side *s, long at)
{
    MPI_Count got;
    int err, fired = 0, victim = nranks - 1;
    const MPI_Offset off = is_shared(form) ? 0 : rank * s->size;

    MPI_Barrier(MPI_COMM_WORLD);
    if (is_read)
        side_clear(s, 7);
    else
        side_fill(s, 7);
    seek(form, off);
    if (rank == victim && at)
        gpu.emu_fail_set(NULL, at, CODE, 1);
    err = call(form, is_read, off, s->buf, (int) s->count, s->type, &got);
    if (rank == victim && at) {
        fired = gpu.emu_failed_count() > 0;
        gpu.emu_fail_set(NULL, 0, 0, 1);
    }
    if (err && (rank != victim || !fired))
        report_fail("%s, call %ld: an error without a fault: %s", forms[form], at,
                    report_mpi_text(err));
    if (err && strstr(report_mpi_text(err), "CUDA") == NULL)
        report_fail("%s, call %ld: the error does not name the driver's: %s", forms[form], at,
                    report_mpi_text(err));
    if (err == MPI_SUCCESS && !is_read && !is_shared(form)) {
        struct view v = {.esize = 1,.block = 1 << 30,.stride = 1 << 30 };
        file_check(&v, off, 7, s->size, forms[form]);
    }
    if (err == MPI_SUCCESS && is_read && !is_shared(form) && at == 0)
        side_check(s, forms[form], 7, s->size);
    MPI_Bcast(&fired, 1, MPI_INT, victim, MPI_COMM_WORLD);
    return fired;
}

static void faults(void)
{
    struct side s;
    MPI_Datatype vector;

    MPI_Type_vector(500, 1, 3, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    side_make(&s, MEM__DEVICE, vector, 3, 0);
    file_open(MPI_MODE_RDWR);
    for (int form = 0; form < NFORMS; form++) {
        for (int is_read = 0; is_read < 2; is_read++) {
            long at = 1;

            file_fill(2 * nranks * s.size);
            fault(form, false, &s, 0);
            while (at <= MAX_CALLS && fault(form, is_read, &s, at))
                at++;
            CHECK(at > 1);
            fault(form, false, &s, 0);
            fault(form, true, &s, 0);
        }
    }
    CHECK_MPI(MPI_File_close(&file));
    side_free(&s);
    MPI_Type_free(&vector);
}

int main(int argc, char **argv)
{
    const bool is_random = argc < 2 || strspn(argv[1], "0123456789") == strlen(argv[1]);
    const uint64_t seed = argc > 1 && is_random ? strtoull(argv[1], NULL, 10) : 1;
    const long cases = argc > 2 ? atol(argv[2]) : 100, first = argc > 3 ? atol(argv[3]) : 0;

    report_time_limit(600);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    folder_make();
    if (is_random) {
        file_open(MPI_MODE_RDWR);
        for (long i = first; i < first + cases; i++)
            case_run(seed, i);
        CHECK_MPI(MPI_File_close(&file));
        CHECK(ngpu > 0 || cases < 10);
    } else if (strcmp(argv[1], "errors") == 0) {
        errors();
    } else {
        CHECK(gpu.is_emulated);
        faults();
    }
    folder_remove();
    MPI_Finalize();
    return report_done();
}
