/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The staging pool: host memory that messages with GPU buffers are staged through, and access to
 * the pools of other processes of the node. Must not know messages.
 *
 * A pool is one file in memory, so that other processes can map it:
 *
 *     | head | small ... small | middle ... middle | large | large | ... |
 *            |<-- pieces  of --|-- many  chunks -->|<- a chunk each ---->|
 *
 * It is address space only, until it is used. A piece gets memory when no other piece has a free
 * chunk of its kind. It is registered, so that kernels can access it, when the first message of a
 * GPU uses it, and again when the context that registered it has ended. If that fails it serves as
 * pageable memory, and the engine takes a slower route. Callers hold the lock of the progress
 * engine. */

#include "mpidu_gpudt_mapping.h"
#include "mpidu_gpudt_staging.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_GPUDT_MSG_CHUNK
      category    : GPUDT
      type        : int
      default     : 4194304
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Bytes of a segment of a message with a GPU buffer, which is packed, sent and unpacked as
        one, at most. Rounded up to a multiple of 16384.

    - name        : MPIR_CVAR_GPUDT_MSG_CHUNKS
      category    : GPUDT
      type        : int
      default     : 16
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Chunks of MPIR_CVAR_GPUDT_MSG_CHUNK bytes that a process may have pinned host memory for,
        besides up to 32 MiB for smaller ones. Memory is pinned when it is needed. 0: no pinned
        memory, messages go through pageable memory.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

#define SMALL_SZ MPIDU_GPUDT_POOL_GRAIN  /* bytes of a chunk for short messages */
#define SMALL_MAX 1024          /* chunks */
#define SMALL_PER_LARGE 64
#define SMALL_PIECE_SZ (1024 * 1024)
#define MIDDLE_SZ (512 * 1024)  /* for messages of a few segments */
#define MIDDLE_MAX 32
#define MIDDLE_PER_LARGE 2
#define MIDDLE_PIECE_SZ (2 * 1024 * 1024)
#define LARGE_MAX 4096

/* Registering a large chunk takes as long as sending it several times. While chunks of the kind are
 * in use, at most this share of the time is spent on registering more of them. */
#define GROWTH_SHARE 0.5

enum chunk_kind {
    CHUNK__SMALL,
    CHUNK__MIDDLE,
    CHUNK__LARGE,
    CHUNK__HEAP,                /* chunk and memory are one pageable allocation */
    NKINDS = CHUNK__HEAP        /* in the pool, each in a region of its own */
};

/* Chunks of one size. */
struct kind {
    size_t sz;                  /* bytes of a chunk */
    int per_piece;              /* chunks of a piece */
    int npieces;
    int first_piece;            /* its number in the pool */
    MPIDU_gpudt_chunk_t *chunks;        /* all of them, in the order of pieces */
    int opened;                 /* pieces whose chunks are in use or free */
    MPIDU_gpudt_chunk_t *free;
    int nfree;
    int ntainted;               /* withheld until their memory is replaced */
};

static struct {
    bool is_made;
    struct MPIDU_gpudt_mapping own;     /* own.mem == NULL: there is no memory for a pool */
    struct kind kind[NKINDS];
    struct piece_use {
        int nbusy;              /* chunks in use */
        int ntainted;           /* chunks whose memory is to be replaced */
    } *uses;                    /* of each piece */
    MPIDU_gpudt_chunk_t *chunks;        /* all of them */
    MPL_time_t grown;           /* when memory was last registered for more chunks */
    double pause;               /* seconds after that before more may be registered */
} pool;

static void pool_make(void);
static int pool_free(void *unused);

size_t MPIDU_gpudt_chunk_max(void)
{
    return MPL_ROUND_UP_ALIGN((size_t) MPL_MAX(MPIR_CVAR_GPUDT_MSG_CHUNK, 1),
                              (size_t) MPIDU_GPUDT_POOL_GRAIN);
}

/* ---- chunks ---- */

