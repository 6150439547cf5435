/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The name of a pool, which processes tell each other. Knows nothing else. */

#ifndef MPIDU_GPUDT_POOL_NAME_H_INCLUDED
#define MPIDU_GPUDT_POOL_NAME_H_INCLUDED

#include <stdint.h>

/* Where other processes of the node find the pool. */
typedef struct MPIDU_gpudt_pool_name {
    uint64_t token;             /* random number that is in the file too */
    int pid;                    /* process that has it */
    int fd;                     /* open file of that process; -1: not shared */
} MPIDU_gpudt_pool_name_t;

#endif /* MPIDU_GPUDT_POOL_NAME_H_INCLUDED */
