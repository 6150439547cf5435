/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Maps and registers staging pools; see mpidu_gpudt_mapping.h. Must not know messages. */

#include "mpidu_gpudt_mapping.h"

#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#define FILE_NAME "mpich-gpudt"
/* what /proc shows for a descriptor of such a file */
#define FILE_LINK "/memfd:" FILE_NAME " (deleted)"

/* Check every so many uses of pieces whether the contexts that registered them still exist.
 * Otherwise the end of a context is not noticed while messages use another GPU. */
#define LOOK_EVERY 128
static unsigned nuses;

static struct MPIDU_gpudt_mapping *others;      /* pools of other processes */

static struct MPIDU_gpudt_pool_head *head_of(const struct MPIDU_gpudt_mapping *map)
{
    return (struct MPIDU_gpudt_pool_head *) (void *) map->mem;
}

/* ---- both kinds ---- */

/* Describe the pieces of the regions. */
static bool pieces_make(struct MPIDU_gpudt_mapping *map)
{
    struct MPIDU_gpudt_piece *piece;
    size_t n = 0;

    for (int k = 0; k < MPIDU_GPUDT_NREGIONS; k++)
        n += map->region[k].npieces;
    piece = map->pieces = MPL_calloc(n, sizeof(*map->pieces), MPL_MEM_BUFFER);
    if (piece == NULL)
        return false;
    for (int k = 0; k < MPIDU_GPUDT_NREGIONS; k++) {
        for (uint64_t i = 0; i < map->region[k].npieces; i++, piece++) {
            piece->mem = map->mem + map->region[k].start + i * map->region[k].piece_sz;
            piece->sz = map->region[k].piece_sz;
        }
    }
    return true;
}

void MPIDU_Gpudt_mapping_end(struct MPIDU_gpudt_mapping *map)
{
    size_t n = 0;

    if (map->mem == NULL)
        return;
    for (int k = 0; k < MPIDU_GPUDT_NREGIONS; k++)
        n += map->region[k].npieces;
    for (size_t i = 0; map->pieces && i < n; i++) {
        if (map->pieces[i].is_registered)
            MPIR_Gpudt_host_unregister(map->pieces[i].mem, map->pieces[i].sz);
    }
    MPL_free(map->pieces);
    munmap(map->mem, map->sz);
    map->mem = NULL;
    if (map->is_own && map->name.fd >= 0) {
        close(map->name.fd);
        map->name.fd = -1;
    }
}

int MPIDU_Gpudt_mapping_piece(const struct MPIDU_gpudt_mapping *map, size_t off, size_t len)
{
    int first = 0;

    for (int k = 0; k < MPIDU_GPUDT_NREGIONS; k++) {
        const struct MPIDU_gpudt_region *region = &map->region[k];
        if (off >= region->start && off < region->start + region->npieces * region->piece_sz) {
            size_t i = (off - region->start) / region->piece_sz;
            size_t room = (i + 1) * region->piece_sz - (off - region->start);
            return len <= room ? first + (int) i : -1;
        }
        first += region->npieces;
    }
    return -1;
}

MPL_atomic_uint64_t *MPIDU_Gpudt_mapping_claim(const struct MPIDU_gpudt_mapping *map, int grain)
{
    return &head_of(map)->claim[(unsigned) grain & (MPIDU_GPUDT_MAX_CLAIMS - 1)];
}

/* ---- registration ---- */

static int piece_version(const struct MPIDU_gpudt_mapping *map, int i)
{
    return MPL_atomic_acquire_load_int(&head_of(map)->version[i]);
}

/* Publish the GPUs that this process uses, and learn which of them other processes use. */
static void own_compare(struct MPIDU_gpudt_mapping *map, const uint64_t * names, int n)
{
    struct MPIDU_gpudt_pool_head *head = head_of(map);
    int told = MPL_atomic_relaxed_load_int(&head->ngpus);
    int nshared = MPL_atomic_acquire_load_int(&head->nshared);

    if (unlikely(told < n)) {
        for (int i = told; i < n; i++)
            head->gpu[i] = names[i];
        MPL_atomic_release_store_int(&head->ngpus, n);
    }
    for (int i = 0; unlikely(nshared != map->ncompared) && i < n; i++) {
        if (MPL_atomic_relaxed_load_int(&head->is_shared[i]))
            MPIR_Gpudt_shared_note(names[i]);
    }
    map->ncompared = nshared;
}

/* Find the GPUs that the process of a pool uses as well, and tell it. */
static void other_compare(struct MPIDU_gpudt_mapping *map, const uint64_t * names, int n)
{
    struct MPIDU_gpudt_pool_head *head = head_of(map);
    int there = MPL_MIN(MPL_atomic_acquire_load_int(&head->ngpus), MPIR_GPUDT_MAX_NAMES);

    if (likely(n + there == map->ncompared))
        return;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < there; j++) {
            if (head->gpu[j] != names[i])
                continue;
            MPIR_Gpudt_shared_note(names[i]);
            MPL_atomic_relaxed_store_int(&head->is_shared[j], 1);
            MPL_atomic_fetch_add_int(&head->nshared, 1);
        }
    }
    map->ncompared = n + there;
}

