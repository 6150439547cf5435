/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Parameters of the reference kernels, for the benchmark and the kernels' source.
 */

#ifndef REF_ARGS_H_INCLUDED
#define REF_ARGS_H_INCLUDED

#include <stdint.h>

struct ref_args {
    char *user, *packed;        /* device addresses */
    int64_t work;               /* number of items: words, blocks or rows, depending on the
                                 * kernel */
    int64_t n;                  /* the layout's size parameter */
    void *aux0;                 /* int64_t displ[blocks], prefix[blocks + 1] */
    void *aux1;                 /* uint32_t map[words] */
};

#endif /* REF_ARGS_H_INCLUDED */
