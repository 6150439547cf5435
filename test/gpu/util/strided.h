/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* A transfer whose result is known without the oracle, for tests of other aspects than datatypes: a
 * vector of ints, each followed by a gap, and the packed ints. Uses MPI only. */

#ifndef STRIDED_H_INCLUDED
#define STRIDED_H_INCLUDED

#include "mpi.h"

#include "gpu.h"

struct strided {
    struct mem user, packed;
    int n;                      /* ints */
    int is_irregular;
    MPI_Datatype type;          /* n ints, about 12 bytes apart */
    MPI_Comm comm;              /* for MPI_Pack; MPI_COMM_SELF unless changed */
    unsigned seed;              /* of the current contents */
};

/* Irregular: a list of displacements in no order, which the engine uploads to the GPU. */
void strided_make(struct strided *s, enum mem_kind user, enum mem_kind packed, int n,
                  int is_irregular);
/* Displacement of an int. */
size_t strided_place(int i, int is_irregular);
void strided_free(struct strided *s);
/* For memory that is already freed: frees the datatype only. */
void strided_forget(struct strided *s);

/* Write new data to the source of a transfer, and other values everywhere else. */
void strided_fill_user(struct strided *s);
void strided_fill_packed(struct strided *s);

/* MPI_Pack and MPI_Unpack of all of it. Return MPI's error code. */
int strided_pack(struct strided *s);
int strided_unpack(struct strided *s);

/* Compare both sides, including gaps, after a transfer; differences are counted as failures. Return
 * 1 if there are none. */
int strided_check_packed(struct strided *s);
int strided_check_unpacked(struct strided *s);

/* All of the above, once in each direction; failures are counted. Returns 1 if there is none. */
int strided_both_ways(struct strided *s);

#endif /* STRIDED_H_INCLUDED */