void MPIDU_Gpudt_mapping_compare(struct MPIDU_gpudt_mapping *map)
{
    const uint64_t *names;
    int n = MPIR_Gpudt_shared_names(&names);

    if (map->is_own)
        own_compare(map, names, n);
    else
        other_compare(map, names, n);
}

void MPIDU_Gpudt_piece_register(struct MPIDU_gpudt_mapping *map, int i, const void *gpu_addr)
{
    struct MPIDU_gpudt_piece *piece = &map->pieces[i];
    int version = piece_version(map, i), epoch;

    MPIDU_Gpudt_mapping_compare(map);
    epoch = MPIR_Gpudt_host_epoch(++nuses % LOOK_EVERY == 0);
    if (likely(piece->epoch == epoch && piece->version == version))
        return;

    if (piece->is_registered) {
        /* Some context has ended, maybe not the one that registered; or the piece has new memory */
        if (piece->version != version || !MPIR_Gpudt_host_is_registered(piece->mem, piece->sz)) {
            MPIR_Gpudt_host_unregister(piece->mem, piece->sz);
            piece->is_registered = false;
        }
    }
    /* Tried once per epoch: a failure only costs speed */
    if (!piece->is_registered)
        piece->is_registered = MPIR_Gpudt_host_register(gpu_addr, piece->mem, piece->sz,
                                                        map->is_own);
    piece->epoch = epoch;
    piece->version = version;
}

/* ---- this process's pool ---- */

/* By the token a process detects a file that is not the pool, e.g. that of another container. */
static uint64_t token_make(const void *mem)
{
    uint64_t token;

    if (getrandom(&token, sizeof(token), GRND_NONBLOCK) != sizeof(token))
        token = (uint64_t) (uintptr_t) mem ^ (uint64_t) getpid() << 48 ^ (uint64_t) time(NULL);
    return token;
}

/* Allocate the memory of a range of the file. */
static bool file_fill(int fd, off_t off, size_t sz)
{
    int err;

    do {
        err = posix_fallocate(fd, off, (off_t) sz);
    } while (err == EINTR);
    return err == 0;
}

/* Bytes of a pool. All of it is address space only, until it is used. */
static size_t pool_sz(const struct MPIDU_gpudt_mapping *map)
{
    size_t sz = sizeof(struct MPIDU_gpudt_pool_head);

    for (int k = 0; k < MPIDU_GPUDT_NREGIONS; k++)
        sz = MPL_MAX(sz, map->region[k].start + map->region[k].npieces * map->region[k].piece_sz);
    return sz;
}

/* Returns NULL if there is no memory for the head, or files may not be that large: then a signal would end
 * the process. */
static char *file_map(int fd, size_t sz)
{
    struct rlimit limit;
    void *mem;

    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && sz > limit.rlim_cur)
        return NULL;
    if (ftruncate(fd, (off_t) sz) || !file_fill(fd, 0, sizeof(struct MPIDU_gpudt_pool_head)))
        return NULL;
    mem = mmap(NULL, sz, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return mem == MAP_FAILED ? NULL : mem;
}

void MPIDU_Gpudt_mapping_make(struct MPIDU_gpudt_mapping *map)
{
    struct MPIDU_gpudt_pool_head *head;

    map->is_own = true;
    map->sz = pool_sz(map);
    map->name.pid = (int) getpid();
    map->name.fd = memfd_create(FILE_NAME, MFD_CLOEXEC);
    if (map->name.fd >= 0) {
        map->mem = file_map(map->name.fd, map->sz);
        if (map->mem == NULL) {
            close(map->name.fd);
            map->name.fd = -1;
        }
    }
    if (map->mem == NULL) {
        void *mem = mmap(NULL, map->sz, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mem == MAP_FAILED)
            return;
        map->mem = mem;
    }
    if (!pieces_make(map)) {
        MPIDU_Gpudt_mapping_end(map);
        return;
    }
    map->name.token = token_make(map->mem);
    head = head_of(map);
    memcpy(head->region, map->region, sizeof(head->region));
    head->token = map->name.token;
}

bool MPIDU_Gpudt_piece_ready(struct MPIDU_gpudt_mapping *map, int i, const void *gpu_addr)
{
    struct MPIDU_gpudt_piece *piece = &map->pieces[i];

    if (gpu_addr)
        MPIDU_Gpudt_piece_register(map, i, gpu_addr);
    if (unlikely(!piece->is_filled)) {
        /* Registering allocates the memory. Without memory, a write would kill the process */
        piece->is_filled = piece->is_registered || map->name.fd < 0 ||
            file_fill(map->name.fd, piece->mem - map->mem, piece->sz);
    }
    return piece->is_filled;
}

