/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* A window of each process, and what it should have. Process 0 is the origin, all others are targets. */

#ifndef SCENE_H_INCLUDED
#define SCENE_H_INCLUDED

#include "mpi.h"
#include "gpu.h"

#include <stdbool.h>

enum {
    WINDOW = 1 << 18,           /* bytes of each target's window */
    OPENER = 1024,              /* of them, for what is in flight while the others wait */
    MAX_RANKS = 4,
    FULL = 64,                  /* operations of a launch */
    TRIES = 50                  /* until the copy that the others wait for was not complete at once */
};

enum { NTYPES = 6, N = 60 };    /* elements of 4 bytes in each type */

extern int rank, nranks;
extern enum mem_kind kind;      /* of the own window */
extern bool are_all_direct;     /* a GPU for each of two processes */

/* A buffer of the origin, with a copy of what it has, or should have. */
struct buffer {
    struct mem mem;
    char *copy;
};

struct scene {
    MPI_Win win;
    struct mem window;
    struct buffer buf;
    char *expected[MAX_RANKS];  /* in the origin: of each window */
};

/* Operations that have joined another one so far. */
unsigned long long njoined(void);

/* Unit of displacements in a target's window: each has another one. */
int unit_of(int target);

void buffer_make(struct buffer *b, enum mem_kind of, size_t sz);
void buffer_free(struct buffer *b);

/* Make a window of each process, of which `sz` bytes are exposed, all zero. Collective. */
void scene_make(struct scene *s, size_t sz);
void scene_free(struct scene *s);

/* Compare the targets' windows, and the origin's buffer, with what the origin expects. Collective. */
void scene_check(struct scene *s, const char *what);

/* Lock all windows, and wait until all locks are granted. Collective. */
void locks_get(struct scene *s);

/* Put or get some elements, or one. Displacements are multiples of 16, the greatest unit. */
int move_some(struct scene *s, struct buffer *b, size_t off, MPI_Datatype type, int target,
              size_t at, MPI_Datatype there, bool is_get, int count);
int move(struct scene *s, struct buffer *b, size_t off, MPI_Datatype type, int target, size_t at,
         MPI_Datatype there, bool is_get);

/* Start a copy by the driver, on which all that follows waits until it is flushed; unless it is complete
 * when the call returns, on a busy machine. */
void opener(struct scene *s, int target, bool is_get);

/* Make NTYPES committed datatypes. */
void types_make(MPI_Datatype * types);

/* Moves of one kind, at distances that keep the alignment or, with skew > 1, do not. */
void run(struct scene *s, MPI_Datatype type, MPI_Datatype there, bool is_get, int n, int skew);

/* The tests that have a file of their own; see main.c. */
void changes(void);
void errors(void);

#endif /* SCENE_H_INCLUDED */
