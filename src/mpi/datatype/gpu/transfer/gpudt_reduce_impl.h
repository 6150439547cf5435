/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Reductions on GPUs: what they operate on, and the kernels for it. */

#ifndef GPUDT_REDUCE_IMPL_H_INCLUDED
#define GPUDT_REDUCE_IMPL_H_INCLUDED

#include <stdbool.h>

/* The operands: inout = in op inout, of the same count and datatype. */
struct MPII_Gpudt_operands {
    const void *in;
    void *inout;
    MPI_Aint count;
    MPI_Datatype datatype;
};

/* A predefined operation on a predefined datatype, as a kernel does it. */
struct MPII_Gpudt_reduction {
    int kernel;                 /* enum MPII_Gpudt_kernel_e */
    int op;                     /* enum MPII_Gpudt_reduce_e */
    int parts;                  /* the kernel's elements in one element of the datatype */
    int size;                   /* bytes from one of the kernel's elements to the next */
    int align;                  /* its alignment */
    bool is_dense;              /* it has no gap */
    int last;                   /* bytes of the datatype's last element, without a gap at its end */
};

/* Find the kernel for an operation; false if there is none, as for long double.
 *   op, datatype  (IN)   op is defined for the datatype, or not predefined */
bool MPII_Gpudt_reduction_find(MPI_Op op, MPI_Datatype datatype, struct MPII_Gpudt_reduction *r);

/* The same for the kernel that updates a window.
 *   op  (IN)  also MPI_REPLACE or MPI_NO_OP; MPI_OP_NULL: compare and swap. false also if it is not
 *             defined for the datatype */
bool MPII_Gpudt_update_find(MPI_Op op, MPI_Datatype datatype, struct MPII_Gpudt_reduction *r);

/* Reduce by a kernel. Complete when the call returns.
 *   o        (IN)   count is greater than 0; at least one operand is on a GPU
 *   is_done  (OUT)  false: not done, and nothing is changed: the result is in memory that GPUs
 *                   cannot access, or the GPU has no kernels, or no memory for a work area */
int MPII_Gpudt_reduce_by_kernel(const struct MPII_Gpudt_operands *o,
                                const struct MPII_Gpudt_reduction *r, bool * is_done);

#endif /* GPUDT_REDUCE_IMPL_H_INCLUDED */