bool MPIDU_Gpudt_piece_renew(struct MPIDU_gpudt_mapping *map, int i)
{
    struct MPIDU_gpudt_piece *piece = &map->pieces[i];

    if (piece->is_registered)
        MPIR_Gpudt_host_unregister(piece->mem, piece->sz);
    piece->is_registered = false;
    piece->epoch = 0;
    if (fallocate(map->name.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, piece->mem - map->mem,
                  (off_t) piece->sz))
        return false;
    piece->is_filled = false;
    MPL_atomic_fetch_add_int(&head_of(map)->version[i], 1);
    MPIR_Gpudt_count_pool(MPIR_GPUDT_POOL__RENEWED);
    return true;
}

/* ---- pools of other processes ---- */

/* Open the file of a name, if it is a pool of a process of this user.
 *   sz  (OUT)  its size
 * Returns the descriptor; -1: it is no such pool, or cannot be opened from here. */
static int pool_open(const MPIDU_gpudt_pool_name_t * name, size_t *sz)
{
    char path[64], link[64];
    struct stat st;
    uint64_t token;
    ssize_t n;
    int fd = -1, found;

    /* O_PATH first: to open some files, devices for example, has side effects, so the file is
     * opened only once it is known to be a pool */
    MPL_snprintf(path, sizeof(path), "/proc/%d/fd/%d", name->pid, name->fd);
    found = open(path, O_PATH | O_CLOEXEC);
    if (found < 0)
        return -1;
    MPL_snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
    n = readlink(path, link, sizeof(link) - 1);
    if (n != sizeof(FILE_LINK) - 1 || memcmp(link, FILE_LINK, n) != 0 || fstat(found, &st) ||
        !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
        st.st_size < (off_t) sizeof(struct MPIDU_gpudt_pool_head))
        goto fn_exit;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        goto fn_exit;
    n = pread(fd, &token, sizeof(token), offsetof(struct MPIDU_gpudt_pool_head, token));
    close(fd);
    fd = -1;
    if (n == sizeof(token) && token == name->token)
        fd = open(path, O_RDWR | O_CLOEXEC);
    *sz = (size_t) st.st_size;

  fn_exit:
    close(found);
    return fd;
}

/* Whether the regions in the head of a pool are plausible. */
static bool regions_are_sane(const struct MPIDU_gpudt_mapping *map)
{
    uint64_t n = 0;

    for (int k = 0; k < MPIDU_GPUDT_NREGIONS; k++) {
        const struct MPIDU_gpudt_region *region = &map->region[k];
        if (region->start > map->sz || region->npieces > MPIDU_GPUDT_MAX_PIECES ||
            region->piece_sz == 0 || region->npieces > (map->sz - region->start) / region->piece_sz)
            return false;
        n += region->npieces;
    }
    return n <= MPIDU_GPUDT_MAX_PIECES;
}

/* Map a pool by its name; map->mem stays NULL on failure. */
static void mapping_open(struct MPIDU_gpudt_mapping *map)
{
    void *mem = MAP_FAILED;
    int fd = pool_open(&map->name, &map->sz);

    if (fd >= 0) {
        mem = mmap(NULL, map->sz, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
    }
    if (mem == MAP_FAILED)
        goto fn_refuse;
    map->mem = mem;
    memcpy(map->region, head_of(map)->region, sizeof(map->region));
    if (!regions_are_sane(map) || !pieces_make(map)) {
        MPIDU_Gpudt_mapping_end(map);
        goto fn_refuse;
    }
    return;

  fn_refuse:
    MPIR_Gpudt_count_pool(MPIR_GPUDT_POOL__REFUSED);
}

/* The link to the pool of another process; the link is NULL if it was not used before. */
static struct MPIDU_gpudt_mapping **other_find(const MPIDU_gpudt_pool_name_t * name)
{
    struct MPIDU_gpudt_mapping **at = &others;

    while (*at && ((*at)->name.token != name->token || (*at)->name.pid != name->pid))
        at = &(*at)->next;
    return at;
}

struct MPIDU_gpudt_mapping *MPIDU_Gpudt_mapping_other(const MPIDU_gpudt_pool_name_t * name)
{
    struct MPIDU_gpudt_mapping *map = *other_find(name);

    if (map)
        return map;
    map = MPL_calloc(1, sizeof(*map), MPL_MEM_BUFFER);
    if (map) {
        map->name = *name;
        mapping_open(map);
        map->next = others;
        others = map;
    }
    return map;
}

/* Unmap the pool of another process.
 *   at  (IN)  the link to it */
static void other_remove(struct MPIDU_gpudt_mapping **at)
{
    struct MPIDU_gpudt_mapping *map = *at;

    *at = map->next;
    MPIDU_Gpudt_mapping_end(map);
    MPL_free(map);
}

void MPIDU_Gpudt_mapping_other_end(const MPIDU_gpudt_pool_name_t * name)
{
    struct MPIDU_gpudt_mapping **at = other_find(name);

    if (*at)
        other_remove(at);
}

void MPIDU_Gpudt_mapping_others_end(void)
{
    while (others)
        other_remove(&others);
}