static MPIDU_gpudt_chunk_t *heap_chunk(size_t sz)
{
    MPIDU_gpudt_chunk_t *chunk;

    sz = MPL_MIN(sz, MPIDU_gpudt_chunk_max());
    chunk = MPL_malloc(sizeof(*chunk) + sz, MPL_MEM_BUFFER);
    if (chunk) {
        chunk->kind = CHUNK__HEAP;
        chunk->mem = (char *) (chunk + 1);
        chunk->sz = sz;
        chunk->is_tainted = false;
        MPIR_Gpudt_count_pool(MPIR_GPUDT_POOL__HEAP_CHUNK);
    }
    return chunk;
}

static void chunk_push(struct kind *kind, MPIDU_gpudt_chunk_t * chunk)
{
    chunk->next = kind->free;
    kind->free = chunk;
    kind->nfree++;
}

/* Whether another piece may be registered now. A message that is refused is served when a chunk is
 * returned, so some chunk must be in use. */
static bool may_grow(const struct kind *kind)
{
    MPL_time_t now;
    double since;

    if (kind->opened * kind->per_piece == kind->nfree + kind->ntainted)
        return true;
    MPL_wtime(&now);
    MPL_wtime_diff(&pool.grown, &now, &since);
    return since >= pool.pause;
}

/* Register another piece and add its chunks to the free ones. */
static bool kind_grow(struct kind *kind, const void *gpu_addr)
{
    MPIDU_gpudt_chunk_t *chunk = &kind->chunks[kind->opened * kind->per_piece];
    MPL_time_t begin;
    double took;
    bool is_ready;

    MPL_wtime(&begin);
    is_ready = MPIDU_Gpudt_piece_ready(&pool.own, kind->first_piece + kind->opened, gpu_addr);
    MPL_wtime(&pool.grown);
    MPL_wtime_diff(&begin, &pool.grown, &took);
    pool.pause = took * (1 / GROWTH_SHARE - 1);
    if (!is_ready)
        return false;
    kind->opened++;
    /* The first chunk of the piece is to be used first */
    for (int i = kind->per_piece - 1; i >= 0; i--)
        chunk_push(kind, &chunk[i]);
    return true;
}

/* Take a chunk from the pool; NULL: none now. */
static MPIDU_gpudt_chunk_t *pool_get(size_t sz, const void *gpu_addr, bool must)
{
    for (int k = 0; k < NKINDS; k++) {
        struct kind *kind = &pool.kind[k];
        MPIDU_gpudt_chunk_t *chunk;

        if (sz > kind->sz && k != CHUNK__LARGE)
            continue;
        if (kind->free == NULL && kind->opened < kind->npieces) {
            if (!must && !may_grow(kind))
                return NULL;
            kind_grow(kind, gpu_addr);
        }
        chunk = kind->free;
        if (chunk && MPIDU_Gpudt_piece_ready(&pool.own, chunk->piece, gpu_addr)) {
            kind->free = chunk->next;
            kind->nfree--;
            pool.uses[chunk->piece].nbusy++;
            return chunk;
        }
    }
    return NULL;
}

void MPIDU_gpudt_chunk_get(size_t sz, const void *gpu_addr, bool may_heap,
                           MPIDU_gpudt_chunk_t ** chunk)
{
    if (!pool.is_made)
        pool_make();
    *chunk = pool_get(sz, gpu_addr, may_heap);
    if (*chunk == NULL && may_heap)
        *chunk = heap_chunk(sz);
}

void MPIDU_gpudt_chunk_taint(MPIDU_gpudt_chunk_t * chunk)
{
    /* Other processes can write only to what they can map */
    chunk->is_tainted = chunk->kind != CHUNK__HEAP && pool.own.name.fd >= 0;
}

/* A piece is no longer in use, and some of its memory may still be written to: replace the
 * memory. */
static void piece_renew(struct kind *kind, int i)
{
    MPIDU_gpudt_chunk_t *chunk = &kind->chunks[(i - kind->first_piece) * kind->per_piece];

    if (!MPIDU_Gpudt_piece_renew(&pool.own, i))
        return;
    for (int c = 0; c < kind->per_piece; c++) {
        if (chunk[c].is_tainted) {
            chunk[c].is_tainted = false;
            chunk_push(kind, &chunk[c]);
        }
    }
    kind->ntainted -= pool.uses[i].ntainted;
    pool.uses[i].ntainted = 0;
}

