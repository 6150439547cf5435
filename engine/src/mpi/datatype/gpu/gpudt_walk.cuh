/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Stream position to user address: the locators, one for each form that the plan gives a type.
 * They know nothing of packing or unpacking or of what is done at the address. Compiles as CUDA and
 * as host C++.
 *
 * A locator for units of UNIT bytes offers to a block of threads (all of whose threads make each
 * call that is marked so)
 *     start()                     once                                             (all threads)
 *     enter(lo, hi)               before a tile: bytes [lo, hi) of the stream      (all threads)
 *     locate<UNIT, U, N>(pos, disp)   displacements of U words of N units each, which begin at
 *                                 positions pos[] of the tile
 *     point<UNIT>(pos)            displacement of any byte of the stream
 *     leave()                     after a tile                                     (all threads)
 */

#ifndef GPUDT_WALK_CUH_INCLUDED
#define GPUDT_WALK_CUH_INCLUDED

#include "gpudt_record.h"
#include "gpudt_copy.cuh"

GPUDT_FN uint32_t gpudt_div(uint32_t p, const struct MPII_Gpudt_divisor &div)
{
#ifdef __CUDA_ARCH__
    return __umulhi(p << 1, div.magic32) >> div.shift;
#else
    return (uint32_t) (((uint64_t) (p << 1) * div.magic32) >> 32) >> (div.shift & 31);
#endif
}

GPUDT_FN uint64_t gpudt_div(uint64_t p, const struct MPII_Gpudt_divisor &div)
{
#ifdef __CUDA_ARCH__
    return __umul64hi(p << 1, div.magic64) >> div.shift;
#else
    return (uint64_t) (((unsigned __int128) (p << 1) * div.magic64) >> 64) >> div.shift;
#endif
}

/* disp + index * stride. With 32-bit indices the plan has made sure that strides have 32 bits, too,
 * so that this is one instruction, which the compiler does not find by itself. */
GPUDT_FN int64_t gpudt_advance(int64_t disp, uint32_t index, int64_t stride)
{
#ifdef __CUDA_ARCH__
    asm("mad.wide.s32 %0, %1, %2, %0;":"+l"(disp):"r"(index), "r"((int32_t) stride));
    return disp;
#else
    return disp + (int64_t) (int32_t) index * (int32_t) stride;
#endif
}

GPUDT_FN int64_t gpudt_advance(int64_t disp, uint64_t index, int64_t stride)
{
    return disp + (int64_t) index * stride;
}

