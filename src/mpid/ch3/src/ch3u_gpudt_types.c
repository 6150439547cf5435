/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The datatypes of buffers that are offered to processes of the node (ch3u_gpudt_direct.c). A description that is
 * too long to be part of each offer is in a chunk of its own, from the first message on:
 *
 *     sender                                         receiver
 *       first message: it is written                   reads it, and the engine keeps the datatype with its
 *                                                      lists on the GPU; remembers where it was
 *       MPI_Type_free, and the last message of it:     looks there: when it reads another one, when it frees
 *         it is cleared, and the chunk is returned     one of its own, and every LOOK_EVERY messages. What is
 *                                                      not there any more the engine frees
 *
 * Must not know messages. */

#include "mpidi_gpudt_msg.h"

/* Bytes of the largest description of a datatype that is part of an offer. */
#define INLINE_MAX (MPIDU_GPUDT_OFFER_SZ - MPIR_GPUDT_OFFER_HEAD)

#define LOOK_EVERY 64
#define MAX_SEEN 64             /* as many as the engine keeps */

/* The description of a datatype, in a chunk. Receivers read it while a message of that type is in
 * flight. */
struct published {
    struct published *next, *prev;
    void **slot;                /* of the datatype, which points here */
    MPIDU_gpudt_chunk_t *chunk;
    int grain;
};
static struct published *published = NULL;
static bool has_finalizer = false;

/* Those of other processes that this one has read. */
static struct seen {
    MPIDU_gpudt_pool_name_t pool;
    int grain;
    struct MPIR_Gpudt_peer_type type;
} seen[MAX_SEEN];
static int nseen = 0;
static unsigned oldest = 0, nfound = 0;
static bool must_look = false;

static int types_end(void *unused);

static void finalizer_add(void)
{
    if (!has_finalizer)
        MPIR_Add_finalize(types_end, NULL, MPIR_FINALIZE_CALLBACK_PRIO - 1);
    has_finalizer = true;
}

/* ---- sending ---- */

static void published_free(void *what)
{
    struct published *p = what;

    MPIR_Gpudt_offer_type_clear(p->chunk->mem);
    DL_DELETE(published, p);
    *p->slot = NULL;
    MPIDI_Gpudt_kept_put(p->chunk);
    MPL_free(p);
    must_look = true;
}

/* For MPIR_Add_finalize: before the pool is freed. */
static int types_end(void *unused ATTRIBUTE((unused)))
{
    while (published)
        published_free(published);
    nseen = 0;
    has_finalizer = false;
    return 0;
}

/* Where the description of a buffer's datatype is published, in grains; -1: there is no room. */
static int published_grain(const MPIR_Gpudt_buffer * buffer, size_t sz)
{
    void **slot = MPIR_Gpudt_buffer_published(buffer, published_free);
    struct published *p = *slot;
    MPIDU_gpudt_pool_name_t name;

    if (p)
        return p->grain;
    if (sz > MPIDU_gpudt_chunk_max())
        return -1;
    p = MPL_calloc(1, sizeof(*p), MPL_MEM_BUFFER);
    if (p == NULL)
        return -1;
    p->chunk = MPIDI_Gpudt_kept_get(sz);
    if (p->chunk == NULL || !MPIDU_gpudt_chunk_export(p->chunk, &name, &p->grain)) {
        if (p->chunk)
            MPIDI_Gpudt_kept_put(p->chunk);
        MPL_free(p);
        return -1;
    }
    finalizer_add();
    MPIR_Gpudt_offer_type_write(buffer, p->chunk->mem);
    p->slot = slot;
    *slot = p;
    DL_APPEND(published, p);
    return p->grain;
}

int MPIDI_Gpudt_type_publish(const MPIR_Gpudt_buffer * buffer)
{
    size_t sz = MPIR_Gpudt_offer_type_sz(buffer);
    int grain;

    if (sz <= INLINE_MAX)
        return MPIR_GPUDT_TYPE__INLINE;
    grain = published_grain(buffer, sz);
    return grain < 0 ? MPIR_GPUDT_TYPE__NONE : grain;
}

/* ---- receiving ---- */

static void seen_remove(int i)
{
    MPIR_Gpudt_peer_type_free(&seen[i].type);
    seen[i] = seen[--nseen];
}

/* Free those that are not there any more. The driver may wait for kernels of the program when memory is freed:
 * if there are any, it is left for later. */
static void seen_look(void)
{
    must_look = false;
    if (nseen == 0 || !MPIR_Gpudt_may_unmap())
        return;
    for (int i = nseen - 1; i >= 0; i--) {
        const void *type = MPIDU_gpudt_pool_import(&seen[i].pool, seen[i].grain, sizeof(uint64_t),
                                                   NULL);
        if (type == NULL || !MPIR_Gpudt_offer_type_is(type, &seen[i].type))
            seen_remove(i);
    }
}

static bool is_seen(const struct MPIR_Gpudt_peer_type *type)
{
    int i = 0;

    while (i < nseen && (seen[i].type.id != type->id || seen[i].type.process != type->process))
        i++;
    return i < nseen;
}

/* Remember one. If there are too many, that which was remembered first is forgotten; the engine keeps others
 * in its place, too. */
static void seen_add(const MPIDU_gpudt_pool_name_t * pool, int grain,
                     const struct MPIR_Gpudt_peer_type *type)
{
    struct seen *s;

    finalizer_add();
    seen_look();
    s = &seen[nseen < MAX_SEEN ? nseen++ : oldest++ % MAX_SEEN];
    s->pool = *pool;
    s->grain = grain;
    s->type = *type;
}

bool MPIDI_Gpudt_offer_type_find(const MPIDU_gpudt_offer_name_t * name,
                                 const MPIR_Gpudt_offer_t * offer, const void **type)
{
    struct MPIR_Gpudt_peer_type what;
    size_t sz;
    int grain = MPIR_Gpudt_offer_type_at(offer, &sz);

    *type = NULL;
    if (grain < 0)
        return true;
    *type = MPIDU_gpudt_pool_import(&name->pool, grain, sz, NULL);
    if (*type == NULL)
        return false;
    what = MPIR_Gpudt_offer_type_name(offer, *type);
    if (what.id == 0)           /* cleared: the connection to the sender has failed */
        return false;
    if (!is_seen(&what))
        seen_add(&name->pool, grain, &what);
    else if (must_look || ++nfound % LOOK_EVERY == 0)
        seen_look();
    return true;
}

void MPIDI_Gpudt_types_forget(const MPIDU_gpudt_pool_name_t * pool)
{
    for (int i = nseen - 1; i >= 0; i--) {
        if (seen[i].pool.token == pool->token && seen[i].pool.pid == pool->pid)
            seen_remove(i);
    }
}
