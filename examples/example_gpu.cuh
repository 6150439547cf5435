/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/*
 * What the GPU parts of the examples have in common. One file of a program includes it, and defines
 * PROGRAM, the name that begins its messages.
 */

#ifndef EXAMPLE_GPU_CUH_INCLUDED
#define EXAMPLE_GPU_CUH_INCLUDED

#include "example.h"
#include <stdio.h>

/* Makes a call; if it fails, says so with the runtime's words and leaves the function with -1. */
#define CUDA_TRY(call_)                                                                         \
    do {                                                                                        \
        cudaError_t error_ = (call_);                                                           \
        if (error_ != cudaSuccess) {                                                            \
            fprintf(stderr, "%s: %s: %s\n", PROGRAM, #call_, cudaGetErrorString(error_));       \
            return -1;                                                                          \
        }                                                                                       \
    } while (0)

int gpu_count(const char **why)
{
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);

    *why = cudaGetErrorString(error);
    return error == cudaSuccess ? count : 0;
}

int gpu_use(int number)
{
    CUDA_TRY(cudaSetDevice(number));
    return 0;
}

#endif /* EXAMPLE_GPU_CUH_INCLUDED */
