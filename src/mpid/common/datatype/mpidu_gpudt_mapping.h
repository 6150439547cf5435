/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The memory of a staging pool as mapped by one process: a file in memory (memfd) that other
 * processes of the node can map. It is divided into pieces, each registered with GPUs when it is
 * first used. Must not know chunks. For mpidu_gpudt_*.c only; callers hold the lock of the progress
 * engine. */

#ifndef MPIDU_GPUDT_MAPPING_H_INCLUDED
#define MPIDU_GPUDT_MAPPING_H_INCLUDED

#include "mpidimpl.h"
#include "mpidu_gpudt_pool_name.h"
#include "gpudt_host.h"
#include "gpudt_shared.h"

#define MPIDU_GPUDT_NREGIONS 3
#define MPIDU_GPUDT_MAX_PIECES 8192     /* in a pool */
/* A power of 2, and no less than the number of chunks that may hold an offer, which are adjacent */
#define MPIDU_GPUDT_MAX_CLAIMS 1024

/* Pieces start and end at multiples of this, in bytes: whole pages of any size in use. */
#define MPIDU_GPUDT_PIECE_ALIGN 65536

/* Adjacent pieces of one size. */
struct MPIDU_gpudt_region {
    uint64_t start;             /* offset in the pool, bytes */
    uint64_t piece_sz;          /* bytes */
    uint64_t npieces;
};

/* The head of a pool, read by the processes that map it. */
struct MPIDU_gpudt_pool_head {
    uint64_t token;             /* as in the pool's name */
    struct MPIDU_gpudt_region region[MPIDU_GPUDT_NREGIONS];
    MPL_atomic_int_t version[MPIDU_GPUDT_MAX_PIECES];   /* times that the piece got new memory */
    MPL_atomic_int_t ngpus;
    uint64_t gpu[MPIR_GPUDT_MAX_NAMES]; /* names of the GPUs that the pool's process uses */
    MPL_atomic_int_t is_shared[MPIR_GPUDT_MAX_NAMES];   /* whether a process that maps the pool uses
                                                         * it too */
    MPL_atomic_int_t nshared;   /* number of times an is_shared was set */
    MPL_atomic_uint64_t claim[MPIDU_GPUDT_MAX_CLAIMS];  /* states of offers, by grain; see
                                                         * mpidu_gpudt_offer.c */
};

struct MPIDU_gpudt_piece {
    char *mem;
    size_t sz;
    int epoch;                  /* when registration was last tried or checked; 0: never */
    int version;                /* of the memory that was registered then */
    bool is_registered;
    bool is_filled;             /* its memory is allocated; own pool only */
};

/* The mapped memory of the pool of this or another process. */
struct MPIDU_gpudt_mapping {
    struct MPIDU_gpudt_mapping *next;
    MPIDU_gpudt_pool_name_t name;
    bool is_own;
    char *mem;                  /* NULL: there is none, or it cannot be mapped; not tried again */
    size_t sz;
    struct MPIDU_gpudt_region region[MPIDU_GPUDT_NREGIONS];
    struct MPIDU_gpudt_piece *pieces;   /* in the order of the regions */
    int ncompared;              /* own pool: nshared when last checked; other pools: number of GPUs
                                 * here plus those there that were compared */
};

/* Make this process's pool. If a file cannot be made, other processes cannot map it.
 *   map  (IN/OUT)  zeros, with region[] filled in; map->mem is NULL on failure */
void MPIDU_Gpudt_mapping_make(struct MPIDU_gpudt_mapping *map);

/* Unregister and unmap a pool. */
void MPIDU_Gpudt_mapping_end(struct MPIDU_gpudt_mapping *map);

/* Find the pool of another process; maps it at first use. Returns NULL if out of memory; its mem is
 * NULL if it cannot be mapped. Stays until it is ended. */
struct MPIDU_gpudt_mapping *MPIDU_Gpudt_mapping_other(const MPIDU_gpudt_pool_name_t * name);
void MPIDU_Gpudt_mapping_other_end(const MPIDU_gpudt_pool_name_t * name);
void MPIDU_Gpudt_mapping_others_end(void);

/* Find the piece that holds a range of bytes.
 *   off, len  (IN)  position in the pool, bytes
 * Returns its number; -1: the range is not within one piece. */
int MPIDU_Gpudt_mapping_piece(const struct MPIDU_gpudt_mapping *map, size_t off, size_t len);

/* Prepare a piece of this process's pool for use: allocate its memory, and register it for a GPU,
 * if that is possible.
 *   gpu_addr  (IN)  as for MPIR_Gpudt_host_register; NULL: for the CPU
 * Returns false if the system has no memory for it. */
bool MPIDU_Gpudt_piece_ready(struct MPIDU_gpudt_mapping *map, int i, const void *gpu_addr);

/* Exchange with the processes of a pool which GPUs are in use: with its owner, or, if it is this
 * process's own, with those that map it. */
void MPIDU_Gpudt_mapping_compare(struct MPIDU_gpudt_mapping *map);

/* The word that holds the state of the offer in a chunk. */
MPL_atomic_uint64_t *MPIDU_Gpudt_mapping_claim(const struct MPIDU_gpudt_mapping *map, int grain);

/* Register a piece of any pool, if that is possible. Costs a few loads if it is registered. */
void MPIDU_Gpudt_piece_register(struct MPIDU_gpudt_mapping *map, int i, const void *gpu_addr);

/* Replace the memory of a piece of this process's pool that is not in use. What may still write to
 * the old memory, such as the GPU of a dead process, does not reach the new one. Other processes
 * register the new memory at their next use. Returns false if the system refuses. */
bool MPIDU_Gpudt_piece_renew(struct MPIDU_gpudt_mapping *map, int i);

#endif /* MPIDU_GPUDT_MAPPING_H_INCLUDED */