/* The last i in [lo, hi) whose entry in the list is at most key, where that of lo is. */
GPUDT_FN int64_t gpudt_search(uint64_t list, int64_t lo, int64_t hi, int64_t key)
{
    while (hi - lo > 1) {
        int64_t mid = lo + (hi - lo) / 2;
        if (gpudt_entry(list, mid) <= key)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* Add the displacements of children index[] of one level. */
template <class I, int U>
GPUDT_FN void gpudt_level(const struct MPII_Gpudt_level &level, const I(&index)[U],
                          int64_t(&disp)[U])
{
    if (level.displ != 0) {
        for (int u = 0; u < U; u++)
            disp[u] += gpudt_entry(level.displ, (int64_t) index[u]);
    } else {
        for (int u = 0; u < U; u++)
            disp[u] = gpudt_advance(disp[u], index[u], level.stride);
    }
}

/* Add the displacements of U children, counted over all levels. Level by level for all U at once, so
 * that U chains of divisions are in flight. */
template <class I, int U>
GPUDT_FN void gpudt_levels(const struct MPII_Gpudt_levels &levels, I(&child)[U], int64_t(&disp)[U])
{
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int k = 0; k < MPII_GPUDT_MAX_LEVELS - 1; k++) {
        if (k >= levels.nlevels)
            break;
        const struct MPII_Gpudt_level &level = levels.level[k];
        I index[U];
        for (int u = 0; u < U; u++) {
            I above = gpudt_div(child[u], level.div);
            index[u] = child[u] - above * (I) level.count;
            child[u] = above;
        }
        gpudt_level<I, U> (level, index, disp);
    }
    gpudt_level<I, U> (levels.top, child, disp);
}

/* Nested strides: nothing to remember between words, and each unit is found by itself. */
template <class I> struct gpudt_box {
    typedef struct MPII_Gpudt_args_box args_type;
    struct shared_type {
        int none;
    };
    template <int UNIT> struct sizes {
        enum { WORD = MPII_GPUDT_WORD_BOX(UNIT), UNROLL = MPII_GPUDT_UNROLL_BOX(UNIT) };
    };

    const args_type & args;

    GPUDT_METHOD gpudt_box(const args_type & args_, shared_type *):args(args_)
    {
    }
    GPUDT_METHOD void start() const
    {
    }
    GPUDT_METHOD void enter(int64_t, int64_t) const
    {
    }
    GPUDT_METHOD void leave() const
    {
    }

    template <int UNIT, int U, int N>
    GPUDT_METHOD void locate(const int64_t(&pos)[U], int64_t(&disp)[U * N]) const
    {
        I unit[U * N];
        for (int i = 0; i < U * N; i++) {
            unit[i] = (I) pos[i / N] / UNIT + i % N;
            disp[i] = 0;
        }
        gpudt_levels<I, U * N> (args.levels, unit, disp);
    }

    template <int UNIT> GPUDT_METHOD int64_t point(int64_t pos) const
    {
        const int64_t begin[1] = { pos };
        int64_t disp[1];
        locate<UNIT, 1, 1> (begin, disp);
        return disp[0] + pos % UNIT;
    }
};

struct gpudt_run {
    int64_t disp;               /* displacement of the byte asked for */
    int64_t left;               /* bytes of the run from it on */
};

/* Displacements of N units from `pos` on, for a locator that finds whole runs: one look-up for each
 * run among them. */
template <int UNIT, int N, class T> GPUDT_FN void gpudt_cover(T &where, int64_t pos, int64_t *disp)
{
    int done = 0;
    do {
        const struct gpudt_run run = where.run(pos + done * UNIT);
        const int end = run.left < (N - done) * UNIT ? done + (int) run.left / UNIT : N;
        for (int i = 0; i < N; i++) {
            if (i >= done && i < end)
                disp[i] = run.disp + (i - done) * UNIT;
        }
        done = end;
    } while (done < N);
}

/* A list of runs. The block looks up the runs of a tile once and keeps them at hand as a window, in
 * which its threads search. Runs are numbered through all repetitions of the list. */
struct gpudt_list {
    typedef struct MPII_Gpudt_args_list args_type;
    enum { BATCHES = MPII_GPUDT_WINDOW / MPII_GPUDT_THREADS };
    struct shared_type {
        int64_t ahead[MPII_GPUDT_WINDOW];       /* displacement of a byte - its offset in the tile */
        int32_t start[MPII_GPUDT_WINDOW + 1];   /* offset in the tile, 0 if before; then INT32_MAX */
        int32_t filled[BATCHES];        /* window's length if this batch completed it, else 0 */
        int64_t found;          /* result of one round of the search */
    };
    template <int UNIT> struct sizes {
        enum { WORD = MPII_GPUDT_WORD_LIST(UNIT), UNROLL = MPII_GPUDT_UNROLL_LIST(UNIT) };
    };

    const args_type & args;
    shared_type *shared;
    int64_t tile_lo, tile_hi;
    int64_t rep;                /* repetition and run in it that the window starts with */
    int64_t run0;
    int nwindow;                /* runs in the window; 0: it does not fit, search the list itself */

    GPUDT_METHOD gpudt_list(const args_type & args_, shared_type * shared_):args(args_),
        shared(shared_), tile_lo(-1), tile_hi(-1), rep(0), run0(0), nwindow(0)
    {
    }

    GPUDT_METHOD void start() const
    {
    }

    GPUDT_METHOD int64_t prefix(int64_t run) const
    {
        return gpudt_entry(args.prefix, run);
    }

    GPUDT_METHOD int64_t displ(int64_t run) const
    {
        return gpudt_entry(args.displ, run);
    }

    GPUDT_METHOD int64_t rep_disp(int64_t which) const
    {
        uint64_t child[1] = { (uint64_t) which };
        int64_t disp[1] = { 0 };
        gpudt_levels<uint64_t, 1> (args.levels, child, disp);
        return disp[0];
    }

    /* The run that holds `key` (in steps of prefix), found by all threads of the block: each round
     * cuts what is left into as many parts as there are threads. */
    GPUDT_METHOD int64_t find_run(int64_t key) const
    {
        int64_t lo = 0, hi = args.nruns, step;
        do {
            step = (hi - lo + MPII_GPUDT_THREADS - 1) / MPII_GPUDT_THREADS;
            int64_t mine = lo + (int64_t) threadIdx.x * step;
            int64_t next = mine + step < hi ? mine + step : hi;
            if (mine < hi && prefix(mine) <= key && key < prefix(next))
                shared->found = mine;
            __syncthreads();    /* publishes found */
            lo = shared->found;
            hi = lo + step < hi ? lo + step : hi;
            __syncthreads();    /* everyone has read found before the next round writes it */
        } while (step > 1);
        return lo;
    }

    /* Bring a run number back into the list. */
    GPUDT_METHOD void wrap(int64_t &which, int64_t &run) const
    {
        if (run >= args.nruns) {
            int64_t skip = (int64_t) gpudt_div((uint64_t) run, args.by_nruns);
            which += skip;
            run -= skip * args.nruns;
        }
    }

    /* One batch of the window: a run for each thread. */
    GPUDT_METHOD void fill(int batch) const
    {
        int at = batch * MPII_GPUDT_THREADS + (int) threadIdx.x;
        int64_t which = rep, run = run0 + at;
        wrap(which, run);
        int64_t base = which * args.list_size;
        int64_t begin = base + prefix(run) * args.unit;
        if (begin >= tile_hi)
            return;
        int64_t end = base + prefix(run + 1) * args.unit;
        shared->start[at] = begin > tile_lo ? (int32_t) (begin - tile_lo) : 0;
        shared->ahead[at] = rep_disp(which) + displ(run) - (begin - tile_lo);
        if (end >= tile_hi) {
            shared->start[at + 1] = INT32_MAX;
            shared->filled[batch] = at + 1;
        }
    }

    GPUDT_METHOD void enter(int64_t lo, int64_t hi)
    {
        if (lo != tile_hi || nwindow == 0) {
            rep = (int64_t) gpudt_div((uint64_t) lo, args.by_list);
            /* A short list is at hand as a whole: the search is for the threads. */
            run0 = args.nruns <= MPII_GPUDT_THREADS ? 0
                : find_run((int64_t) gpudt_div((uint64_t) (lo - rep * args.list_size),
                                               args.by_unit));
        } else {
            /* The last run of the tile before may go on in this one. */
            run0 += nwindow - 1;
            wrap(rep, run0);
        }
        tile_lo = lo;
        tile_hi = hi;
        if (threadIdx.x < BATCHES)
            shared->filled[threadIdx.x] = 0;
        __syncthreads();        /* publishes filled */
        nwindow = 0;
        for (int batch = 0; batch < BATCHES && nwindow == 0; batch++) {
            fill(batch);
            __syncthreads();    /* publishes this batch */
            nwindow = shared->filled[batch];
        }
    }

    GPUDT_METHOD void leave() const
    {
        __syncthreads();        /* nobody searches the window any more */
    }

    template <int UNIT, int U, int N>
    GPUDT_METHOD void locate(const int64_t(&pos)[U], int64_t(&disp)[U * N]) const
    {
        if (nwindow == 0) {
            for (int u = 0; u < U; u++)
                gpudt_cover<UNIT, N> (*this, pos[u], &disp[u * N]);
            return;
        }
        int32_t offset[U];
        int at[U];
        for (int u = 0; u < U; u++) {
            offset[u] = (int32_t) (pos[u] - tile_lo);
            at[u] = 0;
        }
        for (int len = nwindow; len > 1; len -= len / 2) {
            for (int u = 0; u < U; u++) {
                if (shared->start[at[u] + len / 2] <= offset[u])
                    at[u] += len / 2;
            }
        }
        /* From the first unit on: the next run follows, no run is shorter than a unit. */
        for (int u = 0; u < U; u++) {
            int64_t ahead = shared->ahead[at[u]];
            int32_t end = shared->start[at[u] + 1];
            for (int i = 0; i < N; i++) {
                if (i > 0 && offset[u] + i * UNIT >= end) {
                    at[u]++;
                    ahead = shared->ahead[at[u]];
                    end = shared->start[at[u] + 1];
                }
                disp[u * N + i] = ahead + (offset[u] + i * UNIT);
            }
        }
    }

    /* Without the window. */
    GPUDT_METHOD struct gpudt_run run(int64_t pos) const
    {
        int64_t which = (int64_t) gpudt_div((uint64_t) pos, args.by_list);
        int64_t rest = pos - which * args.list_size;
        int64_t at = gpudt_search(args.prefix, 0, args.nruns,
                                  (int64_t) gpudt_div((uint64_t) rest, args.by_unit));
        struct gpudt_run found = {
            rep_disp(which) + displ(at) + rest - prefix(at) * args.unit,
            prefix(at + 1) * args.unit - rest
        };
        return found;
    }

    template <int UNIT> GPUDT_METHOD int64_t point(int64_t pos) const
    {
        return run(pos).disp;
    }
};

/* The topmost list on the way to a position, and where in it the position lies. */
struct gpudt_narrow {
    int64_t base;               /* stream position at which this occurrence of the list starts */
    int64_t lo, hi;             /* entries to search */
    int32_t node;               /* -1: none */
};

/* Point-based traversal of a whole tree, for one byte. `list` is where to search the topmost list
 * (in) or receives its place (out, if `report`). */
template <class I>
GPUDT_FN struct gpudt_run gpudt_descend(const struct MPII_Gpudt_node *nodes, uint64_t lookaside,
                                        int root, I pos, struct gpudt_narrow *list, bool report)
{
    struct gpudt_run run = { 0, 0 };
    const I whole = pos;
    int at = root;

    for (;;) {
        const struct MPII_Gpudt_node &node = nodes[at];
        if (node.kind == MPII_GPUDT_KIND__BLOCK) {
            run.disp += pos;
            run.left = node.size - (int64_t) pos;
            return run;
        }
        const uint64_t first = lookaside + (uint64_t) node.lookaside;   /* of its lists */
        if (node.kind == MPII_GPUDT_KIND__VECTOR || node.kind == MPII_GPUDT_KIND__BLKINDEXED) {
            I i = gpudt_div(pos, node.div);
            run.disp += node.kind == MPII_GPUDT_KIND__VECTOR ? (int64_t) i * node.step
                : gpudt_entry(first, (int64_t) i);
            pos -= i * (I) node.child_size;
            at = node.child;
            continue;
        }

        /* INDEXED, RUNS and STRUCT: entry by search in prefix */
        const bool is_struct = node.kind == MPII_GPUDT_KIND__STRUCT;
        I key = is_struct ? pos : gpudt_div(pos, node.div);
        int64_t lo = 0, hi = node.count;
        if (!report && at == list->node) {
            lo = list->lo;
            hi = list->hi;
        }
        int64_t entry = gpudt_search(first, lo, hi, (int64_t) key);
        if (report && list->node < 0) {
            list->node = at;
            list->base = (int64_t) (whole - pos);
            list->lo = entry;
        }
        const uint64_t displ = first + 8 * ((uint64_t) node.count + 1);
        const int64_t before = gpudt_entry(first, entry);
        run.disp += gpudt_entry(displ, entry);
        if (is_struct) {
            pos -= (I) before;
            at = gpudt_load<int32_t>(displ + 8 * (uint64_t) node.count + 4 * (uint64_t) entry);
        } else if (node.kind == MPII_GPUDT_KIND__RUNS) {
            run.disp += (int64_t) pos - before * node.child_size;
            run.left = gpudt_entry(first, entry + 1) * node.child_size - (int64_t) pos;
            return run;
        } else {
            run.disp += (int64_t) (key - (I) before) * node.step;
            pos -= key * (I) node.child_size;
            at = node.child;
        }
    }
}

/* Any tree. Small ones are copied to shared memory; in a long topmost list each tile searches only
 * where its own bytes are. */
template <class I> struct gpudt_tree {
    typedef struct MPII_Gpudt_args_tree args_type;
    struct shared_type {
        struct MPII_Gpudt_node node[MPII_GPUDT_MAX_NODES];
        struct gpudt_narrow end[2];
    };
    template <int UNIT> struct sizes {
        enum { WORD = MPII_GPUDT_WORD_TREE(UNIT), UNROLL = MPII_GPUDT_UNROLL_TREE(UNIT) };
    };

    const args_type & args;
    shared_type *shared;
    const struct MPII_Gpudt_node *nodes;
    struct gpudt_narrow list;

    GPUDT_METHOD gpudt_tree(const args_type & args_, shared_type * shared_):args(args_),
        shared(shared_)
    {
        list.node = -1;
        nodes = args.nodes == 0 ? shared->node : (const struct MPII_Gpudt_node *)
            GPUDT_ADDRESS(args.nodes, args.nnodes * sizeof(struct MPII_Gpudt_node), 8);
    }

    GPUDT_METHOD void start() const
    {
        if (args.nodes == 0) {
            const int words = args.nnodes * (int) (sizeof(struct MPII_Gpudt_node) / 8);
            for (int i = (int) threadIdx.x; i < words; i += MPII_GPUDT_THREADS)
                ((uint64_t *) (void *) shared->node)[i] =
                    ((const uint64_t *) (const void *) args.node)[i];
            __syncthreads();    /* publishes node */
        }
    }

    GPUDT_METHOD struct gpudt_run descend(int64_t pos, struct gpudt_narrow *where,
                                          bool report) const
    {
        I rep = gpudt_div((I) pos, args.by_type);
        I base = rep * (I) args.type_size;
        struct gpudt_run run = gpudt_descend<I> (nodes, args.lookaside, args.root, (I) pos - base,
                                                 where, report);
        run.disp += (int64_t) rep * args.extent;
        where->base += report ? (int64_t) base : 0;
        return run;
    }

    GPUDT_METHOD struct gpudt_run run(int64_t pos)
    {
        return descend(pos, &list, false);
    }

    /* Both ends of the tile in the same occurrence of the same list: so is all between them. */
    GPUDT_METHOD void enter(int64_t lo, int64_t hi)
    {
        if (!args.narrow)
            return;
        if (threadIdx.x % 32 == 0 && threadIdx.x < 64) {
            struct gpudt_narrow found = { 0, 0, 0, -1 };
            descend(threadIdx.x == 0 ? lo : hi - 1, &found, true);
            shared->end[threadIdx.x / 32] = found;
        }
        __syncthreads();        /* publishes end */
        list = shared->end[0];
        list.hi = shared->end[1].lo + 1;
        if (list.node != shared->end[1].node || list.base != shared->end[1].base)
            list.node = -1;
    }

    GPUDT_METHOD void leave() const
    {
        if (args.narrow)
            __syncthreads();    /* everyone has read end */
    }

    template <int UNIT, int U, int N>
    GPUDT_METHOD void locate(const int64_t(&pos)[U], int64_t(&disp)[U * N])
    {
        for (int u = 0; u < U; u++)
            gpudt_cover<UNIT, N> (*this, pos[u], &disp[u * N]);
    }

    template <int UNIT> GPUDT_METHOD int64_t point(int64_t pos)
    {
        struct gpudt_narrow anywhere = { 0, 0, 0, -1 };
        return descend(pos, &anywhere, false).disp;
    }
};

#endif /* GPUDT_WALK_CUH_INCLUDED */
