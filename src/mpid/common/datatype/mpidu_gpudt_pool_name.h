/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The name of a pool, which processes exchange. */

#ifndef MPIDU_GPUDT_POOL_NAME_H_INCLUDED
#define MPIDU_GPUDT_POOL_NAME_H_INCLUDED

#include <stdint.h>

/* Where other processes of the node find the pool. */
typedef struct MPIDU_gpudt_pool_name {
    uint64_t token;             /* random number that is also in the file */
    int pid;                    /* process that owns it */
    int fd;                     /* descriptor of the file in that process; -1: not shared */
} MPIDU_gpudt_pool_name_t;

#endif /* MPIDU_GPUDT_POOL_NAME_H_INCLUDED */
