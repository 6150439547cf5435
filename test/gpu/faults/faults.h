/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* One transfer for each route through the engine, to be run while driver calls fail. Uses the
 * engine's interface and control variables; must not know its internals. */

#ifndef FAULTS_H_INCLUDED
#define FAULTS_H_INCLUDED

#include "mpiimpl.h"
#include "gpudt.h"

#include "gpu.h"
#include "oracle.h"
#include "report.h"

enum direction {
    DIRECTION__PACK,
    DIRECTION__UNPACK,
    DIRECTION__COPY,            /* from datatype to datatype */
    DIRECTION__REDUCE           /* contiguous: MPI_BXOR of the user's words into the other's */
};

/* Returns a committed type; MPI_DATATYPE_NULL means packed data. */
typedef MPI_Datatype(*type_fn) (void);

#define SCENARIO_MAX_ENV 3

struct scenario {
    const char *name;
    enum direction direction;
    enum mem_kind user_kind, other_kind;        /* a copy or reduction goes from user to other */
    type_fn user_type, other_type;      /* other_type: copies only */
    int is_nonblocking;         /* 2: in several parts in flight together */
    int is_mixed;               /* second half of the user's blocks in pageable memory */
    const char *env[SCENARIO_MAX_ENV];  /* NAME=value for the process */
};

/* The n-th scenario, or NULL. */
const struct scenario *scenario_get(int n);

/* One side of a transfer in this process. */
struct side {
    struct mem mem, rest;       /* rest: second half of a mixed buffer */
    unsigned char *shadow;      /* contents of mem when the transfer began */
    unsigned char *want;        /* contents that it must have after success */
    MPI_Datatype type;          /* relative to the buffer; MPI_DATATYPE_NULL: packed */
    MPI_Datatype call_type;     /* for the call */
    void *call_buf;
    oracle *map;
};

struct transfer {
    const struct scenario *scenario;
    struct side user, other;
    MPI_Aint n;                 /* bytes */
};

void transfer_make(struct transfer *t, const struct scenario *scenario);
void transfer_free(struct transfer *t);
/* New contents for both buffers. */
void transfer_fill(struct transfer *t, unsigned seed);
/* Run the transfer. Returns an MPI error code. */
int transfer_run(struct transfer *t);
/* Check that all bytes are right or, if the transfer failed, that only bytes to be written have
 * changed, and those to the right value. Returns 1 if so. */
int transfer_check(struct transfer *t, int has_failed);

#endif /* FAULTS_H_INCLUDED */
