/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The constructors of datatypes, as the serializer finds them. */

#ifndef GPUDT_CONSTRUCTORS_H_INCLUDED
#define GPUDT_CONSTRUCTORS_H_INCLUDED

#include "gpudt_builder.h"

/* A constructor's contents, with pointers to its arrays. */
struct MPII_Gpudt_contents {
    int combiner;
    bool large;                 /* made by a large-count function: all numbers are in counts */
    const int *ints;
    const MPI_Aint *aints;
    const MPI_Aint *counts;
    const MPI_Datatype *types;
};

/* An array of ints or of MPI_Aints, depending on the constructor. */
struct MPII_Gpudt_numbers {
    const int *ints;            /* NULL: they are in aints */
    const MPI_Aint *aints;
};

static inline int64_t MPII_Gpudt_number(const struct MPII_Gpudt_numbers *list, int64_t i)
{
    return list->ints ? list->ints[i] : list->aints[i];
}

/* One function for each group of similar constructors. Each appends the records of the whole
 * subtree. */
int MPII_Gpudt_raw_blkindexed(struct MPII_Gpudt_builder *b, const struct MPII_Gpudt_contents *c,
                              int *record);
int MPII_Gpudt_raw_indexed(struct MPII_Gpudt_builder *b, const struct MPII_Gpudt_contents *c,
                           int *record);
int MPII_Gpudt_raw_struct(struct MPII_Gpudt_builder *b, const struct MPII_Gpudt_contents *c,
                          int *record);
int MPII_Gpudt_raw_subarray(struct MPII_Gpudt_builder *b, const struct MPII_Gpudt_contents *c,
                            int *record);
int MPII_Gpudt_raw_darray(struct MPII_Gpudt_builder *b, const struct MPII_Gpudt_contents *c,
                          int *record);

/* A type of two predefined types with C's padding between them, such as MPI_FLOAT_INT. */
int MPII_Gpudt_raw_pair(struct MPII_Gpudt_builder *b, MPI_Datatype datatype, int *record);

/* A type without contents, serialized from its dataloop. */
int MPII_Gpudt_raw_dataloop(struct MPII_Gpudt_builder *b, const MPIR_Datatype * dtp, int *record);

#endif /* GPUDT_CONSTRUCTORS_H_INCLUDED */
