/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Draws the cases of the fuzz test. Must not know how a case is run. */

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#define TYPES_OF_CASES 2        /* consecutive cases that use the same types */
#define MAX_GUARD 200           /* bytes of a window before and after the buffer */
#define MAX_WINDOW ((MPI_Aint) ARENA_SZ - 4096)

#define CHOICE(variable_, name_) { MPIR_CVAR_GPUDT_ ## variable_ ## _ ## name_, #name_ }
static const struct choice strategies[] = {
    CHOICE(STRATEGY, auto), CHOICE(STRATEGY, copy1d), CHOICE(STRATEGY, copy2d),
    CHOICE(STRATEGY, transpose), CHOICE(STRATEGY, box), CHOICE(STRATEGY, table),
    CHOICE(STRATEGY, bitmap), CHOICE(STRATEGY, list), CHOICE(STRATEGY, tree),
    CHOICE(STRATEGY, map), CHOICE(STRATEGY, pair), CHOICE(STRATEGY, rows)
};

#define NSTRATEGIES ((int) (sizeof(strategies) / sizeof(strategies[0])))

static const struct choice routes[] = { CHOICE(ROUTE, auto), CHOICE(ROUTE, staged) };

static const char *const direction_names[NDIRECTIONS] = { "pack", "unpack", "copy" };
static const char *const way_names[NWAYS] = { "engine", "engine+test", "engine+wait", "typerep",
    "MPI" };

/* ---- types ---- */

/* Mostly small and simple, for speed; sometimes large. */
static void sizes_draw(struct fuzz_case *c, struct randtype_opts *opts)
{
    int chance = (int) rng_range(&c->rng, 0, 99);

    opts->max_depth = chance < 55 ? 3 : chance < 90 ? 7 : 16;
    chance = (int) rng_range(&c->rng, 0, 99);
    opts->max_size = chance < 50 ? 256 : chance < 80 ? 2048 : chance < 97 ? 16384 : 262144;
    opts->max_span = opts->max_size < 16384 ? 1 << 16 : 1 << 20;
    c->max_size = opts->max_size;
}

static void type_draw(struct rng *rng, struct randtype_opts *opts, int is_dst, struct side *side)
{
    opts->tidy = is_dst;
    side->type = randtype_make(rng, opts, &side->text);
    side->map = oracle_create(side->type);
    if (side->map == NULL) {
        fprintf(stderr, "the oracle does not know: %s\n", side->text);
        exit(3);
    }
}

/* Count of datatypes: such that the buffer fits into a window, and no byte is received twice. */
static void count_draw(struct fuzz_case *c, struct side *side, int is_dst)
{
    MPI_Aint one, lb, extent, room;

    MPI_Type_get_extent(side->type, &lb, &extent);
    oracle_span(side->map, 1, &one, &side->lo, &side->hi);
    room = one > 0 ? 2 * c->max_size / one : 4;
    if (room > 1 && rng_chance(&c->rng, 60))
        side->count = rng_range(&c->rng, 1, room > 300 && rng_chance(&c->rng, 80) ? 5 : room);
    else
        side->count = rng_chance(&c->rng, 3) ? 0 : 1;
    while (side->count > 1 &&
           (side->hi - side->lo) + (side->count - 1) * llabs(extent) > MAX_WINDOW)
        side->count /= 2;
    if (is_dst && side->count > 1 && oracle_overlaps(side->map, side->count))
        side->count = 1;

    side->size = one * side->count;
    if (side->size == 0)
        side->lo = side->hi = 0;
    else if (extent < 0)
        side->lo += (side->count - 1) * extent;
    else
        side->hi += (side->count - 1) * extent;
}

/* ---- positions ---- */

static MPI_Aint alignment_draw(struct rng *rng)
{
    static const int steps[] = { 1, 2, 4, 8, 16, 64 };
    int step = steps[rng_range(rng, 0, 5)];

    return step * rng_range(rng, 0, 64 / step);
}

