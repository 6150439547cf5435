/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests packing and unpacking of host memory in pieces by the records: the bytes are those of the
 * type map, and each piece ends where the release's engine ends it. (That engine moves other bytes
 * for some types when it starts in the middle, also some outside of the buffer.)
 *
 * Usage: gpudt_cpu_pack [types] [first seed]. A failure prints the seed: rerun with "1 seed". */

#include "unit.h"
#include "randtype.h"
#include "gpudt_host.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_SPAN (4 << 20)      /* bytes of a buffer; longer ones are left out */
#define STRAY (64 << 10)        /* bytes around a buffer that the release's engine may touch */
#define USES 20                 /* short packs after which a type has records */
#define MAX_ELEMENT 64          /* bytes that are enough for one of any predefined type */

static struct rng rng;
static long npieces;

/* A buffer that the type map fits in. */
struct sample {
    const char *name;
    MPI_Datatype datatype;
    MPI_Aint count, size;
    MPI_Aint lo, span;
    bool overlaps;
    char *user[2];              /* for each engine, and packed data likewise */
    char *packed[2];
    char *want_user, *want_packed;      /* by the type map */
};

static void engine_set(int release)
{
    MPIR_CVAR_GPUDT_HOST_ENGINE =
        release ? MPIR_CVAR_GPUDT_HOST_ENGINE_release : MPIR_CVAR_GPUDT_HOST_ENGINE_records;
}

/* Pack or unpack a piece by both engines. Returns the bytes moved, -1 if they differ. */
static MPI_Aint piece_move(const struct sample *s, MPI_Aint pos, MPI_Aint most, bool unpack)
{
    MPI_Aint actual[2];

    if (unpack)
        most = MPL_MIN(most, s->size - pos);    /* as all callers do */
    for (int e = 0; e < 2; e++) {
        char *user = s->user[e] - s->lo;

        engine_set(e);
        if (unpack)
            MPIR_Typerep_unpack_host(s->packed[e] + pos, most, user, s->count, s->datatype, pos,
                                     &actual[e]);
        else
            MPIR_Typerep_pack_host(user, s->count, s->datatype, pos, s->packed[e] + pos, most,
                                   &actual[e]);
    }
    engine_set(0);
    npieces++;
    if (actual[0] != actual[1])
        unit_fail("%s of at most %ld from %ld of %ld bytes: %ld, release %ld: %s",
                  unpack ? "unpack" : "pack", (long) most, (long) pos, (long) s->size,
                  (long) actual[0], (long) actual[1], s->name);
    return actual[0] == actual[1] ? actual[0] : -1;
}

/* Go through the stream in random pieces, each from where the last one ended. */
static void pieces_move(const struct sample *s, bool unpack)
{
    MPI_Aint pos = 0, moved, step = rng_range(&rng, 1, 1 + s->size / 3);

    while (pos < s->size) {
        moved = piece_move(s, pos, rng_range(&rng, 1, 16 + step), unpack);
        if (moved < 0)
            return;
        if (moved == 0)
            moved = piece_move(s, pos, MAX_ELEMENT, unpack);
        if (moved <= 0) {
            unit_fail("no progress from %ld: %s", (long) pos, s->name);
            return;
        }
        pos += moved;
    }
    if (memcmp(s->packed[0], s->want_packed, (size_t) s->size) != 0 ||
        memcmp(s->user[0], s->want_user, (size_t) s->span) != 0)
        unit_fail("%s in pieces: other bytes than the type map's: %s", unpack ? "unpack" : "pack",
                  s->name);
}

static void fill(char *mem, MPI_Aint n)
{
    for (MPI_Aint i = 0; i < n; i++)
        mem[i] = (char) rng_next(&rng);
}

static void check_sample(struct sample *s, const oracle * o)
{
    MPI_Aint actual;

    s->want_user = malloc((size_t) s->span + 16);
    s->want_packed = calloc(1, (size_t) s->size + 16);

    for (int e = 0; e < 2; e++) {
        s->user[e] = (char *) malloc((size_t) s->span + 2 * STRAY) + STRAY;
        s->packed[e] = calloc(1, (size_t) s->size + 16);
    }
    fill(s->user[0], s->span);
    memcpy(s->user[1], s->user[0], (size_t) s->span);
    memcpy(s->want_user, s->user[0], (size_t) s->span);
    oracle_pack(o, s->user[0] - s->lo, s->count, 0, s->size, s->want_packed);
    for (int i = 0; i < USES; i++)
        MPIR_Typerep_pack_host(s->user[0] - s->lo, s->count, s->datatype, 0, s->packed[0],
                               s->size, &actual);
    if (actual != s->size)
        unit_fail("pack of %ld of %ld bytes: %s", (long) actual, (long) s->size, s->name);
    memset(s->packed[0], 0, (size_t) s->size);
    pieces_move(s, false);
    fill(s->packed[0], s->size);
    memcpy(s->packed[1], s->packed[0], (size_t) s->size);
    memcpy(s->want_packed, s->packed[0], (size_t) s->size);
    oracle_unpack(o, s->want_user - s->lo, s->count, 0, s->size, s->want_packed);
    if (!s->overlaps)
        pieces_move(s, true);
    for (int e = 0; e < 2; e++) {
        free(s->user[e] - STRAY);
        free(s->packed[e]);
    }
    free(s->want_user);
    free(s->want_packed);
}