void MPIDU_gpudt_chunk_put(MPIDU_gpudt_chunk_t * chunk)
{
    struct kind *kind;
    struct piece_use *use;

    if (chunk->kind == CHUNK__HEAP) {
        MPL_free(chunk);
        return;
    }
    kind = &pool.kind[chunk->kind];
    use = &pool.uses[chunk->piece];
    use->nbusy--;
    if (likely(!chunk->is_tainted)) {
        chunk_push(kind, chunk);
    } else {
        kind->ntainted++;
        use->ntainted++;
    }
    if (unlikely(use->ntainted && use->nbusy == 0))
        piece_renew(kind, chunk->piece);
}

bool MPIDU_gpudt_chunk_is_small(const MPIDU_gpudt_chunk_t * chunk)
{
    return chunk->kind == CHUNK__SMALL;
}

size_t MPIDU_gpudt_small_sz(void)
{
    const struct kind *kind = &pool.kind[CHUNK__SMALL];

    return kind->npieces * kind->per_piece * kind->sz;
}

bool MPIDU_gpudt_chunk_export(const MPIDU_gpudt_chunk_t * chunk, MPIDU_gpudt_pool_name_t * name,
                              int *grain)
{
    if (chunk->kind == CHUNK__HEAP || pool.own.name.fd < 0)
        return false;
    *name = pool.own.name;
    *grain = (int) ((chunk->mem - pool.own.mem) / MPIDU_GPUDT_POOL_GRAIN);
    return true;
}

/* ---- the pool ---- */

/* Choose number and size of the chunks of a kind. */
static void kind_choose(int k, size_t sz, int count, size_t piece_sz)
{
    struct kind *kind = &pool.kind[k];

    kind->sz = MPL_MIN(sz, MPIDU_gpudt_chunk_max());
    kind->per_piece = MPL_MAX(1, MPL_MIN((size_t) count, piece_sz / kind->sz));
    kind->npieces = (count + kind->per_piece - 1) / kind->per_piece;
}

/* Assign regions to the kinds. Returns the number of chunks. */
static int kinds_place(void)
{
    size_t at = MPL_ROUND_UP_ALIGN(sizeof(struct MPIDU_gpudt_pool_head),
                                   (size_t) MPIDU_GPUDT_PIECE_ALIGN);
    int nchunks = 0, npieces = 0;

    for (int k = 0; k < NKINDS; k++) {
        struct kind *kind = &pool.kind[k];
        struct MPIDU_gpudt_region *region = &pool.own.region[k];
        region->start = at;
        region->piece_sz = MPL_ROUND_UP_ALIGN(kind->per_piece * kind->sz,
                                              (size_t) MPIDU_GPUDT_PIECE_ALIGN);
        region->npieces = kind->npieces;
        at += kind->npieces * region->piece_sz;
        kind->first_piece = npieces;
        npieces += kind->npieces;
        nchunks += kind->npieces * kind->per_piece;
    }
    return nchunks;
}

/* Describe the chunks of a kind.
 *   chunks  (OUT)  kind->npieces * kind->per_piece of them */
static void chunks_place(int k, MPIDU_gpudt_chunk_t * chunks)
{
    struct kind *kind = &pool.kind[k];

    kind->chunks = chunks;
    for (int i = 0; i < kind->npieces * kind->per_piece; i++) {
        chunks[i].kind = k;
        chunks[i].sz = kind->sz;
        chunks[i].piece = kind->first_piece + i / kind->per_piece;
        chunks[i].mem = pool.own.pieces[chunks[i].piece].mem + i % kind->per_piece * kind->sz;
        chunks[i].is_tainted = false;
    }
}

