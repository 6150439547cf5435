/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The types of bench_pt2pt's messages: MPI's datatype, and the layout as a formula. Must not know
 * what is measured. */

#ifndef BENCH_PT2PT_TYPES_H_INCLUDED
#define BENCH_PT2PT_TYPES_H_INCLUDED

#include <mpi.h>
#include <stddef.h>
#include "bench_pt2pt_layout.h"

struct shape {
    const char *name;
    MPI_Datatype type;
    int count;
    size_t bytes;               /* packed */
    size_t span;                /* from the first byte of the data to the end of the last */
    struct layout layout;       /* lists in host memory */
    /* for a 2-D copy: rows of width bytes, pitch bytes apart; width 0: none */
    size_t width, pitch, height;
};

int shape_count(void);
const char *shape_name(int index);

/* Make and commit the type with approximately so many bytes packed, and not more, but at least one
 * repetition of its pattern. Returns 0 if there is no memory. Free with shape_free. */
int shape_make(int index, size_t bytes, struct shape *shape);
void shape_free(struct shape *shape);

#endif /* BENCH_PT2PT_TYPES_H_INCLUDED */
