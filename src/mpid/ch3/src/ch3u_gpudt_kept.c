/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The offers of the last collectives of a kind among GPUs of a node, see ch3u_gpudt_pull.c. Programs
 * repeat calls, often on a few arrays in turn: if no process offers anything else than in one of those,
 * offers are not exchanged again. Offers have numbers of allocations that are never used again, so that
 * equal ones mean the same memory.
 *
 * Whether they are exchanged must be decided alike by all. Each exchange has a number, which all give
 * it, greater than those before: by the greatest number that any process knows. Each process tells
 * in which exchanges it offered the same as now; if all name the same one, all have kept its offers. If
 * they do so for several, the last one is meant. So a process that has missed an exchange, or has no
 * memory to keep it, only makes the others exchange again. */

#include "mpidimpl.h"
#include "mpidi_gpudt_move_impl.h"

struct exchange {
    uint64_t number;
    uint64_t last_use;          /* number of the call that used it last */
    int root;                   /* offers to another process are not known */
    int64_t own_sz, slot_sz;    /* bytes of the longest offer of this process, and of a slot */
    size_t room;                /* bytes at mem */
    uint64_t mem[];             /* slots as in struct MPIDI_Gpudt_move */
};

struct MPIDI_Gpudt_kept {
    struct exchange *exchange[MPIDI_GPUDT_NKEPT];       /* NULL: none */
    uint64_t nuses;             /* calls that used one */
};

/* Whether this process offered the same in an exchange. Its offers now are in m's slots. */
static bool is_same(const struct MPIDI_Gpudt_move *m, const struct exchange *e)
{
    const char *mem = (const char *) e->mem;

    if (e->root != m->root || e->own_sz != m->offer_sz)
        return false;
    for (int i = 0; i < m->comm->local_size && e->own_sz > 0; i++) {
        if (memcmp(m->slots + i * e->own_sz, mem + i * e->slot_sz, (size_t) e->own_sz))
            return false;
    }
    return true;
}

/* Name the exchanges in which this process, whose longest offer has own_sz bytes, offered the same. */
static void same_find(struct MPIDI_Gpudt_move *m, const struct MPIDI_Gpudt_kept *kept,
                      int64_t own_sz, uint64_t * same)
{
    /* On the stack, as in MPIDI_Gpudt_move_do */
    uint64_t offers[(size_t) m->comm->local_size * (size_t) own_sz / sizeof(uint64_t) + 1];

    m->slots = (char *) offers;
    m->offer_sz = own_sz;
    if (own_sz > 0)
        MPIDI_Gpudt_move_offer(m);
    for (int i = 0; i < MPIDI_GPUDT_NKEPT; i++) {
        if (kept->exchange[i] && is_same(m, kept->exchange[i]))
            *same++ = kept->exchange[i]->number;
    }
}

void MPIDI_Gpudt_kept_compare(struct MPIDI_Gpudt_move *m, const struct MPIDI_Gpudt_kept *kept,
                              struct MPIDI_Gpudt_ability *own)
{
    own->last = m->comm->dev.gpudt_coll.nexchanges;
    memset(own->same, 0, sizeof(own->same));
    /* The offers of a process that is not able to may be too long for the stack */
    if (own->is_able && kept)
        same_find(m, kept, own->offer_sz, own->same);
}

static bool is_named(const struct MPIDI_Gpudt_ability *a, uint64_t number)
{
    for (int i = 0; i < MPIDI_GPUDT_NKEPT; i++) {
        if (a->same[i] == number)
            return true;
    }
    return false;
}

/* The last exchange that all processes name; 0: there is none. */
static uint64_t number_find(const MPIR_Comm * comm, const struct MPIDI_Gpudt_ability *all)
{
    uint64_t found = 0;

    for (int k = 0; k < MPIDI_GPUDT_NKEPT; k++) {
        const uint64_t number = all[0].same[k];
        int i = 1;
        while (number > found && i < comm->local_size && is_named(&all[i], number))
            i++;
        if (i == comm->local_size && number > found)
            found = number;
    }
    return found;
}

bool MPIDI_Gpudt_kept_use(struct MPIDI_Gpudt_move *m, struct MPIDI_Gpudt_kept *kept,
                          const struct MPIDI_Gpudt_ability *all)
{
    const uint64_t number = number_find(m->comm, all);
    struct exchange *e;
    int i = 0;

    if (number == 0)
        return false;
    while (i < MPIDI_GPUDT_NKEPT &&
           (kept->exchange[i] == NULL || kept->exchange[i]->number != number))
        i++;
    MPIR_Assert(i < MPIDI_GPUDT_NKEPT);
    e = kept->exchange[i];
    e->last_use = ++kept->nuses;
    m->offer_sz = e->slot_sz;
    m->slots = (char *) e->mem;
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

/* The place for a new exchange: one that is empty, or that of the one that was not used for longest. */
static struct exchange **place_for_new(struct MPIDI_Gpudt_kept *kept)
{
    struct exchange **oldest = &kept->exchange[0];

    for (int i = 0; i < MPIDI_GPUDT_NKEPT && *oldest; i++) {
        struct exchange **e = &kept->exchange[i];
        if (*e == NULL || (*e)->last_use < (*oldest)->last_use)
            oldest = e;
    }
    return oldest;
}

void MPIDI_Gpudt_kept_set(const struct MPIDI_Gpudt_move *m, int64_t own_sz,
                          struct MPIDI_Gpudt_kept **kept)
{
    const size_t n = 2 * (size_t) m->comm->local_size * (size_t) m->offer_sz;
    struct exchange **place, *e;

    if (*kept == NULL)
        *kept = MPL_calloc(1, sizeof(**kept), MPL_MEM_COMM);
    if (*kept == NULL)
        return;
    place = place_for_new(*kept);
    e = *place;
    if (e == NULL || e->room < n) {
        MPL_free(e);
        *place = e = MPL_malloc(sizeof(*e) + n, MPL_MEM_COMM);
        if (e == NULL)
            return;
        e->room = n;
    }
    memcpy(e->mem, m->slots, n);
    e->root = m->root;
    e->own_sz = own_sz;
    e->slot_sz = m->offer_sz;
    e->last_use = ++(*kept)->nuses;
    e->number = m->comm->dev.gpudt_coll.nexchanges;
}

void MPIDI_Gpudt_kept_free(MPIR_Comm * comm)
{
    for (int i = 0; i < MPIDI_GPUDT_NCOLLS; i++) {
        struct MPIDI_Gpudt_kept *kept = comm->dev.gpudt_coll.kept[i];
        for (int k = 0; kept && k < MPIDI_GPUDT_NKEPT; k++)
            MPL_free(kept->exchange[k]);
        MPL_free(kept);
    }
}
