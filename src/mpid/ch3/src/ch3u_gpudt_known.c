/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Buffers of reductions between GPUs of a node, see ch3u_gpudt_coll.c: what a process tells the others
 * of its own, and what a communicator, or a persistent call, remembers of those of earlier calls. */

#include "mpidimpl.h"
#include "mpidi_gpudt_coll_impl.h"

/* Allocations of other processes that the buffers of all sets are in, at most: fewer than a process maps at
 * a time by default. Those of a program that used more in turn would be mapped anew for each call. */
#define MAX_MAPPED 384

#define REFUSED_CALLS 1000      /* that do not try to map buffers which could not be mapped */

/* What was used longest ago is replaced. */
struct MPIDI_Gpudt_known_table {
    int n, max;                 /* sets */
    struct MPIDI_Gpudt_coll_name *name; /* of each process, for each set */
    struct MPIDI_Gpudt_coll_exports *exports;
    struct MPIDI_Gpudt_known set[];
};

static void table_free(struct MPIDI_Gpudt_known_table *t)
{
    if (t) {
        MPL_free(t->name);
        MPL_free(t->exports);
    }
    MPL_free(t);
}

/* Once a process has told that it is able to, it must have memory for any new buffers: all of it is
 * allocated at first. */
static struct MPIDI_Gpudt_known_table *table_make(int nprocs, bool is_of_one)
{
    const int max = is_of_one ? 1 : MAX_MAPPED / (2 * (nprocs - 1));
    const size_t n = (size_t) max * (size_t) nprocs;
    struct MPIDI_Gpudt_known_table *t;

    t = MPL_calloc(1, sizeof(*t) + (size_t) max * sizeof(t->set[0]), MPL_MEM_COMM);
    if (t == NULL)
        return NULL;
    t->max = max;
    t->name = MPL_malloc(n * sizeof(t->name[0]), MPL_MEM_COMM);
    t->exports = MPL_malloc(n * sizeof(t->exports[0]), MPL_MEM_COMM);
    if (t->name == NULL || t->exports == NULL) {
        table_free(t);
        return NULL;
    }
    for (int i = 0; i < max; i++) {
        t->set[i].name = t->name + i * nprocs;
        t->set[i].exports = t->exports + i * nprocs;
    }
    return t;
}

void MPIDI_Gpudt_past_free(struct MPIDI_Gpudt_past *past)
{
    table_free(past->known);
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
    MPIR_Datatype_get_extent_macro(c->datatype, c->extent);
    own->bytes = c->n * c->extent;
    own->has_gpu = MPIR_Gpudt_is_present();
    own->can_have_gpu = MPIR_Gpudt_may_become_present();
    if (buffers_describe(c, own)) {
        if (past->known == NULL)
            past->known = table_make(c->comm->local_size, past->is_of_one);
        own->is_able = past->known != NULL;
    }
}

/* Whether the buffers of all processes are for this way, by what they have told. */
static bool are_able(struct MPIDI_Gpudt_coll_call *c)
{
    bool is_able = true;

    c->is_on_host = true;
    c->can_have_gpu = false;
    for (int i = 0; i < c->comm->local_size; i++) {
        /* MPICH's algorithm reports lengths that do not match */
        is_able = is_able && c->name[i].is_able && c->name[i].bytes == c->name[0].bytes;
        c->is_on_host = c->is_on_host && !c->name[i].has_gpu;
        c->can_have_gpu = c->can_have_gpu || c->name[i].can_have_gpu;
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
    return true;
}

static uint64_t key_of(const struct MPIDI_Gpudt_coll_call *c)
{
    uint64_t key = 0;

    for (int i = 0; i < c->comm->local_size; i++) {
        key = key * 31 + c->name[i].in.id;
        key = key * 31 + c->name[i].out.id;
    }
    return key;
}

/* The entry for new buffers. */
static struct MPIDI_Gpudt_known *known_new(struct MPIDI_Gpudt_known_table *t)
{
    struct MPIDI_Gpudt_known *oldest = &t->set[0];

    if (t->n < t->max)
        return &t->set[t->n++];
    for (int i = 1; i < t->n; i++)
        oldest = t->set[i].last_use < oldest->last_use ? &t->set[i] : oldest;
    return oldest;
}

/* The entry of the buffers of a call, which may be new. */
static struct MPIDI_Gpudt_known *known_find(const struct MPIDI_Gpudt_coll_call *c)
{
    struct MPIDI_Gpudt_known_table *t = c->past->known;
    struct MPIDI_Gpudt_known *k = t->set;
    const uint64_t key = key_of(c);

    while (k < t->set + t->n && (k->key != key || !is_known(k, c)))
        k++;
    if (k == t->set + t->n) {
        k = known_new(t);
        k->key = key;
        k->nrefused = 0;
        k->is_exchanged = false;
        k->lost_us = 0;
        memcpy(k->name, c->name, (size_t) c->comm->local_size * sizeof(k->name[0]));
    }
    k->last_use = ++c->past->nuses;
    return k;
}

void MPIDI_Gpudt_known_refuse(struct MPIDI_Gpudt_known *k)
{
    k->nrefused = REFUSED_CALLS;
}

struct MPIDI_Gpudt_known *MPIDI_Gpudt_coll_judge(struct MPIDI_Gpudt_coll_call *c)
{
    const bool is_able = are_able(c);
    struct MPIDI_Gpudt_known *k;

    MPIDI_Gpudt_coll_pace_set(c->pace, is_able);
    if (!is_able)
        return NULL;
    k = known_find(c);
    if (k->nrefused > 0) {
        k->nrefused--;
        return NULL;
    }
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
