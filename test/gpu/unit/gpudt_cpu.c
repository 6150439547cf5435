/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests the executor for host memory: random types and types for each of its loops, random byte
 * ranges and alignments (all ranges of small types), packed and unpacked, against the type map;
 * with the vector instructions of this CPU and without.
 *
 * Usage: gpudt_cpu [types] [first seed]. A failure prints the seed: rerun with "1 seed". */

#include "unit.h"
#include "randtype.h"
#include "cpu/gpudt_cpu.h"
#include "cpu/gpudt_cpu_list.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_SPAN (16 << 20)     /* bytes of a buffer; longer ones are left out */
#define GUARD 64                /* bytes on both sides of each that must not change */
#define ALL_RANGES 40           /* packed bytes up to which all ranges are tested */

static struct rng rng;
static long nranges;

/* One type and count, with memory for it. */
struct sample {
    const char *name;
    struct bytes map;           /* from lo */
    int64_t lo;
    int64_t span;
    bool overlaps;
    struct MPII_Gpudt_serial serial;
    struct MPII_Gpudt_record top;
    char *user, *want, *packed; /* with GUARD bytes before and after */
};

static char value(int64_t i)
{
    return (char) (i * 7 + (i >> 8) * 13 + 1);
}

/* Fill `n` bytes and the guards around them. */
static void fill(char *mem, int64_t n, int more)
{
    for (int64_t i = -GUARD; i < n + GUARD; i++)
        mem[i] = value(i + more);
}

static bool is_filled(const char *mem, int64_t from, int64_t to, int more)
{
    for (int64_t i = from; i < to; i++) {
        if (mem[i] != value(i + more))
            return false;
    }
    return true;
}

static void check_pack(const struct sample *s, int64_t first, int64_t last, int skew)
{
    char *packed = s->packed + skew;
    bool same;

    fill(packed, last - first, 91);
    MPII_Gpudt_cpu_move(&s->serial, &s->top, first, last, s->user - s->lo, packed, false);
    same = is_filled(packed, -GUARD, 0, 91) &&
        is_filled(packed, last - first, last - first + GUARD, 91);
    for (int64_t i = first; i < last && same; i++)
        same = packed[i - first] == s->user[s->map.off[i]];
    if (!same)
        unit_fail("pack of [%lld, %lld) of %lld bytes: %s", (long long) first, (long long) last,
                  (long long) s->map.n, s->name);
}

static void check_unpack(const struct sample *s, int64_t first, int64_t last, int skew)
{
    char *packed = s->packed + skew;
    bool same;

    fill(packed, last - first, 5);
    memcpy(s->want - GUARD, s->user - GUARD, (size_t) (s->span + 2 * GUARD));
    for (int64_t i = first; i < last; i++)
        s->want[s->map.off[i]] = packed[i - first];
    MPII_Gpudt_cpu_move(&s->serial, &s->top, first, last, s->user - s->lo, packed, true);
    same = memcmp(s->want - GUARD, s->user - GUARD, (size_t) (s->span + 2 * GUARD)) == 0;
    if (!same)
        unit_fail("unpack of [%lld, %lld) of %lld bytes: %s", (long long) first, (long long) last,
                  (long long) s->map.n, s->name);
    fill(s->user, s->span, 0);
}

static void check_range(const struct sample *s, int64_t first, int64_t last)
{
    const int skew = (int) rng_range(&rng, 0, 15);

    nranges++;
    MPII_Gpudt_cpu_vectors = rng_chance(&rng, 50);
    check_pack(s, first, last, skew);
    if (!s->overlaps)
        check_unpack(s, first, last, skew);
}

static void check_ranges(const struct sample *s)
{
    const int64_t n = s->map.n;

    check_range(s, 0, n);
    if (n <= ALL_RANGES) {
        for (int64_t first = 0; first <= n; first++) {
            for (int64_t last = first; last <= n; last++)
                check_range(s, first, last);
        }
        return;
    }
    for (int i = 0; i < 12; i++) {
        const int64_t first = rng_range(&rng, 0, n), last = rng_range(&rng, first, n);

        check_range(s, first, last);
        check_range(s, first, rng_range(&rng, first, MPL_MIN(n, first + 40)));
    }
}

