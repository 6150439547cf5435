/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Raw records that are being built while a datatype is serialized. Must not know constructors or
 * canonical records. */

#ifndef GPUDT_BUILDER_H_INCLUDED
#define GPUDT_BUILDER_H_INCLUDED

#include "mpiimpl.h"
#include "gpudt_raw.h"

/* Levels of nested constructors that serialization accepts. Bounds the stack; far beyond the 16
 * levels that the CPU engine can pack. */
#define MPII_GPUDT_MAX_NESTING 256

/* Slots of the table below that need no heap allocation; a power of two. */
#define MPII_GPUDT_MEMO_INLINE 8

struct MPII_Gpudt_memo_slot {
    MPI_Datatype datatype;      /* MPI_DATATYPE_NULL: free */
    int record;
};

struct MPII_Gpudt_builder;
typedef int (*MPII_Gpudt_type_fn) (struct MPII_Gpudt_builder * b, MPI_Datatype datatype,
                                   int *record);

/* The state of one serialization. The table remembers the record of every datatype met: a struct of
 * a thousand members of one type, or a struct of structs, takes only as many records as there are
 * different datatypes. */
struct MPII_Gpudt_builder {
    struct MPII_Gpudt_raw *raw;
    MPII_Gpudt_type_fn type_fn;
    int nesting;
    int memo_used;
    int memo_slots;             /* a power of two */
    struct MPII_Gpudt_memo_slot *memo;
    struct MPII_Gpudt_memo_slot inline_memo[MPII_GPUDT_MEMO_INLINE];
};

/* Start with empty raw records.
 *   type_fn  (IN)  serializes a nested datatype; called recursively by the constructors */
void MPII_Gpudt_builder_init(struct MPII_Gpudt_builder *b, struct MPII_Gpudt_raw *raw,
                             MPII_Gpudt_type_fn type_fn);

/* Append a record, zeroed except for its kind. Invalidates pointers to records.
 *   record  (OUT)  its index */
int MPII_Gpudt_raw_new_record(struct MPII_Gpudt_raw *raw, int kind, int *record);

/* Append space for lists. Invalidates pointers into the lookaside.
 *   n           (IN)   entries of 8 bytes, not zeroed
 *   lookaside   (OUT)  its byte offset */
int MPII_Gpudt_raw_new_lists(struct MPII_Gpudt_raw *raw, int64_t n, int64_t * lookaside);

/* Append a BLOCK of `size` bytes.
 *   basic  (IN)  its predefined type */
int MPII_Gpudt_raw_block(struct MPII_Gpudt_raw *raw, MPI_Datatype basic, int64_t size, int *record);

/* The record of a datatype met before, or -1. */
int MPII_Gpudt_memo_find(const struct MPII_Gpudt_builder *b, MPI_Datatype datatype);

/* Remember the record of a datatype. */
int MPII_Gpudt_memo_add(struct MPII_Gpudt_builder *b, MPI_Datatype datatype, int record);

/* Free what init and memo_add allocated. The raw records stay. */
void MPII_Gpudt_builder_finalize(struct MPII_Gpudt_builder *b);

/* Serialize a nested datatype.
 *   record  (OUT)  index of its record, new or met before */
static inline int MPII_Gpudt_raw_type(struct MPII_Gpudt_builder *b, MPI_Datatype datatype,
                                      int *record)
{
    return b->type_fn(b, datatype, record);
}

/* Set the child of a record, and the sizes that follow from it.
 *   nchildren  (IN)  children in the whole node */
int MPII_Gpudt_raw_set_child(struct MPII_Gpudt_raw *raw, int record, int child, int64_t nchildren);

/* Serialize a type and make it the only child of a record, which has nchildren of it. */
int MPII_Gpudt_raw_add_child(struct MPII_Gpudt_builder *b, int record, MPI_Datatype datatype,
                             int64_t nchildren);

/* Primitives in the node of a record. */
int64_t MPII_Gpudt_raw_elements(const struct MPII_Gpudt_raw_record *rec);

static inline struct MPII_Gpudt_raw_record *MPII_Gpudt_raw_at(struct MPII_Gpudt_raw *raw,
                                                              int record)
{
    return &raw->records[record];
}

static inline int64_t *MPII_Gpudt_raw_lists(struct MPII_Gpudt_raw *raw, int64_t lookaside)
{
    return (int64_t *) (void *) (raw->lookaside + lookaside);
}

#endif /* GPUDT_BUILDER_H_INCLUDED */
