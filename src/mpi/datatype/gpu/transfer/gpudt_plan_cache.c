/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Plans that are kept: a few for each engine, each at the place that its input hashes to, where the
 * next one of that hash replaces it. A plan is found again by all that it was made from, but for
 * addresses that differ by multiples of the widest unit: it serves all buffers of an exchange. Of a
 * datatype this is the id of its state, which is never used again. Must not know launches. */

#include "mpiimpl.h"
#include "gpudt_plan_cache.h"
#include "gpudt_lock.h"

#define NPLANS 64               /* of an engine: a power of two */

struct plan {
    uint64_t type[2];           /* ids of the datatypes' states; 0: no plan yet */
    struct MPII_Gpudt_plan_in in[2];    /* serial and top are not used */
    struct MPII_Gpudt_record top[2];
    struct MPII_Gpudt_plan_pair pair;
};

struct MPII_Gpudt_plan_cache {
    struct plan *plan[NPLANS];  /* NULL: none yet */
};

static MPL_initlock_t cache_lock = MPL_INITLOCK_INITIALIZER;

/* Callback of MPII_Gpudt_engine_at_end. */
static void cache_free(MPII_Gpudt_engine_t * engine, bool is_alive ATTRIBUTE((unused)))
{
    for (int i = 0; engine->plans && i < NPLANS; i++)
        MPL_free(engine->plans->plan[i]);
    MPL_free(engine->plans);
    engine->plans = NULL;
}

/* The place for plans of two buffers; NULL: out of memory. Caller holds cache_lock. */
static struct plan *place_of(MPII_Gpudt_engine_t * engine,
                             const struct MPII_Gpudt_side *const side[2],
                             const struct MPII_Gpudt_plan_in in[2])
{
    uint64_t hash = (uint64_t) in[0].last;
    struct plan **plan;

    for (int i = 0; i < 2; i++)
        hash = ((hash * 31 + side[i]->type->id) * 31 + (uint64_t) in[i].first) * 31 +
            in[i].user % MPII_GPUDT_PAIR_ALIGN;
    /* 2^64 by the golden ratio: Knuth, TAOCP 3, section 6.4 */
    hash *= UINT64_C(0x9e3779b97f4a7c15);
    if (unlikely(engine->plans == NULL)) {
        engine->plans = MPL_calloc(1, sizeof(*engine->plans), MPL_MEM_BUFFER);
        if (engine->plans == NULL)
            return NULL;
        MPII_Gpudt_engine_at_end(engine, cache_free);
    }
    plan = &engine->plans->plan[hash >> 58 & (NPLANS - 1)];
    if (unlikely(*plan == NULL))
        *plan = MPL_calloc(1, sizeof(**plan), MPL_MEM_BUFFER);
    return *plan;
}

static bool is_same_input(const struct MPII_Gpudt_plan_in *a, const struct MPII_Gpudt_plan_in *b)
{
    return a->first == b->first && a->last == b->last &&
        (a->user - b->user) % MPII_GPUDT_PAIR_ALIGN == 0 && a->user_place == b->user_place &&
        a->nsms == b->nsms && a->max_blocks == b->max_blocks &&
        a->image.lists == b->image.lists && a->image.nodes == b->image.nodes &&
        a->image.index == b->image.index && a->image.kind == b->image.kind &&
        a->switch_ns == b->switch_ns && a->max_unit == b->max_unit && a->wide == b->wide &&
        a->allowed == b->allowed;
}

static bool is_for(const struct plan *p, const struct MPII_Gpudt_side *const side[2],
                   const struct MPII_Gpudt_plan_in in[2])
{
    for (int i = 0; i < 2; i++) {
        if (p->type[i] != side[i]->type->id || !is_same_input(&p->in[i], &in[i]) ||
            memcmp(&p->top[i], in[i].top, sizeof(p->top[i])) != 0)
            return false;
    }
    return true;
}

/* Copy what is used of a plan. */
static void pair_copy(const struct MPII_Gpudt_plan_pair *from, struct MPII_Gpudt_plan_pair *to)
{
    size_t sz = sizeof(from->args);

    if (from->kernel == MPII_GPUDT_KERNEL__PAIRBOX)
        sz = sizeof(from->args.box);
    else if (from->kernel == MPII_GPUDT_KERNEL__PAIRLIST ||
             from->kernel == MPII_GPUDT_KERNEL__PAIRRUNS)
        sz = sizeof(from->args.list);
    memcpy(to, from, offsetof(struct MPII_Gpudt_plan_pair, args) + sz);
}

void MPII_Gpudt_plan_pair_find(MPII_Gpudt_engine_t * engine,
                               const struct MPII_Gpudt_side *const side[2],
                               const struct MPII_Gpudt_plan_in in[2],
                               struct MPII_Gpudt_plan_pair *plan)
{
    struct plan *p;

    MPII_Gpudt_lock(&cache_lock);
    p = place_of(engine, side, in);
    if (p && is_for(p, side, in)) {
        const uint64_t by[2] = { in[0].user - p->in[0].user, in[1].user - p->in[1].user };
        pair_copy(&p->pair, plan);
        MPII_Gpudt_plan_pair_shift(plan, by);
        goto fn_exit;
    }
    MPII_Gpudt_plan_pair_make(&in[0], &in[1], plan);
    if (p == NULL)
        goto fn_exit;
    for (int i = 0; i < 2; i++) {
        p->type[i] = side[i]->type->id;
        p->in[i] = in[i];
        p->top[i] = *in[i].top;
    }
    pair_copy(plan, &p->pair);

  fn_exit:
    MPII_Gpudt_unlock(&cache_lock);
}