static char *mem_alloc(int64_t n)
{
    char *mem = malloc((size_t) n + 2 * GUARD + 16);

    if (mem == NULL)
        abort();
    return mem + GUARD;
}

/* The range of displacements; the map is made to begin at 0. */
static void sample_bound(struct sample *s)
{
    int64_t hi = 0;

    s->lo = s->map.n ? s->map.off[0] : 0;
    for (int64_t i = 0; i < s->map.n; i++) {
        s->lo = MPL_MIN(s->lo, s->map.off[i]);
        hi = i == 0 ? s->map.off[i] + 1 : MPL_MAX(hi, s->map.off[i] + 1);
    }
    for (int64_t i = 0; i < s->map.n; i++)
        s->map.off[i] -= s->lo;
    s->span = s->map.n ? hi - s->lo : 0;
}

static void check_count(MPI_Datatype datatype, int64_t count, const char *name)
{
    struct sample s = {.name = name };
    oracle *o;
    int skew = (int) rng_range(&rng, 0, 15);

    if (!unit_serial(datatype, &s.serial))
        return;
    bytes_from_oracle(&s.map, datatype, count);
    sample_bound(&s);
    o = oracle_create(datatype);
    s.overlaps = oracle_overlaps(o, count) != 0;
    oracle_free(o);
    if (s.span <= MAX_SPAN && MPII_Gpudt_canon_count(&s.serial, count, &s.top) == MPI_SUCCESS) {
        s.user = mem_alloc(s.span) + skew;
        s.want = mem_alloc(s.span);
        s.packed = mem_alloc(s.map.n);
        fill(s.user, s.span, 0);
        check_ranges(&s);
        free(s.user - skew - GUARD);
        free(s.want - GUARD);
        free(s.packed - GUARD);
    }
    bytes_free(&s.map);
    MPII_Gpudt_serial_free(&s.serial);
}

static void check_seed(uint64_t seed)
{
    struct randtype_opts opts = RANDTYPE_OPTS_DEFAULT;
    MPI_Datatype datatype;
    char *text, *name;

    rng_init(&rng, seed);
    opts.tidy = rng_chance(&rng, 60);
    opts.max_span = 1 << 14;
    datatype = randtype_make(&rng, &opts, &text);
    name = malloc(strlen(text) + 64);
    sprintf(name, "seed %llu: %s", (unsigned long long) seed, text);
    check_count(datatype, 1, name);
    check_count(datatype, rng_range(&rng, 2, 20), name);
    randtype_free(&datatype);
    free(text);
    free(name);
}

/* Check a type, and free it. */
static void check_made(MPI_Datatype datatype, int64_t count, const char *what, int a, int b)
{
    char name[80];

    snprintf(name, sizeof(name), "%s, %d, %d", what, a, b);
    check_count(datatype, count, name);
    MPI_Type_free(&datatype);
}

/* Blocks of each size in rows, lists and runs. */
static void check_size(int size)
{
    MPI_Datatype row, type;
    MPI_Aint displ[40];
    int len[40];

    MPI_Type_create_hvector((int) rng_range(&rng, 2, 11), size, 2 * size, MPI_BYTE, &type);
    check_made(type, 1, "row", size, 2 * size);
    MPI_Type_create_hvector(7, size, -size - 3, MPI_BYTE, &row);
    MPI_Type_create_hvector(3, 1, 7 * (size + 3) + 5, row, &type);
    MPI_Type_free(&row);
    check_made(type, 2, "rows of rows", size, 0);
    for (int i = 0; i < 40; i++) {
        displ[i] = (i * 17 % 40) * (3 * size + 1);
        len[i] = 1 + i % 3;
    }
    MPI_Type_create_hindexed_block(40, size, displ, MPI_BYTE, &type);
    check_made(type, 1, "list", size, 0);
    MPI_Type_contiguous(size, MPI_BYTE, &row);
    MPI_Type_create_hindexed(40, len, displ, row, &type);
    check_made(type, 1, "runs", size, 0);
    /* a short list, many times, as entries of a nest */
    MPI_Type_create_hindexed_block(3, size, displ, MPI_BYTE, &type);
    MPI_Type_free(&row);
    MPI_Type_create_resized(type, 0, 120 * size + 61, &row);
    MPI_Type_free(&type);
    check_made(row, 25, "short list, repeated", size, 0);
}

