/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The staging pool: a bounded set of chunks of host memory that GPUs can access, for messages with
 * GPU buffers. Must not know messages and datatypes. */

#ifndef MPIDU_GPUDT_STAGING_H_INCLUDED
#define MPIDU_GPUDT_STAGING_H_INCLUDED

#include "mpidu_gpudt_pool_name.h"

typedef struct MPIDU_gpudt_chunk {
    struct MPIDU_gpudt_chunk *next;     /* in the list of free chunks */
    char *mem;
    size_t sz;                  /* bytes at mem */
    int kind;                   /* this and the rest: for mpidu_gpudt_staging.c */
    int piece;                  /* that holds the chunk; not for pageable memory */
    bool is_tainted;            /* see MPIDU_gpudt_chunk_taint */
} MPIDU_gpudt_chunk_t;

/* Chunks start at multiples of this in the pool, bytes. */
#define MPIDU_GPUDT_POOL_GRAIN 16384

/* Get a chunk; makes the pool at first use. If no chunk is free, more memory is allocated and
 * registered with GPUs. While chunks of that size are in use this is limited to a share of the
 * time, and the call may return none.
 *   sz        (IN)   bytes needed, more than 0
 *   gpu_addr  (IN)   GPU memory that the data comes from or goes to; the chunk is registered with
 *                    that GPU's driver; NULL: the data is in host memory
 *   may_heap  (IN)   whether pageable memory will do when the pool has no chunk
 *   chunk     (OUT)  at least MPL_MIN(sz, MPIDU_gpudt_chunk_max()) bytes, owned by the caller until
 *                    MPIDU_gpudt_chunk_put; NULL: none now, or with may_heap: out of memory */
void MPIDU_gpudt_chunk_get(size_t sz, const void *gpu_addr, bool may_heap,
                           MPIDU_gpudt_chunk_t ** chunk);

/* Return a chunk that neither a GPU nor the network uses any more. */
void MPIDU_gpudt_chunk_put(MPIDU_gpudt_chunk_t * chunk);

/* Mark a chunk that another process may still write to after it is returned: the process has died
 * with a credit for it, and its GPU may still be running. The chunk is not reused before its memory
 * has been replaced. */
void MPIDU_gpudt_chunk_taint(MPIDU_gpudt_chunk_t * chunk);

/* Bytes of the largest chunk. */
size_t MPIDU_gpudt_chunk_max(void);

/* Whether a chunk is one of those for short messages, of one grain, which are adjacent in the
 * pool. */
bool MPIDU_gpudt_chunk_is_small(const MPIDU_gpudt_chunk_t * chunk);

/* Bytes of all of these. */
size_t MPIDU_gpudt_small_sz(void);

/* The name by which another process finds a chunk.
 *   name  (OUT)  of the pool
 *   grain  (OUT)  position of the chunk in the pool, in MPIDU_GPUDT_POOL_GRAIN
 * Returns false if it cannot: the chunk is not from the pool, or the pool is not shared. */
bool MPIDU_gpudt_chunk_export(const MPIDU_gpudt_chunk_t * chunk, MPIDU_gpudt_pool_name_t * name,
                              int *grain);

/* Find the word that holds the state of an offer, in this or another process's pool. Maps the pool
 * at first use. Returns NULL if it cannot be mapped, or if the chunk cannot hold an offer. */
MPL_atomic_uint64_t *MPIDU_gpudt_pool_claim(const MPIDU_gpudt_offer_name_t * name);

/* Learn from another process of the node which GPUs it uses, by the name of its pool, which is
 * mapped at first use. Costs a few loads afterwards.
 *   name  (IN)  as exported there
 * Returns false if the pool cannot be mapped. */
bool MPIDU_gpudt_pool_meet(const MPIDU_gpudt_pool_name_t * name);

/* Unmap another process's pool, which nothing uses any more. */
void MPIDU_gpudt_pool_drop(const MPIDU_gpudt_pool_name_t * name);

/* Find memory of another process's pool, mapping the pool at first use.
 *   name, grain  (IN)  as exported there
 *   len         (IN)  bytes of the chunk that will be used
 *   gpu_addr    (IN)  as for MPIDU_gpudt_chunk_get
 * Returns its address here; NULL: the pool cannot be mapped. Stays mapped until
 * MPIDU_gpudt_pool_drop or MPI_Finalize. */
char *MPIDU_gpudt_pool_import(const MPIDU_gpudt_pool_name_t * name, int grain, size_t len,
                              const void *gpu_addr);

#endif /* MPIDU_GPUDT_STAGING_H_INCLUDED */