static void check_seed(uint64_t seed)
{
    struct randtype_opts opts = RANDTYPE_OPTS_DEFAULT;
    struct sample s;
    MPI_Aint hi;
    oracle *o;
    char *text, *name;

    rng_init(&rng, seed);
    opts.tidy = rng_chance(&rng, 60);
    opts.max_span = 1 << 16;
    s.datatype = randtype_make(&rng, &opts, &text);
    name = malloc(strlen(text) + 64);
    sprintf(name, "seed %llu: %s", (unsigned long long) seed, text);
    s.name = name;
    s.count = rng_range(&rng, 1, 12);
    o = oracle_create(s.datatype);
    oracle_span(o, s.count, &s.size, &s.lo, &hi);
    s.span = hi - s.lo;
    s.overlaps = oracle_overlaps(o, s.count) != 0;
    if (s.span <= MAX_SPAN && s.size > 0)
        check_sample(&s, o);
    oracle_free(o);
    randtype_free(&s.datatype);
    free(text);
    free(name);
}

/* Long ranges, with odd beginnings and ends on both sides. */
static void check_long(MPI_Datatype type, const char *name)
{
    MPI_Aint size, lo, hi, actual;
    oracle *o = oracle_create(type);
    char *user, *packed, *want;

    MPI_Type_commit(&type);
    oracle_span(o, 1, &size, &lo, &hi);
    user = malloc((size_t) (hi - lo));
    packed = malloc((size_t) size + 200);
    want = malloc((size_t) size + 200);
    fill(user, hi - lo);
    for (int i = 0; i < 6; i++) {
        const MPI_Aint skew = i == 0 ? 0 : rng_range(&rng, 0, 100);
        const MPI_Aint first = i < 2 ? 0 : rng_range(&rng, 0, size / 20);
        const MPI_Aint n = i < 3 ? size - first : rng_range(&rng, size - size / 10 - first, size - first);

        fill(packed, size + 200);
        memcpy(want, packed, (size_t) size + 200);
        MPIR_Typerep_pack_host(user - lo, 1, type, first, packed + skew, n, &actual);
        oracle_pack(o, user - lo, 1, first, actual, want + skew);
        if (actual > n || actual <= n - MAX_ELEMENT ||
            memcmp(packed, want, (size_t) size + 200) != 0)
            unit_fail("long %s: %ld of %ld bytes from %ld", name, (long) actual, (long) n,
                      (long) first);
    }
    free(user);
    free(packed);
    free(want);
    oracle_free(o);
    MPI_Type_free(&type);
}

static void check_longs(void)
{
    const int n = 400000, len[3] = { 1, 1, 1 };
    const MPI_Aint displ[3] = { 0, 8, 12 };
    MPI_Datatype member[3] = { MPI_DOUBLE, MPI_INT, MPI_CHAR }, type, inner;
    int *lens = malloc(n * sizeof(int)), *displs = malloc(n * sizeof(int));

    MPI_Type_vector(700000, 1, 2, MPI_DOUBLE, &type);
    check_long(type, "vector");
    MPI_Type_create_struct(3, len, displ, member, &inner);
    MPI_Type_create_resized(inner, 0, 16, &member[0]);
    MPI_Type_contiguous(n, member[0], &type);
    check_long(type, "struct");
    MPI_Type_free(&inner);
    MPI_Type_free(&member[0]);
    for (int i = 0, at = 0; i < n; i++) {
        lens[i] = (int) rng_range(&rng, 1, 5);
        displs[i] = at;
        at += lens[i] + (int) rng_range(&rng, 1, 3);
    }
    MPI_Type_indexed(n, lens, displs, MPI_INT, &type);
    check_long(type, "list");
    MPI_Type_vector(900, 1, 900, MPI_DOUBLE, &inner);
    MPI_Type_create_hvector(900, 1, 8, inner, &type);
    check_long(type, "transposition");
    MPI_Type_free(&inner);
    free(lens);
    free(displs);
}

int main(int argc, char *argv[])
{
    long n = argc > 1 ? atol(argv[1]) : 1000;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;

    MPI_Init(NULL, NULL);
    rng_init(&rng, first);
    if (argc <= 2)
        check_longs();
    for (long i = 0; i < n; i++)
        check_seed(first + (uint64_t) i);
    if (getenv("GPUDT_VERBOSE") || argc > 1)
        fprintf(stderr, "%ld pieces\n", npieces);
    MPI_Finalize();
    return unit_done();
}