/* An array whose dimensions are packed in another order than memory has. */
static void check_turned(int size, int n)
{
    MPI_Datatype line, plane, type;

    MPI_Type_create_hvector(n, size, n * size + 3, MPI_BYTE, &line);
    MPI_Type_create_hvector(n, 1, size, line, &type);
    check_made(type, 1, "transposition", size, n);
    MPI_Type_create_hvector(5, 1, n * (n * size + 3), line, &plane);
    MPI_Type_create_hvector(n - 1, 1, size, plane, &type);
    check_made(type, 2, "transposition of planes", size, n);
    MPI_Type_create_hvector(n, 1, -size, line, &type);
    check_made(type, 1, "mirrored transposition", size, n);
    MPI_Type_free(&line);
    MPI_Type_free(&plane);
}

/* {double, int, char} with and without a gap inside, one list among the members, many times. */
static void check_struct(void)
{
    const int len[3] = { 1, 1, 1 };
    const MPI_Aint closed[3] = { 0, 8, 12 }, open[3] = { 16, 0, 9 }, at[5] = { 0, 2, 9, 13, 16 };
    const int lens[5] = { 1, 5, 2, 1, 3 };
    MPI_Datatype member[3] = { MPI_DOUBLE, MPI_INT, MPI_CHAR }, type, padded;

    MPI_Type_create_struct(3, len, closed, member, &type);
    MPI_Type_create_resized(type, 0, 16, &padded);
    MPI_Type_free(&type);
    check_made(padded, 1000, "closed struct", 13, 16);
    MPI_Type_create_struct(3, len, open, member, &type);
    check_made(type, 2000, "open struct", 13, 24);
    MPI_Type_create_hindexed(5, lens, at, MPI_CHAR, &member[2]);
    MPI_Type_create_struct(3, len, (MPI_Aint[]) {0, 8, 13}, member, &type);
    MPI_Type_free(&member[2]);
    check_made(type, 700, "struct with a list", 24, 0);
}

/* Every second word of 8 bytes, of which some CPUs pack several at a time. */
static void check_words(int n)
{
    MPI_Datatype row, type;

    MPI_Type_vector(n, 1, 2, MPI_DOUBLE, &row);
    MPI_Type_create_hvector(3, 1, 16 * n + 8, row, &type);
    check_made(row, 1, "words", n, 0);
    check_made(type, 2, "rows of words", n, 0);
}

int main(int argc, char *argv[])
{
    long n = argc > 1 ? atol(argv[1]) : 3000;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;

    MPI_Init(NULL, NULL);
    rng_init(&rng, first);
    for (int size = 1; size <= 140 && argc <= 2; size++)
        check_size(size);
    for (int size = 1; size <= 70 && argc <= 2; size += size < 16 ? 1 : 9) {
        check_turned(size, 9);
        check_turned(size, 37);
    }
    for (int n = 2; n <= 20 && argc <= 2; n++)
        check_words(n);
    if (argc <= 2)
        check_struct();
    for (long i = 0; i < n; i++)
        check_seed(first + (uint64_t) i);
    if (getenv("GPUDT_VERBOSE") || argc > 1)
        fprintf(stderr, "%ld ranges\n", nranges);
    MPI_Finalize();
    return unit_done();
}
