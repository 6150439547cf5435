/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The reference implementation that the engine is compared with: the type map of a datatype, read
 * by MPI_Type_get_envelope and MPI_Type_get_contents and walked by plain loops, one primitive after
 * the other. Written to be obviously right; must not know the engine or MPICH's internals. */

#ifndef ORACLE_H_INCLUDED
#define ORACLE_H_INCLUDED

#include "mpi.h"

typedef struct oracle oracle;

/* Called for each primitive of the type map, in order: its displacement from the buffer and its
 * length, both in bytes, and its predefined type. A pair type is two primitives; a real, complex or
 * integer type by precision has no predefined type, and its complex numbers are two primitives. */
typedef void (*oracle_piece_fn) (void *arg, MPI_Aint off, MPI_Aint len, MPI_Datatype basic);

/* Read a datatype; it may be freed afterwards. Returns NULL if a constructor is not known. */
oracle *oracle_create(MPI_Datatype datatype);
void oracle_free(oracle * o);

/* Walk `count` consecutive datatypes. */
void oracle_walk(const oracle * o, MPI_Aint count, oracle_piece_fn piece, void *arg);

/* Bytes packed by `count` datatypes, and the range [lo, hi) of displacements that they cover, 0 and
 * 0 if empty. */
void oracle_span(const oracle * o, MPI_Aint count, MPI_Aint * size, MPI_Aint * lo, MPI_Aint * hi);

/* Pack and unpack bytes [first, first + n) of the stream. `buf` is the argument of MPI calls; only
 * bytes of the type map are read or written. */
void oracle_pack(const oracle * o, const void *buf, MPI_Aint count, MPI_Aint first, MPI_Aint n,
                 void *packed);
void oracle_unpack(const oracle * o, void *buf, MPI_Aint count, MPI_Aint first, MPI_Aint n,
                   const void *packed);

/* 1 if some byte occurs twice in the type map of `count` datatypes: such a type may be sent, not
 * received. -1 when out of memory. */
int oracle_overlaps(const oracle * o, MPI_Aint count);

#endif /* ORACLE_H_INCLUDED */
