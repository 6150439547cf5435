/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The kernel of bench_transpose. Must not know of MPI. */

#ifndef BENCH_TRANSPOSE_GPU_H_INCLUDED
#define BENCH_TRANSPOSE_GPU_H_INCLUDED

#include <cuda.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Start a kernel that transposes a packed square.
 *   to, to_pitch  (OUT)  the result, and the elements from one of its rows to the next
 *   from, n       (IN)   n x n elements, n being a multiple of 32 */
void transpose_start(double *to, int to_pitch, const double *from, int n, CUstream stream);

#ifdef __cplusplus
}
#endif

#endif /* BENCH_TRANSPOSE_GPU_H_INCLUDED */
