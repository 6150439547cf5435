/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Chooses how messages between GPUs of a node go, by what each way costs (plan/gpudt_across.h), and
 * by what mapping memory would save. Must not know how offers are exchanged. */

#include "mpiimpl.h"
#include "gpudt_buffer_impl.h"
#include "gpudt_offer.h"
#include "gpudt_shared.h"
#include "gpudt_vars.h"
#include "gpudt_within.h"
#include "driver/gpudt_sharing.h"
#include "plan/gpudt_across.h"
#include "tuning/gpudt_tuning.h"

static MPL_time_t shared_used;  /* when a message on a shared GPU was last long enough */

double MPII_Gpudt_saved_us(const MPII_Gpudt_engine_t * engine, int64_t n)
{
    double saved_us = MPII_GPUDT_SAVED_US + MPII_GPUDT_SAVED_US_PER_BYTE * n;

    /* The GPU switches once instead of twice */
    if (MPII_Gpudt_is_shared(engine->shared))
        saved_us += MPII_GPUDT_SWITCH_NS * 1e-3;
    return saved_us;
}

/* Short ones take part if longer ones do, since the GPU switches for these in any case. */
bool MPII_Gpudt_is_good_for_shared(const MPII_Gpudt_engine_t * engine, int64_t n, bool is_typed)
{
    MPL_time_t now;
    double seconds;

    if (!MPII_Gpudt_is_shared(engine->shared) ||
        MPIR_CVAR_GPUDT_DIRECT != MPIR_CVAR_GPUDT_DIRECT_auto)
        return true;
    MPL_wtime(&now);
    if (n >= (is_typed ? MPII_GPUDT_SHARED_MIN : MPII_GPUDT_SHARED_MIN_CONTIG)) {
        shared_used = now;
        return true;
    }
    MPL_wtime_diff(&shared_used, &now, &seconds);
    return seconds < MPII_GPUDT_SHARED_RECENT_S;
}

/* ---- the ways ---- */

/* A message whose way is to be chosen, in the receiver. */
struct choice {
    const MPIR_Gpudt_offer_t *offer;
    const MPIR_Gpudt_buffer *buffer;
    int64_t n;
    bool is_within;             /* one GPU, not under MPS: nothing is moved across */
    enum MPII_Gpudt_within_e copier;    /* if that is taken as shared */
    struct MPII_Gpudt_access to;        /* what it costs to access the buffer; 0 if is_within */
    bool has_type;              /* the sender's datatype is described, if it has one */
};

static bool pull_is_possible(const struct choice *c)
{
    return c->offer->export.id && c->has_type;
}

/* Whether memory of the sender is mapped, or may be mapped for this message. */
static bool may_map(const struct choice *c, const struct MPII_Gpudt_export *export)
{
    MPII_Gpudt_engine_t *engine = c->buffer->side.engine;

    return MPII_Gpudt_import_find(engine, export, MPII_Gpudt_saved_us(engine, c->n)) != NULL;
}

static bool pull_may_start(const struct choice *c)
{
    return may_map(c, &c->offer->export);
}

/* What it costs to access the sender's buffer, which the message need not fill. */
static int64_t from_cost(const struct choice *c, int64_t whole)
{
    return c->is_within ? 0 : (int64_t) ((double) whole * c->n / c->offer->size);
}

static int64_t pull_cost(const struct choice *c)
{
    return MPII_Gpudt_pull_cost(from_cost(c, c->offer->read_across), &c->to) +
        (c->copier == MPII_GPUDT_WITHIN__OTHER ? MPII_GPUDT_ACROSS_SWITCH_COST : 0);
}

static bool stage_is_possible(const struct choice *c)
{
    return c->offer->stage_sz > 0;
}

static bool stage_may_start(const struct choice *c)
{
    return may_map(c, &c->offer->stage);
}

static int64_t stage_cost(const struct choice *c)
{
    if (!stage_is_possible(c))
        return INT64_MAX;
    return MPII_Gpudt_stage_whole_cost(c->offer->stage_cost, &c->to) +
        (c->copier == MPII_GPUDT_WITHIN__NO ? 0 : 2 * MPII_GPUDT_ACROSS_SWITCH_COST);
}

/* The sender's kernel would wait for its turn on a GPU that processes share, while the receiver's
 * on another one may not. */
static bool push_is_possible(const struct choice *c)
{
    return (!c->offer->is_shared || c->copier != MPII_GPUDT_WITHIN__NO ||
            MPIR_CVAR_GPUDT_DIRECT != MPIR_CVAR_GPUDT_DIRECT_auto) &&
        MPII_Gpudt_buffer_export(c->buffer) != NULL;
}

/* That depends on the sender, who will say so */
static bool push_may_start(const struct choice *c ATTRIBUTE((unused)))
{
    return true;
}

static int64_t push_cost(const struct choice *c)
{
    return MPII_Gpudt_push_cost(from_cost(c, c->offer->read), &c->to);
}

/* What a way costs, and whether the memory that it needs is mapped or may be mapped now. */
static const struct way {
    enum MPIR_Gpudt_way_e way;
    const char *name;
    int forced_by;              /* value of MPIR_CVAR_GPUDT_DIRECT */
    bool (*is_possible) (const struct choice *);
    int64_t (*cost) (const struct choice *);
    bool (*may_start) (const struct choice *);
} ways[] = {
    {MPIR_GPUDT_WAY__PULLED, "pulled", MPIR_CVAR_GPUDT_DIRECT_pull, pull_is_possible, pull_cost,
     pull_may_start},
    {MPIR_GPUDT_WAY__STAGED, "staged", MPIR_CVAR_GPUDT_DIRECT_staged, stage_is_possible, stage_cost,
     stage_may_start},
    {MPIR_GPUDT_WAY__PUSHED, "pushed", MPIR_CVAR_GPUDT_DIRECT_push, push_is_possible, push_cost,
     push_may_start}
};
#define NWAYS ((int) (sizeof(ways) / sizeof(ways[0])))

