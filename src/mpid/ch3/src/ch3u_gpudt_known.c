/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Buffers of reductions between GPUs of a node, see ch3u_gpudt_coll.c: what a process tells the others
 * of its own, and what a communicator, or a persistent call, remembers of those of earlier calls. */

#include "mpidimpl.h"
#include "mpidi_gpudt_coll_impl.h"

#define NKNOWN 16               /* sets of buffers that a communicator remembers */

static int known_count(const struct MPIDI_Gpudt_past *past)
{
    return past->is_of_one ? 1 : NKNOWN;
}

void MPIDI_Gpudt_past_free(struct MPIDI_Gpudt_past *past)
{
    MPL_free(past->known);
    past->known = NULL;
}

/* Describe the buffers of this process. Returns whether they are for this way. */
static bool buffers_describe(struct MPIDI_Gpudt_coll_call *c, struct MPIDI_Gpudt_coll_name *own)
{
    uint64_t gpu;

    /* Each process would combine all elements, some of which others have replaced by then */
    if (c->kind == MPIDI_GPUDT_COLL__ALLREDUCE && c->is_in_place && !MPIDI_Gpudt_coll_may_write())
        return false;
    if (!c->is_apt || !MPIR_DATATYPE_IS_PREDEFINED(c->datatype) ||
        !MPIR_Gpudt_operand_make(c->in, c->n, c->datatype, c->op, &c->in_buffer, &own->in,
                                 &own->gpu))
        return false;
    if (c->out == NULL)
        return true;
    return MPIR_Gpudt_operand_make(c->out, c->n_out, c->datatype, c->op, &c->out_buffer, &own->out,
                                   &gpu) &&
        MPIR_Gpudt_operands_fit(c->in_buffer, c->out_buffer);
}

void MPIDI_Gpudt_coll_describe(struct MPIDI_Gpudt_coll_call *c, struct MPIDI_Gpudt_coll_name *own)
{
    struct MPIDI_Gpudt_past *past = c->past;

    memset(own, 0, sizeof(*own));
    own->bytes = c->n * c->extent;
    own->has_gpu = MPIR_Gpudt_is_present();
    if (buffers_describe(c, own)) {
        if (past->known == NULL)
            past->known = MPL_calloc(known_count(past), sizeof(*past->known), MPL_MEM_COMM);
        own->is_able = past->known != NULL;
    }
}

/* Whether the buffers of all processes are for this way, by what they have told. */
static bool are_able(struct MPIDI_Gpudt_coll_call *c)
{
    bool is_able = true;

    c->is_on_host = true;
    for (int i = 0; i < c->comm->local_size; i++) {
        /* MPICH's algorithm reports lengths that do not match */
        is_able = is_able && c->name[i].is_able && c->name[i].bytes == c->name[0].bytes;
        c->is_on_host = c->is_on_host && !c->name[i].has_gpu;
        /* Each kernel would wait for the GPU to switch between processes */
        if (c->kind == MPIDI_GPUDT_COLL__ALLGATHER || c->kind == MPIDI_GPUDT_COLL__ALLTOALL_WRITTEN)
            is_able = is_able && MPIDI_Gpudt_coll_is_worker(c, 0, i);
    }
    return is_able;
}

/* Whether the buffers of a call are in the same allocations as those of an earlier one. */
static bool is_same(const struct MPIR_Gpudt_operand *a, const struct MPIR_Gpudt_operand *b)
{
    return a->process == b->process && a->id == b->id && a->descriptor == b->descriptor;
}

static bool is_known(const struct MPIDI_Gpudt_known *k, const struct MPIDI_Gpudt_coll_call *c)
{
    for (int i = 0; i < c->comm->local_size; i++) {
        if (!is_same(&k->name[i].in, &c->name[i].in) || !is_same(&k->name[i].out, &c->name[i].out))
            return false;
    }
    return k->last_use > 0;
}

/* The entry of the buffers of a call. If they are new, it takes the place of the one that was not
 * used for longest. */
static struct MPIDI_Gpudt_known *known_find(const struct MPIDI_Gpudt_coll_call *c)
{
    struct MPIDI_Gpudt_known *all = c->past->known, *k = &all[0];
    const int n = known_count(c->past);

    for (int i = 0; i < n && !is_known(k, c); i++)
        k = &all[i];
    if (!is_known(k, c)) {
        for (int i = 0; i < n; i++)
            k = all[i].last_use < k->last_use ? &all[i] : k;
        k->is_refused = k->is_exchanged = false;
        k->lost_us = 0;
        memcpy(k->name, c->name, (size_t) c->comm->local_size * sizeof(k->name[0]));
    }
    k->last_use = ++c->past->nuses;
    return k;
}

struct MPIDI_Gpudt_known *MPIDI_Gpudt_coll_judge(struct MPIDI_Gpudt_coll_call *c)
{
    const bool is_able = are_able(c);
    struct MPIDI_Gpudt_known *k;

    MPIDI_Gpudt_coll_pace_set(c->pace, is_able);
    if (!is_able)
        return NULL;
    k = known_find(c);
    if (k->is_refused)
        return NULL;
    return k->is_exchanged || MPIDI_Gpudt_coll_is_worth_mapping(&k->lost_us, c->n * c->extent) ?
        k : NULL;
}

void MPIDI_Gpudt_coll_export(const struct MPIDI_Gpudt_coll_call *c,
                             struct MPIDI_Gpudt_coll_exports *own)
{
    const struct MPIDI_Gpudt_coll_name *name = &c->name[c->comm->rank];

    memset(own, 0, sizeof(*own));
    MPIR_Gpudt_operand_export(c->in_buffer, &name->in, own->in);
    if (c->out_buffer)
        MPIR_Gpudt_operand_export(c->out_buffer, &name->out, own->out);
}

void MPIDI_Gpudt_coll_exported(const struct MPIDI_Gpudt_coll_call *c, struct MPIDI_Gpudt_known *k,
                               const struct MPIDI_Gpudt_coll_exports *all)
{
    memcpy(k->exports, all, (size_t) c->comm->local_size * sizeof(all[0]));
    k->is_exchanged = true;
}
