/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Which processes share memory with this one. Must not know the protocol.
 *
 * Node numbers tell that within a process group only. A process of another group (spawned, or
 * connected by a port) names its pool in its packets. If this process can open the pool by that
 * name and finds the random number of the name in it, both are on the same node. Until a packet has
 * named it, such a process is taken to be on the node: at worst, an offer is made that the receiver
 * cannot read.
 *
 * What is mapped of such a process is unmapped after its connection has been closed. The driver
 * waits for running kernels to unmap memory, so this is put off while there are any. */

#include "mpidi_gpudt_msg.h"
#include "gpudt_direct.h"

#define NBUCKETS 256            /* a power of 2 */

/* A process of another group that has named its pool. */
struct peer {
    struct peer *next;          /* in its bucket, or in the list of those that are gone */
    const MPIDI_VC_t *vc;
    MPIDU_gpudt_pool_name_t name;
    bool is_far;                /* its pool cannot be mapped */
    uint64_t process;           /* as in its offers; 0: it has made none */
};

static struct peer *buckets[NBUCKETS];
static struct peer *gone;
static bool has_finalizer = false;

/* The link to a peer in its bucket; the link is NULL if it is not there. */
static struct peer **peer_find(const MPIDI_VC_t * vc)
{
    struct peer **at = &buckets[((uintptr_t) vc >> 6) & (NBUCKETS - 1)];

    while (*at && (*at)->vc != vc)
        at = &(*at)->next;
    return at;
}

static void list_free(struct peer **list)
{
    while (*list) {
        struct peer *p = *list;
        *list = p->next;
        MPL_free(p);
    }
}

/* For MPIR_Add_finalize. The pools and the engine unmap what they have mapped. */
static int peers_end(void *unused ATTRIBUTE((unused)))
{
    for (int i = 0; i < NBUCKETS; i++)
        list_free(&buckets[i]);
    list_free(&gone);
    has_finalizer = false;
    return 0;
}

/* Whether the process of a peer that is gone has connected again. */
static bool is_back(const struct peer *gone_peer)
{
    for (int i = 0; i < NBUCKETS; i++) {
        for (const struct peer * p = buckets[i]; p; p = p->next) {
            if (p->name.token == gone_peer->name.token && p->name.pid == gone_peer->name.pid)
                return true;
        }
    }
    return false;
}

/* Unmap what is mapped of processes that are gone, as far as nothing uses it. */
static void gone_drop(void)
{
    struct peer **at = &gone;

    if (gone == NULL || !MPIR_Gpudt_may_unmap())
        return;
    while (*at) {
        struct peer *p = *at;
        if (MPIDI_Gpudt_msgs_exist(p->vc)) {
            at = &p->next;
            continue;
        }
        if (!is_back(p)) {
            MPIDI_Gpudt_types_forget(&p->name);
            MPIDU_gpudt_pool_drop(&p->name);
            MPIR_Gpudt_process_drop(p->process);
        }
        *at = p->next;
        MPL_free(p);
    }
}

bool MPIDI_Gpudt_may_share(const MPIDI_VC_t * vc)
{
    MPIDI_VC_t *own;
    const struct peer *p;

    if (!MPIR_CVAR_GPUDT_SHARE || vc->pg == NULL)
        return false;
    MPIDI_PG_Get_vc(MPIDI_Process.my_pg, MPIDI_Process.my_pg_rank, &own);
    if (likely(vc->pg == MPIDI_Process.my_pg))
        return vc->node_id >= 0 && own->node_id == vc->node_id;
    if (MPIR_CVAR_NOLOCAL)
        return false;
    p = *peer_find(vc);
    return p == NULL || !p->is_far;
}

bool MPIDI_Gpudt_peer_meet(const MPIDI_VC_t * vc, const MPIDU_gpudt_pool_name_t * name)
{
    struct peer **at, *p;

    if (!MPIDI_Gpudt_may_share(vc))
        return false;
    if (likely(vc->pg == MPIDI_Process.my_pg) || name->fd < 0)
        return name->fd >= 0;
    at = peer_find(vc);
    if (*at)
        return !(*at)->is_far;
    p = MPL_calloc(1, sizeof(*p), MPL_MEM_OTHER);
    if (p == NULL)
        return false;
    if (!has_finalizer)
        MPIR_Add_finalize(peers_end, NULL, MPIR_FINALIZE_CALLBACK_PRIO - 1);
    has_finalizer = true;
    p->vc = vc;
    p->name = *name;
    *at = p;
    gone_drop();
    p->is_far = !MPIDU_gpudt_pool_meet(name);
    return !p->is_far;
}

void MPIDI_Gpudt_peer_note(const MPIDI_VC_t * vc, uint64_t process)
{
    struct peer *p;

    if (likely(vc->pg == MPIDI_Process.my_pg))
        return;
    p = *peer_find(vc);
    if (p && process)
        p->process = process;
}

void MPIDI_Gpudt_vc_ended(const MPIDI_VC_t * vc)
{
    struct peer **at = peer_find(vc), *p = *at;

    if (p) {
        *at = p->next;
        p->next = gone;
        gone = p;
    }
    gone_drop();
    MPIDI_Gpudt_rma_vc_ended(vc);
}
