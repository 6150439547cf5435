/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* One end of a message: a buffer in any kind of memory with a datatype. Both ends compute the
 * expected contents from a seed. Bytes outside the message are checked, too. */

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
    char *buf;                  /* argument of MPI calls */
    size_t buf_off;             /* its offset in the memory; may be outside of it */
    unsigned char *shadow;      /* expected contents of the memory */
};

/* Make a side with memory for count datatypes, committed and without bytes that occur twice.
 *   shift  (IN)  offset of the lowest byte from an aligned address */
void side_make(struct side *s, enum mem_kind kind, MPI_Datatype type, MPI_Aint count, int shift);
void side_free(struct side *s);

/* Fill a send buffer with the message of a seed, and with other bytes around it. */
void side_fill(struct side *s, unsigned seed);
/* Fill a receive buffer with bytes that all differ from those of the message. */
void side_clear(struct side *s, unsigned seed);
/* Compare the whole memory with its expected contents after n bytes of a message were received: all
 * other bytes as side_clear or side_fill left them. Differences are counted. Returns 1 if there are
 * none. */
int side_check(struct side *s, const char *what, unsigned seed, MPI_Aint n);
/* The same without counting. */
int side_is_received(struct side *s, unsigned seed, MPI_Aint n);

/* Byte i of the message of a seed. */
unsigned char side_byte(unsigned seed, MPI_Aint i);

#endif /* SIDE_H_INCLUDED */
