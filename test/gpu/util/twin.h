/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* A buffer in any kind of memory and its twin in pageable host memory. The same call is made on
 * both, and must leave the same bytes: the library's own result on the host is the reference. */

#ifndef TWIN_H_INCLUDED
#define TWIN_H_INCLUDED

#include "gpu.h"

#include "mpi.h"

struct twin {
    struct mem mem, host;
    size_t at;                  /* where in mem the bytes begin that both have */
    size_t sz;                  /* of these bytes */
    unsigned char *image;       /* their next contents, to be filled by the test */
    size_t off;                 /* of the buffer's address from the first; may be outside */
    char *buf[2];               /* the argument of MPI calls: the twin's, the buffer's */
};

/* Allocate both, with guard bytes around them.
 *   lo, hi  (IN)  range of displacements from the buffer's address that calls may access
 *   shift   (IN)  added to an aligned address to be the buffer's; the CPU needs 0 for operands. The
 *                 twin's address is aligned */
void twin_make(struct twin *t, enum mem_kind kind, MPI_Aint lo, MPI_Aint hi, int shift);
void twin_free(struct twin *t);

/* The place of a displacement in the image. */
unsigned char *twin_at(struct twin *t, MPI_Aint displ);
/* Fill the image with random bytes of a seed. */
void twin_scramble(struct twin *t, unsigned seed);
/* Write the image to both. */
void twin_write(struct twin *t);
/* Compare all bytes of both; a difference is counted as a failure. Returns 1 if there is none. */
int twin_check(struct twin *t, const char *what);

#endif /* TWIN_H_INCLUDED */
