/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The names of pools and of offers in them, which processes exchange. */

#ifndef MPIDU_GPUDT_POOL_NAME_H_INCLUDED
#define MPIDU_GPUDT_POOL_NAME_H_INCLUDED

#include <stdint.h>

/* Where other processes of the node find the pool. */
typedef struct MPIDU_gpudt_pool_name {
    uint64_t token;             /* random number that is also in the file */
    int pid;                    /* process that owns it */
    int fd;                     /* descriptor of the file in that process; -1: not shared */
} MPIDU_gpudt_pool_name_t;

/* Where a receiver finds an offer (see gpudt_direct.h). */
typedef struct MPIDU_gpudt_offer_name {
    MPIDU_gpudt_pool_name_t pool;
    int grain;                  /* position of its chunk in the pool, in grains; -1: no offer */
    uint32_t serial;            /* differs from that of the last offer in the chunk */
} MPIDU_gpudt_offer_name_t;

#endif /* MPIDU_GPUDT_POOL_NAME_H_INCLUDED */
