/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The expected values of the halo3d example's field: for the host (C) and for the GPU's kernels
 * (CUDA C). Must not know where the field is. */

#ifndef HALO3D_VALUE_H_INCLUDED
#define HALO3D_VALUE_H_INCLUDED

#include "halo3d.h"

#define POISON (-1.0)           /* the field's values are positive */

#ifdef __CUDACC__
#define FOR_BOTH __host__ __device__ static inline
#else
#define FOR_BOTH static inline
#endif

/* A point's number in the whole, periodic domain; equal for a halo point and the point that it
 * mirrors. */
FOR_BOTH long long point_number(const struct block *block, const int point[N_DIMS])
{
    long long number = 0;
    int d;

    for (d = 0; d < N_DIMS; d++) {
        long long place = block->origin[d] + point[d] - block->radius + block->whole[d];
        number = number * block->whole[d] + place % block->whole[d];
    }
    return number;
}

/* The value of an element of a point: different for every point, element and pass. */
FOR_BOTH double value_of(const struct block *block, long long number, int element, int pass)
{
    return (double) (2 * (number * block->elements + element) + pass + 1);
}

/* Whether a point, counted from the array's first one, is owned. */
FOR_BOTH int point_is_owned(const struct block *block, const int point[N_DIMS])
{
    int d, inside = 1;

    for (d = 0; d < N_DIMS; d++)
        inside &= point[d] >= block->radius && point[d] < block->radius + block->inner[d];
    return inside;
}

/* The point that a value of the array belongs to; returns the number of its element. */
FOR_BOTH int point_of_value(const struct block *block, long long where, int point[N_DIMS])
{
    long long number = where / block->elements;

    point[2] = (int) (number % block->outer[2]);
    point[1] = (int) (number / block->outer[2] % block->outer[1]);
    point[0] = (int) (number / block->outer[2] / block->outer[1]);
    return (int) (where % block->elements);
}

#endif /* HALO3D_VALUE_H_INCLUDED */