static enum mem_kind kind_draw(struct fuzz_case *c, int is_dst)
{
    int kind = fuzz_opts.only_kind[is_dst];

    while (kind < 0 || !mem_exists(kind)) {
        kind = (int) rng_range(&c->rng, 0, MEM__NKINDS - 1);
        /* Ordinary device memory is the most common */
        if (rng_chance(&c->rng, 25))
            kind = MEM__DEVICE;
    }
    return (enum mem_kind) kind;
}

/* Place bytes [lo, hi) of a buffer in the arena of its kind. */
static void place_draw(struct fuzz_case *c, struct side *side, int is_dst)
{
    MPI_Aint guard = rng_range(&c->rng, 16, MAX_GUARD), span = side->hi - side->lo;
    MPI_Aint start;

    side_set_arena(side, kind_draw(c, is_dst), is_dst);
    side->len = 2 * MAX_GUARD + 64 + span;
    side->off = 64 * rng_range(&c->rng, 0, (ARENA_SZ - side->len) / 64);
    /* the lowest byte, at some alignment */
    start = side->off + guard / 64 * 64 + 64 + alignment_draw(&c->rng);
    side->buf_off = start - side->lo;
    side->is_absolute = side->type != MPI_DATATYPE_NULL && rng_chance(&c->rng, 8);
}

static void packed_draw(struct fuzz_case *c, struct side *side, MPI_Aint n, int is_dst)
{
    side->type = MPI_DATATYPE_NULL;
    side->count = 1;
    side->lo = 0;
    side->hi = side->size = n;
    place_draw(c, side, is_dst);
}

/* ---- the operation ---- */

int case_is_host(const struct fuzz_case *c)
{
    return !mem_is_gpu(c->src.kind) && !mem_is_gpu(c->dst.kind);
}

int case_is_left(const struct fuzz_case *c)
{
    return case_is_host(c) && c->way < WAY__TYPEREP;
}

/* The range of bytes of the stream; both ends may be anywhere. */
static void range_draw(struct fuzz_case *c, struct side *typed)
{
    MPI_Aint size = typed->size;

    typed->first = 0;
    c->asked = size;
    /* The CPU engine is tested with whole buffers only */
    if (c->way != WAY__MPI && !case_is_host(c) && rng_chance(&c->rng, 60)) {
        typed->first = rng_range(&c->rng, 0, size);
        c->asked = rng_range(&c->rng, 0, size - typed->first);
        if (rng_chance(&c->rng, 10))
            c->asked += rng_range(&c->rng, 0, 100);
    }
    c->available = c->asked < size - typed->first ? c->asked : size - typed->first;
    c->n = case_is_left(c) ? 0 : c->available;
}

static void way_draw(struct fuzz_case *c)
{
    c->way = (enum way) rng_range(&c->rng, 0, NWAYS - 1);
    if (fuzz_opts.only_way >= 0)
        c->way = (enum way) fuzz_opts.only_way;
}

static void settings_draw(struct fuzz_case *c)
{
    struct rng *rng = &c->rng;

    c->strategy = &strategies[rng_chance(rng, 50) ? 0 : rng_range(rng, 1, NSTRATEGIES - 1)];
    c->route = &routes[rng_chance(rng, 25)];
    c->depth = (int) rng_range(rng, 1, 8);
    c->max_blocks = rng_chance(rng, 80) ? 0 : (int) rng_range(rng, 1, 9);
    c->free_early = rng_chance(rng, 30);
    switch (rng_range(rng, 0, 5)) {
        case 0:
            c->current = NULL;
            break;
        case 1:
            c->current = gpu_primary(mem_exists(MEM__OTHER_DEVICE) ? 1 : 0);
            break;
        default:
            c->current = gpu_primary(0);
            break;
    }
}

