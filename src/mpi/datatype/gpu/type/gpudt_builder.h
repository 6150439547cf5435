/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Raw records that grow while a datatype is serialized. Must not know constructors or canonical
 * records. */

#ifndef GPUDT_BUILDER_H_INCLUDED
#define GPUDT_BUILDER_H_INCLUDED

#include "mpiimpl.h"
#include "gpudt_raw.h"

/* Constructors one inside the other before serialization gives up. A bound for the stack, far
 * beyond the 16 levels that the CPU engine can pack. */
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

/* One serialization under way. The table remembers the record of every datatype met, so that a
 * struct of a thousand members of one type, or structs of structs, take no more records than there
 * are different datatypes. */
struct MPII_Gpudt_builder {
    struct MPII_Gpudt_raw *raw;
    MPII_Gpudt_type_fn type_fn;
    int nesting;
    int memo_used;
    int memo_slots;             /* a power of two */
    struct MPII_Gpudt_memo_slot *memo;
    struct MPII_Gpudt_memo_slot inline_memo[MPII_GPUDT_MEMO_INLINE];
};

/* Begin with empty raw records.
 *   type_fn  (IN)  serializes a datatype inside the one under way; calls itself by way of the
 *                  constructors */
void MPII_Gpudt_builder_init(struct MPII_Gpudt_builder *b, struct MPII_Gpudt_raw *raw,
                             MPII_Gpudt_type_fn type_fn);

/* Append a record, cleared but for its kind. Pointers to records are void afterwards.
 *   record  (OUT)  its index */
int MPII_Gpudt_raw_new_record(struct MPII_Gpudt_raw *raw, int kind, int *record);

/* Append room for lists. Pointers into the lookaside area are void afterwards.
 *   n           (IN)   entries of 8 bytes, not cleared
 *   lookaside   (OUT)  its byte offset */
int MPII_Gpudt_raw_new_lists(struct MPII_Gpudt_raw *raw, int64_t n, int64_t * lookaside);

/* Append a BLOCK of so many bytes. */
int MPII_Gpudt_raw_block(struct MPII_Gpudt_raw *raw, int64_t size, int *record);

/* The record of a datatype met before, or -1. */
int MPII_Gpudt_memo_find(const struct MPII_Gpudt_builder *b, MPI_Datatype datatype);

/* Remember the record of a datatype. */
int MPII_Gpudt_memo_add(struct MPII_Gpudt_builder *b, MPI_Datatype datatype, int record);

/* Give back what init and memo_add have allocated, but not the raw records. */
void MPII_Gpudt_builder_finalize(struct MPII_Gpudt_builder *b);

/* Serialize a datatype inside the one under way.
 *   record  (OUT)  index of its record, new or met before */
static inline int MPII_Gpudt_raw_type(struct MPII_Gpudt_builder *b, MPI_Datatype datatype,
                                      int *record)
{
    return b->type_fn(b, datatype, record);
}

/* Set the child of a record, the sizes that follow from it, and nothing else.
 *   nchildren  (IN)  children in the whole node */
int MPII_Gpudt_raw_set_child(struct MPII_Gpudt_raw *raw, int record, int child, int64_t nchildren);

/* Serialize a type and make it the only child of a record, which has nchildren of it. */
int MPII_Gpudt_raw_add_child(struct MPII_Gpudt_builder *b, int record, MPI_Datatype datatype,
                             int64_t nchildren);

/* Primitives in the node of a record. */
int64_t MPII_Gpudt_raw_elements(const struct MPII_Gpudt_raw_record *rec);

static inline struct MPII_Gpudt_raw_record *MPII_Gpudt_raw_at(struct MPII_Gpudt_raw *raw, int record)
{
    return &raw->records[record];
}

static inline int64_t *MPII_Gpudt_raw_lists(struct MPII_Gpudt_raw *raw, int64_t lookaside)
{
    return (int64_t *) (void *) (raw->lookaside + lookaside);
}

#endif /* GPUDT_BUILDER_H_INCLUDED */
