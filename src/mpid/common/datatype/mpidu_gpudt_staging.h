/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Host memory through which messages to and from GPU buffers pass: a bounded pool of chunks that
 * GPUs can access. Knows nothing of messages and datatypes. */

#ifndef MPIDU_GPUDT_STAGING_H_INCLUDED
#define MPIDU_GPUDT_STAGING_H_INCLUDED

#include "mpidu_gpudt_pool_name.h"

typedef struct MPIDU_gpudt_chunk {
    struct MPIDU_gpudt_chunk *next;     /* in the pool's list of free ones */
    char *mem;
    size_t sz;                  /* bytes at mem */
    int kind;                   /* this and the rest: for mpidu_gpudt_staging.c */
    int piece;                  /* what it is part of; not for pageable memory */
    bool is_tainted;            /* see MPIDU_gpudt_chunk_taint */
} MPIDU_gpudt_chunk_t;

/* Chunks start at multiples of this in the pool, bytes. */
#define MPIDU_GPUDT_POOL_UNIT 16384

/* Get a chunk, making the pool at first use. Memory is taken from the system, and registered with GPUs,
 * when no other is free. While chunks of the size are in use that is not done all the time: the
 * answer then is that there is none now.
 *   sz        (IN)   bytes wanted, more than 0
 *   gpu_addr  (IN)   GPU memory that the data comes from or goes to, so that the pool is made known
 *                    to that GPU's driver; NULL: the data is in host memory
 *   may_heap  (IN)   whether pageable memory will do when the pool has no chunk
 *   chunk     (OUT)  at least MPL_MIN(sz, MPIDU_gpudt_chunk_max()) bytes, owned by the caller until
 *                    MPIDU_gpudt_chunk_put; NULL: none now, or with may_heap: out of memory */
void MPIDU_gpudt_chunk_get(size_t sz, const void *gpu_addr, bool may_heap,
                           MPIDU_gpudt_chunk_t ** chunk);

/* Give a chunk back, when neither a GPU nor the network uses it any more. */
void MPIDU_gpudt_chunk_put(MPIDU_gpudt_chunk_t * chunk);

/* Say that another process may still write to a chunk when it is given back: the process has died with
 * a right to do so, and its GPU may be at work. The chunk is given out again when its memory has been
 * replaced. */
void MPIDU_gpudt_chunk_taint(MPIDU_gpudt_chunk_t * chunk);

/* Bytes of the largest chunk. */
size_t MPIDU_gpudt_chunk_max(void);

/* How another process finds a chunk.
 *   name  (OUT)  of the pool
 *   unit  (OUT)  where the chunk is in it, in units
 * Returns false if it cannot: the chunk is not from the pool, or the pool is not shared. */
bool MPIDU_gpudt_chunk_export(const MPIDU_gpudt_chunk_t * chunk, MPIDU_gpudt_pool_name_t * name,
                              int *unit);

/* Learn from another process of the node which GPUs it uses, by the name of its pool, which is mapped at first
 * use. Costs some loads afterwards.
 *   name  (IN)  as exported there */
void MPIDU_gpudt_pool_meet(const MPIDU_gpudt_pool_name_t * name);

/* Find memory of another process's pool, mapping the pool at first use.
 *   name, unit  (IN)  as exported there
 *   len         (IN)  bytes of the chunk that will be used
 *   gpu_addr    (IN)  as for MPIDU_gpudt_chunk_get
 * Returns its address here; NULL: the pool cannot be mapped. Stays mapped until MPI_Finalize. */
char *MPIDU_gpudt_pool_import(const MPIDU_gpudt_pool_name_t * name, int unit, size_t len,
                              const void *gpu_addr);

#endif /* MPIDU_GPUDT_STAGING_H_INCLUDED */
