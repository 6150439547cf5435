/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Plans one launch of a reduction. Pure functions of their parameters; must not know MPI, the
 * driver or a stream.
 */

#ifndef GPUDT_PLAN_REDUCE_H_INCLUDED
#define GPUDT_PLAN_REDUCE_H_INCLUDED

#include <stdbool.h>

#include "gpudt_plan_types.h"

/* The elements of a reduction, as its kernel takes them. */
struct MPII_Gpudt_plan_reduce_in {
    int kernel;                 /* enum MPII_Gpudt_kernel_e, a kernel for reductions */
    int op;                     /* enum MPII_Gpudt_reduce_e */
    int size;                   /* bytes from one element to the next */
    bool is_dense;              /* elements have no gap */
    uint64_t in, inout;         /* addresses, aligned for the members of an element */
    int64_t n;                  /* elements, greater than 0 */
    int nsms;
    int max_blocks;             /* 0: no limit */
};

struct MPII_Gpudt_plan_reduce {
    int kernel;
    unsigned grid;              /* blocks of MPII_GPUDT_THREADS threads */
    struct MPII_Gpudt_args_reduce args;
};

/* The elements of a reduction of several operands. */
struct MPII_Gpudt_plan_combine_in {
    int kernel;                 /* enum MPII_Gpudt_kernel_e, a kernel for several operands */
    int op, size;               /* as above */
    bool is_dense;
    int nin, nout;              /* 1 to MPII_GPUDT_COMBINE_MAX */
    uint64_t in[MPII_GPUDT_COMBINE_MAX], out[MPII_GPUDT_COMBINE_MAX];   /* addresses, as above */
    int64_t n;
    int nsms, max_blocks;
};

struct MPII_Gpudt_plan_combine {
    int kernel;
    unsigned grid;
    struct MPII_Gpudt_args_combine args;
};

/* The elements of an update of a window. */
struct MPII_Gpudt_plan_update_in {
    int kernel;                 /* enum MPII_Gpudt_kernel_e, a kernel for updates */
    int op, size;               /* as above */
    bool is_dense, is_atomic;
    uint64_t target, in, old;   /* as in struct MPII_Gpudt_args_update; in is 0 for an operand that
                                 * is in the parameters */
    int64_t n;
    int nsms, max_blocks;
};

struct MPII_Gpudt_plan_update {
    int kernel;
    unsigned grid;
    struct MPII_Gpudt_args_update args; /* without compare and value */
};

/* Cannot fail. The end of args is empty. */
void MPII_Gpudt_plan_update_make(const struct MPII_Gpudt_plan_update_in *in,
                                 struct MPII_Gpudt_plan_update *plan);

/* The same for several operands. */
void MPII_Gpudt_plan_combine_make(const struct MPII_Gpudt_plan_combine_in *in,
                                  struct MPII_Gpudt_plan_combine *plan);

/* The same for two operands. */
void MPII_Gpudt_plan_reduce_make(const struct MPII_Gpudt_plan_reduce_in *in,
                                 struct MPII_Gpudt_plan_reduce *plan);

#endif /* GPUDT_PLAN_REDUCE_H_INCLUDED */