static void pool_make(void)
{
    int n = MPL_MIN(MPL_MAX(MPIR_CVAR_GPUDT_MSG_CHUNKS, 0), LARGE_MAX);
    MPIDU_gpudt_chunk_t *chunks;

    memset(&pool, 0, sizeof(pool));
    pool.is_made = true;
    pool.own.name.fd = -1;
    /* After the messages that hold chunks are freed, before the engine is */
    MPIR_Add_finalize(pool_free, NULL, MPIR_FINALIZE_CALLBACK_PRIO - 2);
    if (n == 0)
        return;

    kind_choose(CHUNK__SMALL, SMALL_SZ, MPL_MIN(SMALL_MAX, SMALL_PER_LARGE * n), SMALL_PIECE_SZ);
    kind_choose(CHUNK__MIDDLE, MIDDLE_SZ, MPL_MIN(MIDDLE_MAX, MIDDLE_PER_LARGE * n),
                MIDDLE_PIECE_SZ);
    kind_choose(CHUNK__LARGE, MPIDU_gpudt_chunk_max(), n, MPIDU_gpudt_chunk_max());
    chunks = MPL_calloc(kinds_place(), sizeof(*chunks), MPL_MEM_BUFFER);
    pool.uses = MPL_calloc(MPIDU_GPUDT_MAX_PIECES, sizeof(*pool.uses), MPL_MEM_BUFFER);
    if (chunks && pool.uses)
        MPIDU_Gpudt_mapping_make(&pool.own);
    if (pool.own.mem == NULL) {
        MPL_free(chunks);
        MPL_free(pool.uses);
        pool.uses = NULL;
        memset(pool.kind, 0, sizeof(pool.kind));
        return;
    }
    pool.chunks = chunks;
    for (int k = 0; k < NKINDS; k++) {
        chunks_place(k, chunks);
        chunks += pool.kind[k].npieces * pool.kind[k].per_piece;
    }
}

/* For MPIR_Add_finalize; MPI may be initialised again afterwards. */
static int pool_free(void *unused ATTRIBUTE((unused)))
{
    MPIDU_Gpudt_mapping_end(&pool.own);
    MPIDU_Gpudt_mapping_others_end();
    MPL_free(pool.chunks);
    MPL_free(pool.uses);
    pool.is_made = false;
    return 0;
}

char *MPIDU_gpudt_pool_import(const MPIDU_gpudt_pool_name_t * name, int grain, size_t len,
                              const void *gpu_addr)
{
    size_t off = (size_t) grain * MPIDU_GPUDT_POOL_GRAIN;
    struct MPIDU_gpudt_mapping *map;
    int piece;

    if (!pool.is_made)
        pool_make();
    map = MPIDU_Gpudt_mapping_other(name);
    if (map == NULL || map->mem == NULL)
        return NULL;
    piece = MPIDU_Gpudt_mapping_piece(map, off, len);
    if (piece < 0)
        return NULL;
    if (gpu_addr)
        MPIDU_Gpudt_piece_register(map, piece, gpu_addr);
    return map->mem + off;
}

MPL_atomic_uint64_t *MPIDU_gpudt_pool_claim(const MPIDU_gpudt_offer_name_t * name)
{
    struct MPIDU_gpudt_mapping *map = &pool.own;

    if (!pool.is_made)
        pool_make();
    if (name->pool.token != pool.own.name.token)
        map = MPIDU_Gpudt_mapping_other(&name->pool);
    return map && map->mem && name->grain >= 0 ? MPIDU_Gpudt_mapping_claim(map, name->grain) : NULL;
}

bool MPIDU_gpudt_pool_meet(const MPIDU_gpudt_pool_name_t * name)
{
    struct MPIDU_gpudt_mapping *map;

    if (!pool.is_made)
        pool_make();
    map = MPIDU_Gpudt_mapping_other(name);
    if (map == NULL || map->mem == NULL)
        return false;
    MPIDU_Gpudt_mapping_compare(map);
    return true;
}

void MPIDU_gpudt_pool_drop(const MPIDU_gpudt_pool_name_t * name)
{
    MPIDU_Gpudt_mapping_other_end(name);
}
