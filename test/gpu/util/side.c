/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* See side.h. */

#include "side.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

#define MARGIN 256              /* guard bytes on either side */

unsigned char side_byte(unsigned seed, MPI_Aint i)
{
    uint64_t x = ((uint64_t) seed << 32 ^ (uint64_t) i) * UINT64_C(0x9e3779b97f4a7c15);

    return (unsigned char) (x >> 56);
}

void side_make(struct side *s, enum mem_kind kind, MPI_Datatype type, MPI_Aint count, int shift)
{
    MPI_Aint lo, hi;
    size_t sz;

    memset(s, 0, sizeof(*s));
    s->type = type;
    s->count = count;
    s->map = oracle_create(type);
    if (s->map == NULL) {
        report_fail("the oracle does not know the datatype");
        exit(report_done());
    }
    oracle_span(s->map, count, &s->size, &lo, &hi);
    sz = (size_t) (hi - lo) + 2 * MARGIN + shift;
    mem_alloc(&s->mem, kind, sz);
    s->buf_off = (size_t) (MARGIN + shift) - (size_t) lo;
    s->buf = (char *) ((uintptr_t) s->mem.addr + s->buf_off);
    s->shadow = malloc(s->mem.sz);
}

void side_free(struct side *s)
{
    oracle_free(s->map);
    mem_free(&s->mem);
    free(s->shadow);
}

/* Set the shadow's first n bytes of the message to those of the seed, each XORed with flip. */
static void shadow_put(struct side *s, unsigned seed, MPI_Aint n, int flip)
{
    unsigned char *stream = malloc(n ? n : 1);

    for (MPI_Aint i = 0; i < n; i++)
        stream[i] = side_byte(seed, i) ^ flip;
    oracle_unpack(s->map, (void *) ((uintptr_t) s->shadow + s->buf_off), s->count, 0, n, stream);
    free(stream);
}

static void put(struct side *s, unsigned seed, int flip)
{
    for (size_t i = 0; i < s->mem.sz; i++)
        s->shadow[i] = side_byte(~seed, (MPI_Aint) i);
    shadow_put(s, seed, s->size, flip);
    mem_write(&s->mem, 0, s->shadow, s->mem.sz);
}

void side_fill(struct side *s, unsigned seed)
{
    put(s, seed, 0);
}

void side_clear(struct side *s, unsigned seed)
{
    put(s, seed, 0x5a);
}

/* The whole memory, to be freed. */
static unsigned char *seen_make(struct side *s)
{
    unsigned char *seen = malloc(s->mem.sz);

    mem_read(&s->mem, 0, seen, s->mem.sz);
    return seen;
}

int side_is_received(struct side *s, unsigned seed, MPI_Aint n)
{
    unsigned char *seen = seen_make(s);
    int ok;

    shadow_put(s, seed, n, 0);
    ok = memcmp(seen, s->shadow, s->mem.sz) == 0;
    free(seen);
    return ok;
}

int side_check(struct side *s, const char *what, unsigned seed, MPI_Aint n)
{
    unsigned char *seen = seen_make(s);
    int ok;

    shadow_put(s, seed, n, 0);
    ok = report_compare(what, seen, s->shadow, s->mem.sz);
    free(seen);
    return ok;
}