void case_draw(struct fuzz_case *c, uint64_t seed, uint64_t index)
{
    struct randtype_opts opts = RANDTYPE_OPTS_DEFAULT;

    memset(c, 0, sizeof(*c));
    c->seed = seed;
    c->index = index;
    c->src.type = c->dst.type = MPI_DATATYPE_NULL;

    /* the same types as the previous or the next case */
    rng_init(&c->rng, (seed << 40) + index / TYPES_OF_CASES * TYPES_OF_CASES);
    sizes_draw(c, &opts);
    c->direction = rng_chance(&c->rng, 20) ? DIRECTION__COPY :
        rng_chance(&c->rng, 50) ? DIRECTION__PACK : DIRECTION__UNPACK;
    if (c->direction != DIRECTION__UNPACK)
        type_draw(&c->rng, &opts, 0, &c->src);
    if (c->direction != DIRECTION__PACK)
        type_draw(&c->rng, &opts, 1, &c->dst);

    rng_init(&c->rng, ~((seed << 40) + index));
    way_draw(c);
    settings_draw(c);
    if (c->src.map) {
        count_draw(c, &c->src, 0);
        place_draw(c, &c->src, 0);
    }
    if (c->dst.map) {
        count_draw(c, &c->dst, 1);
        place_draw(c, &c->dst, 1);
    }

    if (c->direction == DIRECTION__COPY) {
        /* The CPU engine does not copy between types whose elements differ in size */
        while (case_is_host(c))
            place_draw(c, &c->src, 0);
        c->asked = c->src.size < c->dst.size ? c->src.size : c->dst.size;
        if (c->way < WAY__TYPEREP && rng_chance(&c->rng, 30))
            c->asked = rng_range(&c->rng, 0, c->asked);
        c->available = c->n = c->asked;
    } else {
        int is_pack = c->direction == DIRECTION__PACK;
        struct side *typed = is_pack ? &c->src : &c->dst;

        packed_draw(c, is_pack ? &c->dst : &c->src, typed->size + 100, is_pack);
        range_draw(c, typed);
    }
}

void case_free(struct fuzz_case *c)
{
    struct side *side[2] = { &c->src, &c->dst };

    for (int i = 0; i < 2; i++) {
        if (side[i]->type != MPI_DATATYPE_NULL)
            randtype_free(&side[i]->type);
        oracle_free(side[i]->map);
        free(side[i]->text);
    }
}

static void side_print(const char *name, const struct side *side)
{
    fprintf(stderr, "  %s: %s memory, buffer at %p (lowest byte at %p)", name, mem_name(side->kind),
            (void *) (side->arena->addr + side->buf_off),
            (void *) (side->arena->addr + side->buf_off + side->lo));
    if (side->type == MPI_DATATYPE_NULL)
        fprintf(stderr, ", packed\n");
    else
        fprintf(stderr, "%s, count %ld, stream of %ld bytes from byte %ld\n    %s\n",
                side->is_absolute ? " as MPI_BOTTOM" : "", (long) side->count, (long) side->size,
                (long) side->first, side->text);
}

void case_print(const struct fuzz_case *c)
{
    const char *current = c->current == NULL ? "none" : c->current == gpu_primary(0) ? "device 0" :
        "device 1";

    fprintf(stderr, "case %lu: %s by %s, %ld bytes (asked for %ld)\n", (unsigned long) c->index,
            direction_names[c->direction], way_names[c->way], (long) c->n, (long) c->asked);
    side_print("from", &c->src);
    side_print("to", &c->dst);
    fprintf(stderr, "  strategy %s, route %s, depth %d, at most %d blocks, current context %s%s\n",
            c->strategy->name, c->route->name, c->depth, c->max_blocks, current,
            c->free_early ? ", types freed early" : "");
    fprintf(stderr, "  again: fuzz --seed %lu --first %lu --cases 1%s\n", (unsigned long) c->seed,
            (unsigned long) c->index, fuzz_opts.keep_strategy ? " --keep-strategy" : "");
}
