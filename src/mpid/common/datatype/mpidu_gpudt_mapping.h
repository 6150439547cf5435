/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The memory of a pool as one process sees it: a file in memory that other processes of the node can
 * map, registered with GPUs in pieces, each when it is first used. Knows nothing of chunks. For
 * mpidu_gpudt_*.c only; callers hold the lock of the progress engine. */

#ifndef MPIDU_GPUDT_MAPPING_H_INCLUDED
#define MPIDU_GPUDT_MAPPING_H_INCLUDED

#include "mpidimpl.h"
#include "mpidu_gpudt_pool_name.h"
#include "gpudt_host.h"
#include "gpudt_shared.h"

#define MPIDU_GPUDT_NREGIONS 3
#define MPIDU_GPUDT_MAX_PIECES 8192     /* of a pool */

/* Pieces start and end at multiples of this: whole pages, whatever size they have. */
#define MPIDU_GPUDT_PIECE_ALIGN 65536

/* Pieces of one size, next to each other. */
struct MPIDU_gpudt_region {
    uint64_t start;             /* bytes from the beginning of the pool */
    uint64_t piece_sz;          /* bytes */
    uint64_t npieces;
};

/* What a pool begins with, for the processes that map it. */
struct MPIDU_gpudt_pool_head {
    uint64_t token;             /* as in the pool's name */
    struct MPIDU_gpudt_region region[MPIDU_GPUDT_NREGIONS];
    MPL_atomic_int_t version[MPIDU_GPUDT_MAX_PIECES];   /* times that the piece got new memory */
    MPL_atomic_int_t ngpus;
    uint64_t gpu[MPIR_GPUDT_MAX_NAMES]; /* names of those that the pool's process uses */
    MPL_atomic_int_t is_shared[MPIR_GPUDT_MAX_NAMES];   /* by one that maps the pool */
    MPL_atomic_int_t nshared;   /* times that one of these was set */
};

struct MPIDU_gpudt_piece {
    char *mem;
    size_t sz;
    int epoch;                  /* when it was last tried or found to be registered; 0: never */
    int version;                /* of the memory that was registered then */
    bool is_registered;
    bool is_filled;             /* the system has given memory for it; own pool only */
};

/* Memory of this or another process's pool. */
struct MPIDU_gpudt_mapping {
    struct MPIDU_gpudt_mapping *next;
    MPIDU_gpudt_pool_name_t name;
    bool is_own;
    char *mem;                  /* NULL: there is none, or it cannot be mapped, which is final */
    size_t sz;
    struct MPIDU_gpudt_region region[MPIDU_GPUDT_NREGIONS];
    struct MPIDU_gpudt_piece *pieces;   /* of the regions in order */
    int ncompared;              /* own pool: nshared when last looked at; else number of GPUs here and
                                 * there that were compared */
};

/* Make this process's pool. A file that cannot be had costs only that others cannot map it.
 *   map  (IN/OUT)  zeros, with region[] filled in; map->mem is NULL on failure */
void MPIDU_Gpudt_mapping_make(struct MPIDU_gpudt_mapping *map);

/* Undo it. */
void MPIDU_Gpudt_mapping_end(struct MPIDU_gpudt_mapping *map);

/* Find the pool of another process, mapping it at first use.
 * Returns NULL if out of memory; its mem is NULL if it cannot be mapped. Stays until
 * MPIDU_Gpudt_mapping_others_end. */
struct MPIDU_gpudt_mapping *MPIDU_Gpudt_mapping_other(const MPIDU_gpudt_pool_name_t * name);
void MPIDU_Gpudt_mapping_others_end(void);

/* The piece that holds some bytes.
 *   off, len  (IN)  position in the pool, bytes
 * Returns its number; -1: the bytes are not in one piece. */
int MPIDU_Gpudt_mapping_piece(const struct MPIDU_gpudt_mapping *map, size_t off, size_t len);

/* Have a piece of this process's pool ready for use: registered, if a GPU is to use it and that is
 * possible, and in any case there.
 *   gpu_addr  (IN)  as for MPIR_Gpudt_host_register; NULL: for the CPU
 * Returns false if the system has no memory for it. */
bool MPIDU_Gpudt_piece_ready(struct MPIDU_gpudt_mapping *map, int i, const void *gpu_addr);

/* Tell the process of a pool, or the others if it is this one's, which GPUs are in use here, and
 * learn which of them are in use there. */
void MPIDU_Gpudt_mapping_compare(struct MPIDU_gpudt_mapping *map);

/* Have a piece of any pool registered, if that is possible. Costs some loads if it is. */
void MPIDU_Gpudt_piece_register(struct MPIDU_gpudt_mapping *map, int i, const void *gpu_addr);

/* Give new memory to a piece of this process's pool that nobody uses, so that who may still write
 * to its memory, as the GPU of a dead process, does not reach what comes. Other processes register
 * the new memory at their next use.
 * Returns false if the system refuses. */
bool MPIDU_Gpudt_piece_renew(struct MPIDU_gpudt_mapping *map, int i);

#endif /* MPIDU_GPUDT_MAPPING_H_INCLUDED */