/* Whether a way may be chosen: if one is forced, only pulling is besides, where that is possible. */
static bool is_allowed(const struct way *w)
{
    switch (MPIR_CVAR_GPUDT_DIRECT) {
        case MPIR_CVAR_GPUDT_DIRECT_pull:
        case MPIR_CVAR_GPUDT_DIRECT_push:
        case MPIR_CVAR_GPUDT_DIRECT_staged:
            return MPIR_CVAR_GPUDT_DIRECT == w->forced_by || w->way == MPIR_GPUDT_WAY__PULLED;
        default:
            return true;
    }
}

/* The way that costs least, or the one that is forced.
 *   which  (IN)  of these
 * Returns NULL if none is possible. */
static const struct way *way_find(const struct choice *c, int which)
{
    const struct way *best = NULL;
    int64_t best_cost = 0;

    for (int i = 0; i < NWAYS; i++) {
        const struct way *w = &ways[i];
        int64_t cost;
        if (!(which & (int) w->way) || !is_allowed(w))
            continue;
        cost = MPIR_CVAR_GPUDT_DIRECT == w->forced_by ? -1 : w->cost(c);
        /* In this order: the export of a mapped range keeps its memory */
        if ((best && cost >= best_cost) || !w->is_possible(c))
            continue;
        if (unlikely(MPIR_CVAR_GPUDT_TRACE))
            fprintf(stderr, "[%d] gpudt: message of %lld bytes could be %s at a cost of %lld\n",
                    MPIR_Process.rank, (long long) c->n, w->name, (long long) cost);
        best = w;
        best_cost = cost;
    }
    return best;
}

/* Those of some ways that are better than host memory within a GPU that processes share. */
static int ways_within(const struct choice *c, int which, bool is_typed)
{
    const bool is_long = MPII_Gpudt_within_is_long(c->n, is_typed);
    /* Through host memory it takes kernels, too, and more of them */
    const bool is_any_good = is_long && is_typed;

    /* Short, which may only be pulled: through host memory it takes copies by the driver, which need no
     * switch */
    if (which == MPIR_GPUDT_WAY__PULLED)
        return 0;
    if (which & MPIR_GPUDT_WAY__DECLINED)
        return is_any_good ? which : 0;
    if (c->copier == MPII_GPUDT_WITHIN__COPIER && pull_is_possible(c)) {
        if (!is_any_good && !MPII_Gpudt_within_is_good(c->n, is_typed))
            return 0;
        return is_long ? which : MPIR_GPUDT_WAY__PULLED;
    }
    /* The copier declines if it does not find it good */
    if (c->copier == MPII_GPUDT_WITHIN__OTHER && (which & MPIR_GPUDT_WAY__PUSHED) &&
        push_is_possible(c))
        return MPIR_GPUDT_WAY__PUSHED;
    return is_long ? which : 0;
}

/* The same wherever processes share a GPU, and all that there are if none does. */
static int ways_for_shared(const struct choice *c, int which)
{
    const bool is_typed = c->offer->type_sz || c->buffer->side.type;

    if (c->copier != MPII_GPUDT_WITHIN__NO && MPIR_CVAR_GPUDT_DIRECT == MPIR_CVAR_GPUDT_DIRECT_auto)
        return ways_within(c, which, is_typed);
    return MPII_Gpudt_is_good_for_shared(c->buffer->side.engine, c->n, is_typed) ? which : 0;
}

enum MPIR_Gpudt_way_e MPIR_Gpudt_offer_way(const MPIR_Gpudt_offer_t * offer,
                                           const MPIR_Gpudt_buffer * buffer, MPI_Aint n, int *which)
{
    struct choice c = {
        .offer = offer,.buffer = buffer,.n = n,
        .is_within = offer->gpu && offer->gpu == MPIR_Gpudt_buffer_gpu(buffer),
        .copier = MPII_Gpudt_within(buffer, offer),
        .has_type = offer->type_at != MPIR_GPUDT_TYPE__NONE
    };
    const struct way *w = NULL;
    int good = 0;

    if (MPIR_Gpudt_is_direct(buffer)) {
        if (!c.is_within)
            MPII_Gpudt_buffer_access(buffer, n, &c.to);
        good = ways_for_shared(&c, *which);
        w = way_find(&c, *which & good);
    }
    while (w && !w->may_start(&c)) {
        /* Where this process cannot map memory of the other one, or that does not pay off yet, the
         * same is likely the other way round, and asking takes time */
        *which &= ~((int) w->way | MPIR_GPUDT_WAY__PUSHED);
        w = way_find(&c, *which & good);
    }
    if (w == NULL)
        MPII_GPUDT_COUNT(direct_refused, 1);
    if (unlikely(MPIR_CVAR_GPUDT_TRACE))
        fprintf(stderr, "[%d] gpudt: message of %lld bytes %s%s\n", MPIR_Process.rank,
                (long long) n, w ? w->name : "through the host",
                MPII_Gpudt_is_shared(buffer->side.engine->shared) ? " on a shared GPU" : "");
    return w ? w->way : MPIR_GPUDT_WAY__HOST;
}
