/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests copies from datatype to datatype in host memory, and the same data as an iovec, against the
 * type maps: random types at both ends, and arrays of the same shape at different strides.
 *
 * Usage: gpudt_cpu_pair [pairs] [first seed]. A failure prints the seed: rerun with "1 seed". */

#include "unit.h"
#include "randtype.h"
#include "gpudt_host.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_SPAN (1 << 20)      /* bytes of a buffer; longer ones are left out */
#define USES 20                 /* short packs after which a type has records */
#define MAX_IOV 16

static struct rng rng;
static long npieces;

struct end {
    MPI_Datatype datatype;
    MPI_Aint count, size, lo, span;
    bool overlaps;
    oracle *o;
    char *text, *user;
};

static void fill(char *mem, MPI_Aint n)
{
    for (MPI_Aint i = 0; i < n; i++)
        mem[i] = (char) rng_next(&rng);
}

/* Takes over the datatype and the text. */
static void end_make(struct end *e, MPI_Datatype datatype, MPI_Aint count, char *text)
{
    MPI_Aint hi;

    e->datatype = datatype;
    e->count = count;
    e->text = text;
    e->o = oracle_create(datatype);
    oracle_span(e->o, count, &e->size, &e->lo, &hi);
    e->span = hi - e->lo;
    e->overlaps = oracle_overlaps(e->o, count) != 0;
    e->user = NULL;
    if (e->span <= MAX_SPAN) {
        e->user = malloc((size_t) e->span + 16);
        fill(e->user, e->span);
    }
}

static void end_free(struct end *e)
{
    oracle_free(e->o);
    randtype_free(&e->datatype);
    free(e->text);
    free(e->user);
}

static void end_random(struct end *e)
{
    struct randtype_opts opts = RANDTYPE_OPTS_DEFAULT;
    MPI_Datatype datatype;
    char *text;

    opts.tidy = rng_chance(&rng, 60);
    opts.max_span = 1 << 14;
    datatype = randtype_make(&rng, &opts, &text);
    end_make(e, datatype, rng_range(&rng, 1, 12), text);
}

/* n[0] * n[1] * n[2] blocks of `block` bytes at strides that are drawn; sometimes with the first two
 * levels swapped in memory, and sometimes with the blocks in two parts. */
static void end_box(struct end *e, const int n[3], int block)
{
    const bool is_turned = rng_chance(&rng, 30), is_split = block % 2 == 0 && rng_chance(&rng, 30);
    MPI_Aint step[3];
    MPI_Datatype a, b, c, d;
    char *text = malloc(200);

    step[0] = block + rng_range(&rng, 0, 40);
    step[1] = n[0] * step[0] + rng_range(&rng, 0, 100);
    if (is_turned) {
        step[1] = block + rng_range(&rng, 0, 40);
        step[0] = n[1] * step[1] + rng_range(&rng, 0, 100);
    }
    step[2] = n[0] * n[1] * (block + 40) + 200;
    if (is_split) {
        MPI_Type_create_hvector(2, block / 2, block / 2, MPI_BYTE, &a);
    } else {
        MPI_Type_contiguous(block, MPI_BYTE, &a);
    }
    MPI_Type_create_hvector(n[0], 1, step[0], a, &b);
    MPI_Type_create_hvector(n[1], 1, step[1], b, &c);
    MPI_Type_create_hvector(n[2], 1, step[2], c, &d);
    MPI_Type_commit(&d);
    MPI_Type_free(&a);
    MPI_Type_free(&b);
    MPI_Type_free(&c);
    sprintf(text, "%d of %d of %d blocks of %d bytes at %ld, %ld, %ld", n[2], n[1], n[0], block,
            (long) step[2], (long) step[1], (long) step[0]);
    end_make(e, d, 1, text);
}

static void check_copy(const struct end *from, const struct end *to, uint64_t seed)
{
    const MPI_Aint n = MPL_MIN(from->size, to->size);
    char *packed = malloc((size_t) n + 16), *want = malloc((size_t) to->span + 16);

    memcpy(want, to->user, (size_t) to->span);
    oracle_pack(from->o, from->user - from->lo, from->count, 0, n, packed);
    oracle_unpack(to->o, want - to->lo, to->count, 0, n, packed);
    if (!MPIR_Gpudt_cpu_localcopy(from->user - from->lo, from->count, from->datatype,
                                  to->user - to->lo, to->count, to->datatype, n))
        unit_fail("seed %llu: no copy from %s to %s", (unsigned long long) seed, from->text,
                  to->text);
    else if (memcmp(want, to->user, (size_t) to->span) != 0)
        unit_fail("seed %llu: copy of %ld bytes from %s to %s", (unsigned long long) seed, (long) n,
                  from->text, to->text);
    free(packed);
    free(want);
}

