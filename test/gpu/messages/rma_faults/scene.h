/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* A window of two processes, one operation of process 0 on that of process 1, and what all memory
 * should have afterwards. Must not know how faults are injected. */

#ifndef SCENE_H_INCLUDED
#define SCENE_H_INCLUDED

#include "mpi.h"
#include "gpu.h"

#include <stdbool.h>

enum flavor { CREATE, DYNAMIC, ALLOCATE, SHARED, NFLAVORS };
enum sync { FENCE, PSCW, LOCK, LOCK_ALL, NSYNCS };
/* Those from RPUT on are request forms, which need a lock. */
enum kind {
    PUT, GET, REPLACE, GET_REPLACE, SUM, FETCH_AND_OP, COMPARE_AND_SWAP,
    RPUT, RGET, RSUM, RGET_SUM, NKINDS
};

extern const char *const flavors[], *const syncs[], *const kinds[];

struct plan {
    enum flavor flavor;
    enum sync sync;
    enum kind kind;
    MPI_Datatype type;          /* MPI_INT, or blocks of one int that are an int apart */
    int count;
};

extern int rank;
extern enum mem_kind own_kind;  /* the GPU memory of this process */

struct scene {
    const struct plan *plan;
    MPI_Win win;
    struct mem window;          /* its memory; of a window that MPI allocates: none */
    struct mem origin, result;
    char *base;                 /* of the own window */
    MPI_Aint disp;              /* of the first int that is accessed, in process 1 */
    int n;                      /* ints of each memory */
    bool is_attached;
    unsigned seed;              /* of their values */
};

/* Make a window, and buffers. Collective; returns MPI's error: then only scene_free may follow. */
int scene_make(struct scene *s, const struct plan *plan);
/* Write all memory. Collective. */
void scene_fill(struct scene *s);
/* An epoch with the operation. Collective; returns the first error. */
int scene_epoch(struct scene *s);
/* Whether all memory of this process is as after the operation. It is counted as a failure if some
 * of it has what neither the operation nor an error of it may leave there. */
bool scene_check(struct scene *s);
/* Collective; returns MPI's error. */
int scene_free(struct scene *s);

#endif /* SCENE_H_INCLUDED */
