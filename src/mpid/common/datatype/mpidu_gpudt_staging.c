/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The pool of host memory through which messages to and from GPU buffers pass, and the pools of
 * other processes of the node. Must not know messages.
 *
 * A pool is one anonymous file in memory, so that other processes can map it:
 *
 *     | token | small | small | ... | middle | middle | ... |   large   |   large   | ... |
 *
 * It is made when the first message needs it, and pinned, which is what lets a GPU's kernels access
 * it, when the first message of a GPU comes. Where pinning fails it serves as ordinary memory, and
 * the engine takes a longer route. Callers hold the lock of the progress engine. */

#include "mpidimpl.h"
#include "mpidu_gpudt_staging.h"
#include "gpudt_host.h"

#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

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
        Bytes of a message with a GPU buffer that are packed, sent and unpacked in one piece, at
        most. Rounded up to a multiple of 16384.

    - name        : MPIR_CVAR_GPUDT_MSG_CHUNKS
      category    : GPUDT
      type        : int
      default     : 16
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Pieces of MPIR_CVAR_GPUDT_MSG_CHUNK bytes that a process has pinned host memory for, besides
        up to 17 MiB for smaller ones. 0: no pinned memory, messages go through pageable memory.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

#define SMALL_SZ MPIDU_GPUDT_POOL_UNIT  /* bytes of a chunk for short messages */
#define SMALL_COUNT 64
#define MIDDLE_SZ (512 * 1024)  /* for messages that are cut into few chunks */
#define MIDDLE_COUNT 32

enum chunk_kind {
    CHUNK__SMALL,
    CHUNK__MIDDLE,
    CHUNK__LARGE,
    CHUNK__HEAP,                /* the chunk and its memory are one allocation */
    NKINDS = CHUNK__HEAP        /* in the pool */
};

/* Memory of this or another process's pool, as this process sees it. */
struct mapping {
    struct mapping *next;
    MPIDU_gpudt_pool_name_t name;
    char *mem;                  /* NULL: cannot be mapped, which is final */
    size_t sz;
    enum { PIN__NEW, PIN__DONE, PIN__FAILED } pin;
};

static struct {
    bool is_made;
    struct mapping own;         /* own.mem == NULL: there is no memory for a pool */
    MPIDU_gpudt_chunk_t *chunks;        /* all of them */
    MPIDU_gpudt_chunk_t *free[NKINDS];
    struct mapping *others;
} pool;

static void pool_make(void);
static int pool_free(void *unused);
static void mapping_pin(struct mapping *map, const void *gpu_addr);
static void mapping_end(struct mapping *map);

size_t MPIDU_gpudt_chunk_max(void)
{
    return MPL_ROUND_UP_ALIGN((size_t) MPL_MAX(MPIR_CVAR_GPUDT_MSG_CHUNK, 1),
                              (size_t) MPIDU_GPUDT_POOL_UNIT);
}

static size_t kind_sz(int kind)
{
    switch (kind) {
        case CHUNK__SMALL:
            return SMALL_SZ;
        case CHUNK__MIDDLE:
            return MPL_MIN(MIDDLE_SZ, MPIDU_gpudt_chunk_max());
        default:
            return MPIDU_gpudt_chunk_max();
    }
}

static int kind_count(int kind)
{
    int n = MPL_MAX(MPIR_CVAR_GPUDT_MSG_CHUNKS, 0);

    if (n == 0 || kind == CHUNK__LARGE)
        return n;
    return kind == CHUNK__SMALL ? SMALL_COUNT : MPL_MIN(MIDDLE_COUNT, 2 * n);
}

static MPIDU_gpudt_chunk_t *heap_chunk(size_t sz)
{
    MPIDU_gpudt_chunk_t *chunk;

    sz = MPL_MIN(sz, MPIDU_gpudt_chunk_max());
    chunk = MPL_malloc(sizeof(*chunk) + sz, MPL_MEM_BUFFER);
    if (chunk) {
        chunk->kind = CHUNK__HEAP;
        chunk->mem = (char *) (chunk + 1);
        chunk->sz = sz;
        MPIR_Gpudt_count_heap_chunk();
    }
    return chunk;
}

void MPIDU_gpudt_chunk_get(size_t sz, const void *gpu_addr, bool may_heap,
                           MPIDU_gpudt_chunk_t ** chunk)
{
    if (!pool.is_made)
        pool_make();
    if (gpu_addr)
        mapping_pin(&pool.own, gpu_addr);

    *chunk = NULL;
    for (int kind = 0; kind < NKINDS; kind++) {
        if (pool.free[kind] && (sz <= kind_sz(kind) || kind == CHUNK__LARGE)) {
            *chunk = pool.free[kind];
            pool.free[kind] = (*chunk)->next;
            return;
        }
    }
    if (may_heap)
        *chunk = heap_chunk(sz);
}

void MPIDU_gpudt_chunk_put(MPIDU_gpudt_chunk_t * chunk)
{
    if (chunk->kind == CHUNK__HEAP) {
        MPL_free(chunk);
    } else {
        chunk->next = pool.free[chunk->kind];
        pool.free[chunk->kind] = chunk;
    }
}

bool MPIDU_gpudt_chunk_export(const MPIDU_gpudt_chunk_t * chunk, MPIDU_gpudt_pool_name_t * name,
                              int *unit)
{
    if (chunk->kind == CHUNK__HEAP || pool.own.name.fd < 0)
        return false;
    *name = pool.own.name;
    *unit = (int) ((chunk->mem - pool.own.mem) / MPIDU_GPUDT_POOL_UNIT);
    return true;
}

