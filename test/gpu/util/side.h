/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* One end of a message: a buffer of any kind of memory with a datatype, whose right contents are
 * known at both ends from a seed. Bytes that are not the message's are watched. */

#ifndef SIDE_H_INCLUDED
#define SIDE_H_INCLUDED

#include "gpu.h"
#include "oracle.h"

struct side {
    struct mem mem;
    MPI_Datatype type;          /* the caller's; outlives the side */
    MPI_Aint count;
    oracle *map;
    MPI_Aint size;              /* bytes of the message */
    char *buf;                  /* what MPI is given */
    size_t buf_off;             /* where that is in the memory; may be outside of it */
    unsigned char *shadow;      /* what the memory holds, or should hold after a receive */
};

/* Make a side with memory for count datatypes, committed and without bytes that occur twice.
 *   shift  (IN)  bytes by which the lowest byte is moved from an aligned address */
void side_make(struct side *s, enum mem_kind kind, MPI_Datatype type, MPI_Aint count, int shift);
void side_free(struct side *s);

/* Put a message's bytes into a buffer to be sent, and others around them. */
void side_fill(struct side *s, unsigned seed);
/* Put bytes into a buffer to be received into such that each is changed by the message. */
void side_clear(struct side *s, unsigned seed);
/* Compare the whole memory with what it should be after n bytes of a message came in: the rest of
 * the buffer as side_clear or side_fill left it. Differences are counted. Returns 1 if there are
 * none. */
int side_check(struct side *s, const char *what, unsigned seed, MPI_Aint n);

/* Byte i of the message of a seed. */
unsigned char side_byte(unsigned seed, MPI_Aint i);

#endif /* SIDE_H_INCLUDED */
