/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The offers of the last collective of a kind among GPUs of a node, see ch3u_gpudt_pull.c. Programs
 * repeat calls: if no process offers anything else than the last time, offers are not exchanged
 * again. Offers have numbers of allocations that are never used again, so that equal ones mean the
 * same memory.
 *
 * Whether they are exchanged must be decided alike by all. Each exchange has a number, which all give
 * it, greater than those before: by the greatest number that any process knows. Each process tells
 * in which exchange it offered the same as now; if all name the same one, all have kept its offers.
 * So a process that has missed an exchange, or has no memory to keep it, only makes the others exchange
 * again. */

#include "mpidimpl.h"
#include "mpidi_gpudt_move_impl.h"

struct MPIDI_Gpudt_kept {
    uint64_t number;            /* of the exchange; 0: what follows is not valid */
    int root;                   /* offers to another process are not known */
    int64_t own_sz, slot_sz;    /* bytes of the longest offer of this process, and of a slot */
    size_t room;                /* bytes at mem */
    uint64_t mem[];             /* slots as in struct MPIDI_Gpudt_move */
};

/* Whether the offers of this process, of which the longest has own_sz bytes, are those that it has
 * kept. */
static bool are_same(struct MPIDI_Gpudt_move *m, const struct MPIDI_Gpudt_kept *kept)
{
    const int size = m->comm->local_size;
    const char *mem = (const char *) kept->mem;
    /* On the stack, as in MPIDI_Gpudt_move_do */
    uint64_t offers[(size_t) size * (size_t) kept->own_sz / sizeof(uint64_t) + 1];

    if (kept->own_sz == 0)
        return true;
    m->slots = (char *) offers;
    m->offer_sz = kept->own_sz;
    MPIDI_Gpudt_move_offer(m);
    for (int i = 0; i < size; i++) {
        if (memcmp(m->slots + i * kept->own_sz, mem + i * kept->slot_sz, (size_t) kept->own_sz))
            return false;
    }
    return true;
}

void MPIDI_Gpudt_kept_compare(struct MPIDI_Gpudt_move *m, const struct MPIDI_Gpudt_kept *kept,
                              struct MPIDI_Gpudt_ability *own)
{
    own->last = m->comm->dev.gpudt_coll.nexchanges;
    own->same = 0;
    /* The offers of a process that is not able to may be too long for the stack */
    if (own->is_able && kept && kept->number && kept->root == m->root &&
        kept->own_sz == own->offer_sz && are_same(m, kept))
        own->same = kept->number;
}

bool MPIDI_Gpudt_kept_use(struct MPIDI_Gpudt_move *m, struct MPIDI_Gpudt_kept *kept,
                          const struct MPIDI_Gpudt_ability *all)
{
    for (int i = 0; i < m->comm->local_size; i++) {
        if (all[i].same == 0 || all[i].same != all[0].same)
            return false;
    }
    m->offer_sz = kept->slot_sz;
    m->slots = (char *) kept->mem;
    MPIR_Gpudt_count_offers_kept();
    return true;
}

void MPIDI_Gpudt_kept_number(MPIR_Comm * comm, const struct MPIDI_Gpudt_ability *all)
{
    uint64_t *n = &comm->dev.gpudt_coll.nexchanges;

    for (int i = 0; i < comm->local_size; i++)
        *n = MPL_MAX(*n, all[i].last);
    ++*n;
}

void MPIDI_Gpudt_kept_set(const struct MPIDI_Gpudt_move *m, int64_t own_sz,
                          struct MPIDI_Gpudt_kept **kept)
{
    const size_t n = 2 * (size_t) m->comm->local_size * (size_t) m->offer_sz;
    struct MPIDI_Gpudt_kept *k = *kept;

    if (k == NULL || k->room < n) {
        MPL_free(k);
        *kept = k = MPL_malloc(sizeof(*k) + n, MPL_MEM_COMM);
        if (k == NULL)
            return;
        k->room = n;
    }
    memcpy(k->mem, m->slots, n);
    k->root = m->root;
    k->own_sz = own_sz;
    k->slot_sz = m->offer_sz;
    k->number = m->comm->dev.gpudt_coll.nexchanges;
}

void MPIDI_Gpudt_kept_forget(struct MPIDI_Gpudt_kept *kept)
{
    if (kept)
        kept->number = 0;
}

void MPIDI_Gpudt_kept_free(MPIR_Comm * comm)
{
    for (int i = 0; i < MPIDI_GPUDT_NCOLLS; i++)
        MPL_free(comm->dev.gpudt_coll.kept[i]);
}
