/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Shared by the GPU benchmarks: checked driver calls, medians, and the reference kernels, written
 * by hand for the layouts. Must not know the library's kernels or MPI.
 */

#ifndef REFS_H_INCLUDED
#define REFS_H_INCLUDED

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#include "layouts.h"
#include "ref_args.h"

#define CU(call_)                                                                       \
    do {                                                                                \
        CUresult res_ = (call_);                                                        \
        if (res_ != CUDA_SUCCESS) {                                                     \
            const char *text_ = "?";                                                    \
            cuGetErrorString(res_, &text_);                                             \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call_, text_);      \
            exit(1);                                                                    \
        }                                                                               \
    } while (0)

/* Allocate memory; exits the program if there is none. */
void *bench_memory(size_t bytes);

/* Load a file with compiled kernels; exits the program if it cannot. */
CUmodule bench_load_module(const char *path);

/* Microseconds of once(state), which waits for its work: the median of some dozens of calls after a
 * few warm-up calls. */
double bench_median(void (*once) (void *state), void *state);

/* Lists in device memory for the kernels written by hand for a layout. */
struct refs_aux {
    struct ref_args args;       /* aux0 and aux1 are set */
    int64_t nblocks;
};
void refs_aux_make(const struct layout *l, struct refs_aux *aux);
void refs_aux_free(struct refs_aux *aux);

/* Time of the fastest kernel by hand.
 *   module        (IN)   ref_kernels.cu, compiled
 *   user, packed  (IN)   addresses of displacement 0 and of the stream
 *   name          (OUT)  its name, static text until the next call; "none" if there is none
 * Returns microseconds, -1 if there is none. */
double refs_time(CUmodule module, CUstream stream, const struct layout *l,
                 const struct refs_aux *aux, CUdeviceptr user, CUdeviceptr packed, int unpack,
                 const char **name);

/* Time of a kernel by hand from one layout to another, given by their names; -1 if there is none. */
double refs_time_pair(CUmodule module, CUstream stream, const char *from_name,
                      const char *to_name, CUdeviceptr from, CUdeviceptr to, int64_t bytes);

/* Time of an empty kernel. */
double refs_time_empty(CUmodule module, CUstream stream);

/* Time of a contiguous copy by the driver. */
double refs_time_copy(CUstream stream, CUdeviceptr to, CUdeviceptr from, size_t bytes);

/* Run a helper kernel of the module: `fill` or `differ`. */
void refs_run(CUmodule module, CUstream stream, const char *name, struct ref_args *args);

#endif /* REFS_H_INCLUDED */
