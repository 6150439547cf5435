/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Blocks of one size at nested strides, on both sides. Must not know records. */

#ifndef GPUDT_CPU_NEST_H_INCLUDED
#define GPUDT_CPU_NEST_H_INCLUDED

#include <stdbool.h>
#include <stdint.h>

/* A level of a nest: `count` times what is below it. */
struct MPII_Gpudt_cpu_level {
    int64_t count;
    int64_t user;               /* bytes from one to the next in the user's buffer */
    int64_t packed;             /* and in packed memory */
};

/* More levels than this are taken apart by the caller. */
#define MPII_GPUDT_CPU_LEVELS 8

/* Copy all blocks of a nest, in any order.
 *   level    (IN)  outermost first
 *   nlevels  (IN)  1 to MPII_GPUDT_CPU_LEVELS
 *   size     (IN)  bytes of a block, positive
 *   user     (IN)  the first block in the user's buffer
 *   packed   (IN)  and in packed memory
 *   unpack   (IN)  true: from packed memory to the buffer */
void MPII_Gpudt_cpu_nest(const struct MPII_Gpudt_cpu_level *level, int nlevels, int64_t size,
                         char *user, char *packed, bool unpack);

#endif /* GPUDT_CPU_NEST_H_INCLUDED */