/* ---- this process's pool ---- */

/* Get the pool's memory. A file that cannot be had costs only that others cannot map it. */
static void own_map(struct mapping *own, size_t sz)
{
    void *mem = MAP_FAILED;

    own->sz = sz;
    own->name.pid = (int) getpid();
    own->name.fd = memfd_create("mpich-gpudt", MFD_CLOEXEC);
    if (own->name.fd >= 0) {
        if (ftruncate(own->name.fd, (off_t) sz) == 0)
            mem = mmap(NULL, sz, PROT_READ | PROT_WRITE, MAP_SHARED, own->name.fd, 0);
        if (mem == MAP_FAILED) {
            close(own->name.fd);
            own->name.fd = -1;
        }
    }
    if (mem == MAP_FAILED)
        mem = mmap(NULL, sz, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mem != MAP_FAILED) {
        own->mem = mem;
        /* A process in another container may take some other file for this one, but not with
         * this */
        if (getrandom(&own->name.token, sizeof(own->name.token), GRND_NONBLOCK) !=
            sizeof(own->name.token))
            own->name.token = (uint64_t) (uintptr_t) mem ^ (uint64_t) own->name.pid << 48 ^
                (uint64_t) time(NULL);
        *(uint64_t *) own->mem = own->name.token;
    }
}

static void pool_make(void)
{
    size_t sz = MPIDU_GPUDT_POOL_UNIT;
    int n = 0;
    char *at;

    memset(&pool, 0, sizeof(pool));
    pool.is_made = true;
    pool.own.name.fd = -1;
    /* After the messages that hold chunks, before the engine */
    MPIR_Add_finalize(pool_free, NULL, MPIR_FINALIZE_CALLBACK_PRIO - 2);

    for (int kind = 0; kind < NKINDS; kind++) {
        n += kind_count(kind);
        sz += kind_count(kind) * kind_sz(kind);
    }
    if (n == 0)
        return;
    pool.chunks = MPL_malloc(n * sizeof(*pool.chunks), MPL_MEM_BUFFER);
    if (pool.chunks == NULL)
        return;
    own_map(&pool.own, sz);
    if (pool.own.mem == NULL)
        return;

    n = 0;
    at = pool.own.mem + MPIDU_GPUDT_POOL_UNIT;
    for (int kind = 0; kind < NKINDS; kind++) {
        for (int i = 0; i < kind_count(kind); i++) {
            MPIDU_gpudt_chunk_t *chunk = &pool.chunks[n++];
            chunk->kind = kind;
            chunk->mem = at;
            chunk->sz = kind_sz(kind);
            chunk->next = pool.free[kind];
            pool.free[kind] = chunk;
            at += chunk->sz;
        }
    }
}

/* For MPIR_Add_finalize; MPI may be initialised again afterwards. */
static int pool_free(void *unused ATTRIBUTE((unused)))
{
    mapping_end(&pool.own);
    if (pool.own.name.fd >= 0)
        close(pool.own.name.fd);
    while (pool.others) {
        struct mapping *map = pool.others;
        pool.others = map->next;
        mapping_end(map);
        MPL_free(map);
    }
    MPL_free(pool.chunks);
    pool.is_made = false;
    return 0;
}

/* ---- mappings ---- */

/* Let GPUs access the memory. Tried once: a failure costs speed only. */
static void mapping_pin(struct mapping *map, const void *gpu_addr)
{
    if (likely(map->pin != PIN__NEW) || map->mem == NULL)
        return;
    map->pin = MPIR_Gpudt_host_register(gpu_addr, map->mem, map->sz, map == &pool.own) ?
        PIN__DONE : PIN__FAILED;
}

static void mapping_end(struct mapping *map)
{
    if (map->mem == NULL)
        return;
    if (map->pin == PIN__DONE)
        MPIR_Gpudt_host_unregister(map->mem, map->sz);
    munmap(map->mem, map->sz);
    map->mem = NULL;
}

/* Map the file that another process of this user has open, if this process can see it: it cannot
 * where the two are in different containers. */
static void other_map(struct mapping *map)
{
    char path[64];
    struct stat st;
    void *mem;
    int fd;

    MPL_snprintf(path, sizeof(path), "/proc/%d/fd/%d", map->name.pid, map->name.fd);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= MPIDU_GPUDT_POOL_UNIT) {
        mem = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (mem != MAP_FAILED) {
            if (*(uint64_t *) mem == map->name.token) {
                map->mem = mem;
                map->sz = st.st_size;
            } else {
                munmap(mem, st.st_size);
            }
        }
    }
    close(fd);
}

char *MPIDU_gpudt_pool_import(const MPIDU_gpudt_pool_name_t * name, int unit, size_t len,
                              const void *gpu_addr)
{
    struct mapping *map;
    size_t off = (size_t) unit * MPIDU_GPUDT_POOL_UNIT;

    if (!pool.is_made)
        pool_make();
    for (map = pool.others; map; map = map->next) {
        if (map->name.token == name->token && map->name.pid == name->pid)
            break;
    }
    if (map == NULL) {
        map = MPL_calloc(1, sizeof(*map), MPL_MEM_BUFFER);
        if (map == NULL)
            return NULL;
        map->name = *name;
        other_map(map);
        map->next = pool.others;
        pool.others = map;
    }
    if (map->mem == NULL || off > map->sz || len > map->sz - off)
        return NULL;
    if (gpu_addr)
        mapping_pin(map, gpu_addr);
    return map->mem + off;
}