/* Go through the stream by short iovecs of random limits: together they are the packed data, no
 * piece is empty, and none touches the next. */
static void check_iov(const struct end *e, uint64_t seed)
{
    char *packed = malloc((size_t) e->size + 16), *want = malloc((size_t) e->size + 16);
    struct iovec iov[MAX_IOV];
    MPI_Aint pos = 0, at = 0, n, bytes;

    oracle_pack(e->o, e->user - e->lo, e->count, 0, e->size, want);
    while (pos < e->size) {
        const MPI_Aint room = rng_range(&rng, 1, MAX_IOV);
        const MPI_Aint most = rng_chance(&rng, 50) ? e->size - pos :
            MPL_MIN(e->size - pos, rng_range(&rng, 64, 4096));

        npieces++;
        MPIR_Typerep_to_iov(e->user - e->lo, e->count, e->datatype, pos, iov, room, most, &n, &bytes);
        if (n < 1 || n > room || bytes < 1 || bytes > most)
            break;
        for (MPI_Aint i = 0; i < n && at + (MPI_Aint) iov[i].iov_len <= e->size; i++) {
            memcpy(packed + at, iov[i].iov_base, iov[i].iov_len);
            at += (MPI_Aint) iov[i].iov_len;
            if (iov[i].iov_len == 0 ||
                (i > 0 && (char *) iov[i - 1].iov_base + iov[i - 1].iov_len == iov[i].iov_base))
                unit_fail("seed %llu: piece %ld of an iovec: %s", (unsigned long long) seed, (long) i,
                          e->text);
        }
        pos += bytes;
        if (at != pos)
            break;
    }
    if (at != e->size || memcmp(packed, want, (size_t) e->size) != 0)
        unit_fail("seed %llu: iovec, %ld of %ld bytes: %s", (unsigned long long) seed, (long) at,
                  (long) e->size, e->text);
    free(packed);
    free(want);
}

/* Let the types have records. */
static void end_use(const struct end *e)
{
    char *packed = malloc((size_t) e->size + 16);
    MPI_Aint actual;

    for (int i = 0; i < USES; i++)
        MPIR_Typerep_pack_host(e->user - e->lo, e->count, e->datatype, 0, packed, e->size, &actual);
    free(packed);
}

static void check_seed(uint64_t seed)
{
    struct end from, to;
    int dt_contig[2];

    rng_init(&rng, seed);
    if (rng_chance(&rng, 40)) {
        int n[3], swapped[3], block = (int) rng_range(&rng, 1, 5) * 4;

        for (int i = 0; i < 3; i++)
            n[i] = (int) rng_range(&rng, 1, rng_chance(&rng, 20) ? 40 : 6);
        end_box(&from, n, block);
        swapped[0] = n[0] * n[1];
        swapped[1] = n[2];
        swapped[2] = 1;
        end_box(&to, rng_chance(&rng, 30) ? swapped : n, block);
    } else {
        end_random(&from);
        end_random(&to);
    }
    MPIR_Datatype_is_contig(from.datatype, &dt_contig[0]);
    MPIR_Datatype_is_contig(to.datatype, &dt_contig[1]);
    if (from.user && to.user && from.size > 0 && to.size > 0 && !dt_contig[0] && !dt_contig[1]) {
        end_use(&from);
        end_use(&to);
        if (!to.overlaps)
            check_copy(&from, &to, seed);
        check_iov(&from, seed);
    }
    end_free(&from);
    end_free(&to);
}

int main(int argc, char *argv[])
{
    long n = argc > 1 ? atol(argv[1]) : 2000;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;

    MPI_Init(NULL, NULL);
    for (long i = 0; i < n; i++)
        check_seed(first + (uint64_t) i);
    if (getenv("GPUDT_VERBOSE") || argc > 1)
        fprintf(stderr, "%ld iovecs\n", npieces);
    MPI_Finalize();
    return unit_done();
}
