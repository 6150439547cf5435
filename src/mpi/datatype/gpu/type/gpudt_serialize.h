/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * What the files of the serializer share. Must not know canonical records.
 */

#ifndef GPUDT_SERIALIZE_H_INCLUDED
#define GPUDT_SERIALIZE_H_INCLUDED

#include "mpiimpl.h"
#include "gpudt_error.h"
#include "gpudt_type.h"

/* Slots of the table below that need no heap allocation; a power of two. */
#define MPII_GPUDT_MEMO_INLINE 8

struct MPII_Gpudt_memo_slot {
    MPI_Datatype datatype;      /* MPI_DATATYPE_NULL: free */
    int record;
};

/* One serialization under way. The table remembers the record of every datatype met, so that a
 * struct of a thousand members of one type, or structs of structs, take no more records than there
 * are different datatypes. */
struct MPII_Gpudt_builder {
    struct MPII_Gpudt_raw *raw;
    int nesting;
    int memo_used;
    int memo_slots;             /* a power of two */
    struct MPII_Gpudt_memo_slot *memo;
    struct MPII_Gpudt_memo_slot inline_memo[MPII_GPUDT_MEMO_INLINE];
};

/* A constructor's contents with the place of each array found. */
struct MPII_Gpudt_contents {
    int combiner;
    bool large;                 /* made by a large-count function: all numbers are in counts */
    const int *ints;
    const MPI_Aint *aints;
    const MPI_Aint *counts;
    const MPI_Datatype *types;
};

/* An array of ints or of MPI_Aints: constructors keep the one or the other. */
struct MPII_Gpudt_numbers {
    const int *ints;            /* NULL: they are in aints */
    const MPI_Aint *aints;
};

static inline int64_t MPII_Gpudt_number(const struct MPII_Gpudt_numbers *list, int64_t i)
{
    return list->ints ? list->ints[i] : list->aints[i];
}

/* Append a record, cleared but for its kind. Pointers to records are void afterwards.
 *   record  (OUT)  its index */
int MPII_Gpudt_raw_new_record(struct MPII_Gpudt_raw *raw, int kind, int *record);

/* Append room for lists. Pointers into the lookaside area are void afterwards.
 *   n           (IN)   entries of 8 bytes, not cleared
 *   lookaside   (OUT)  its byte offset */
int MPII_Gpudt_raw_new_lists(struct MPII_Gpudt_raw *raw, int64_t n, int64_t * lookaside);

/* Serialize a datatype inside the one under way.
 *   record  (OUT)  index of its record, new or met before */
int MPII_Gpudt_raw_type(struct MPII_Gpudt_builder *b, MPI_Datatype datatype, int *record);

/* Set the child of a record, the sizes that follow from it, and nothing else.
 *   nchildren  (IN)  children in the whole node */
int MPII_Gpudt_raw_set_child(struct MPII_Gpudt_raw *raw, int record, int child, int64_t nchildren);

/* Serialize a type and make it the only child of a record, which has nchildren of it. */
int MPII_Gpudt_raw_add_child(struct MPII_Gpudt_builder *b, int record, MPI_Datatype datatype,
                             int64_t nchildren);

/* Primitives in the node of a record. */
int64_t MPII_Gpudt_raw_elements(const struct MPII_Gpudt_raw_record *rec);

/* The constructors, by what they have in common. Each appends the records of the whole subtree. */
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

/* A type of two predefined types with C's padding between them, MPI_FLOAT_INT and so on. */
int MPII_Gpudt_raw_pair(struct MPII_Gpudt_builder *b, MPI_Datatype datatype, int *record);

/* A type without contents, from its dataloop. */
int MPII_Gpudt_raw_dataloop(struct MPII_Gpudt_builder *b, const MPIR_Datatype * dtp, int *record);

static inline struct MPII_Gpudt_raw_record *MPII_Gpudt_raw_at(struct MPII_Gpudt_raw *raw, int record)
{
    return &raw->records[record];
}

static inline int64_t *MPII_Gpudt_raw_lists(struct MPII_Gpudt_raw *raw, int64_t lookaside)
{
    return (int64_t *) (void *) (raw->lookaside + lookaside);
}

#endif /* GPUDT_SERIALIZE_H_INCLUDED */
