/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* See twin.h. */

#include "twin.h"
#include "report.h"
#include "side.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MARGIN 256              /* guard bytes on either side */
#define ALIGNMENT 16            /* of the twin's address */

void twin_make(struct twin *t, enum mem_kind kind, MPI_Aint lo, MPI_Aint hi, int shift)
{
    const MPI_Aint pad = (lo % ALIGNMENT + ALIGNMENT) % ALIGNMENT;

    t->sz = (size_t) (hi - lo) + 2 * MARGIN + pad;
    t->at = shift;
    mem_alloc(&t->mem, kind, t->sz + shift);
    mem_alloc(&t->host, MEM__PAGEABLE, t->sz);
    t->image = malloc(t->sz);
    t->off = (size_t) (MARGIN + pad) - (size_t) lo;
    t->buf[0] = (char *) ((uintptr_t) t->host.addr + t->off);
    t->buf[1] = (char *) ((uintptr_t) t->mem.addr + t->at + t->off);
}

void twin_free(struct twin *t)
{
    mem_free(&t->mem);
    mem_free(&t->host);
    free(t->image);
}

unsigned char *twin_at(struct twin *t, MPI_Aint displ)
{
    return (unsigned char *) ((uintptr_t) t->image + t->off + (uintptr_t) displ);
}

void twin_scramble(struct twin *t, unsigned seed)
{
    for (size_t i = 0; i < t->sz; i++)
        t->image[i] = side_byte(seed, (MPI_Aint) i);
}

void twin_write(struct twin *t)
{
    mem_write(&t->mem, t->at, t->image, t->sz);
    mem_write(&t->host, 0, t->image, t->sz);
}

int twin_check(struct twin *t, const char *what)
{
    unsigned char *seen = malloc(t->sz), *expected = malloc(t->sz);
    int ok;

    mem_read(&t->mem, t->at, seen, t->sz);
    mem_read(&t->host, 0, expected, t->sz);
    ok = report_compare(what, seen, expected, t->sz);
    free(seen);
    free(expected);
    return ok;
}
