/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* A driver older than all functions that the library needs: for driver_query, built as
 * libcuda.so.1. */

int cuInit(unsigned int flags);

int cuInit(unsigned int flags)
{
    return (int) flags;
}
