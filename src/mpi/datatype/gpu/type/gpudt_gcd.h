/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Common divisors. Must not know anything else: the plan includes it, too. */

#ifndef GPUDT_GCD_H_INCLUDED
#define GPUDT_GCD_H_INCLUDED

#include <stdint.h>

/* Of the absolute values. 0 stands for "no value yet". */
static inline int64_t MPII_Gpudt_gcd(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

/* The largest power of two that divides all of some values, whose bits are given together. */
static inline uint64_t MPII_Gpudt_power_of(uint64_t bits)
{
    return bits & -bits;
}

#endif /* GPUDT_GCD_H_INCLUDED */
