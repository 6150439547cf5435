/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* How nonblocking and persistent reductions and moves of data between GPUs of a node differ. What they do is what
 * blocking ones do (ch3u_gpudt_coll.c, ch3u_gpudt_move.c). */

#include "mpidimpl.h"
#include "mpidi_gpudt_icoll.h"

/* ---- reductions ---- */

static void reduction_tell(struct MPIDI_Gpudt_icoll *o)
{
    (void) MPIDI_Gpudt_icall_reduction(o->call, &o->c);
    o->c.past = o->past;
    o->c.pace = o->pace[MPIDI_GPUDT_IFORM__REDUCTION];
    o->c.name = o->name;
    MPIDI_Gpudt_coll_describe(&o->c, &o->own_name);
    MPIDI_Gpudt_exchange_all(&o->x, o->comm, o->tag, &o->own_name, sizeof(o->own_name), o->name);
}

static bool reduction_judge(struct MPIDI_Gpudt_icoll *o)
{
    o->known = MPIDI_Gpudt_coll_judge(&o->c);
    /* On the host, not even with datatypes */
    if (o->c.is_on_host)
        o->pace[MPIDI_GPUDT_IFORM__MOVE] = NULL;
    return o->known != NULL;
}

static bool reduction_map(struct MPIDI_Gpudt_icoll *o)
{
    if (o->known->is_exchanged)
        return false;
    MPIDI_Gpudt_coll_export(&o->c, &o->own_exports);
    MPIDI_Gpudt_exchange_all(&o->x, o->comm, o->tag, &o->own_exports, sizeof(o->own_exports),
                             o->exports);
    return true;
}

static enum MPIDI_Gpudt_end_e reduction_start(struct MPIDI_Gpudt_icoll *o)
{
    if (!o->known->is_exchanged)
        MPIDI_Gpudt_coll_exported(&o->c, o->known, o->exports);
    return MPIDI_Gpudt_coll_part_start(&o->c, o->known, &o->op[0], &o->own_errno);
}

static int reduction_rest(struct MPIDI_Gpudt_icoll *o)
{
    MPIDI_Gpudt_known_refuse(o->known);
    return MPIDI_Gpudt_coll_parts_by_messages(&o->c, o->ends, o->tag, &o->plain);
}

static void reduction_release(struct MPIDI_Gpudt_icoll *o)
{
    MPIR_Gpudt_buffer_free(o->c.in_buffer);
    MPIR_Gpudt_buffer_free(o->c.out_buffer);
    o->c.in_buffer = o->c.out_buffer = NULL;
}

/* ---- moves ---- */

static void move_tell(struct MPIDI_Gpudt_icoll *o)
{
    MPIDI_Gpudt_icall_move(o->call, &o->m);
    o->m.past = o->past;
    o->move_pace = o->pace[MPIDI_GPUDT_IFORM__MOVE];
    MPIDI_Gpudt_move_describe(&o->m, &o->own_ability);
    MPIDI_Gpudt_exchange_all(&o->x, o->comm, o->tag, &o->own_ability, sizeof(o->own_ability),
                             o->ability);
}

static bool move_judge(struct MPIDI_Gpudt_icoll *o)
{
    return MPIDI_Gpudt_move_judge(&o->m, o->ability, o->move_pace);
}

/* Whether this process sends to another one. */
static bool is_to(const struct MPIDI_Gpudt_move *m, int i)
{
    if (m->form == MPIDI_GPUDT_MOVE__GATHER)
        return i == m->root;
    return m->root < 0 || m->comm->rank == m->root;
}

static bool move_map(struct MPIDI_Gpudt_icoll *o)
{
    struct MPIDI_Gpudt_move *m = &o->m;
    const int size = o->comm->local_size, sz = (int) m->offer_sz;
    const bool is_one = m->form != MPIDI_GPUDT_MOVE__ALLTOALL && m->form != MPIDI_GPUDT_MOVE__SCATTER;

    m->slots = (char *) o->slots;
    MPIDI_Gpudt_move_offer(m);
    MPIDI_Gpudt_exchange_begin(&o->x);
    for (int i = 0; i < size; i++) {
        if (i == o->comm->rank)
            continue;
        if (MPIDI_Gpudt_move_is_from(m, i))
            MPIDI_Gpudt_exchange_recv(&o->x, o->comm, o->tag, i, m->slots + (size + i) * sz, sz);
        if (is_to(m, i))
            MPIDI_Gpudt_exchange_send(&o->x, o->comm, o->tag, i, m->slots + (is_one ? 0 : i) * sz,
                                      sz);
    }
    return true;
}

static enum MPIDI_Gpudt_end_e move_start(struct MPIDI_Gpudt_icoll *o)
{
    return MPIDI_Gpudt_move_start(&o->m, o->op, &o->own_errno);
}

int MPIDI_Gpudt_icoll_whole(struct MPIDI_Gpudt_icoll *o)
{
    return o->pcoll ? MPIDI_Gpudt_pcoll_plain(o->pcoll, &o->plain) :
        MPIDI_Gpudt_icall_plain(o->call, o->tag, &o->plain);
}

static int move_rest(struct MPIDI_Gpudt_icoll *o)
{
    o->move_pace->is_refused = true;
    return MPIDI_Gpudt_icoll_whole(o);
}

static void move_release(struct MPIDI_Gpudt_icoll *o)
{
    if (o->m.comm)
        MPIDI_Gpudt_move_free(&o->m);
}

const struct MPIDI_Gpudt_iform MPIDI_Gpudt_iforms[MPIDI_GPUDT_NIFORMS] = {
    {reduction_tell, reduction_judge, reduction_map, reduction_start, reduction_rest,
     reduction_release},
    {move_tell, move_judge, move_map, move_start, move_rest, move_release}
};
