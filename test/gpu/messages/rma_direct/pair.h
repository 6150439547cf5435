/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Operations on the window of the other process, and the epochs that they are in. */

#ifndef PAIR_H_INCLUDED
#define PAIR_H_INCLUDED

#include "report.h"
#include "side.h"

#include <stdbool.h>

#define MAX_TYPES 6
#define N 120                   /* elements of each type */

enum sync {
    FENCE, FENCE_ASSERT, PSCW, PSCW_NOCHECK, LOCK, LOCK_SHARED, LOCK_NOCHECK, LOCK_ALL,
    LOCK_ALL_NOCHECK, NSYNCS
};

extern int rank, other;
extern enum mem_kind kind, origin_kind; /* of windows, and of the buffers of operations */
extern unsigned long long nops; /* that were started by this process */
extern unsigned long long nlate;        /* of these by messages, since the other process came late */

/* How many operations of this process were direct. */
unsigned long long ndirect(void);

/* Make types of N doubles; returns how many. */
int types_make(MPI_Datatype * types);

/* One operation of each process on the other's window. */
struct pair {
    struct side window, origin;
    MPI_Win win;
    bool is_get;
    unsigned seed;
};

/*   window, origin  (IN)  datatypes
 *   count           (IN)  of both */
void pair_make(struct pair *p, MPI_Datatype window, MPI_Datatype origin, int count);
void pair_free(struct pair *p);

/* New data, and afterwards a check of what has arrived. */
void pair_fill(struct pair *p);
void pair_check(struct pair *p);

/* Start the operation of this process.
 *   req  (OUT)  NULL: none */
void start(struct pair *p, MPI_Request * req);

/* Wait until all locks are granted, which may take longer than MPI_Win_lock waits. */
void granted_wait(void);

/* One epoch with an operation of each process. */
void epoch(struct pair *p, enum sync sync);

/* An epoch whose operations are both direct, after others if one of the processes came late. */
void epoch_direct(struct pair *p, enum sync sync);

/* ---- ends.c ---- */

void first_use(void);
void renewed(void);
void freed(void);

#endif /* PAIR_H_INCLUDED */
