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
 *     start()             once                                                      (all threads)
 *     enter(pos0, lo, hi) before words [lo, hi), counted from stream position pos0, of one tile are
 *                         located; returns how far that is possible, more than lo    (all threads)
 *     locate<U>(pos0, i, lo, hi, disp)   displacements of the units of words i, i +
 *                         MPII_GPUDT_THREADS, ..., U in all; anything for words not in [lo, hi)
 *                                                                                   (all threads)
 *     leave()             when all threads are done with these words                (all threads)
 *     point(pos)          displacement of any byte of the stream
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

/* The same for divisors of at least 2, which are all that levels have: one instruction less. */
GPUDT_FN uint32_t gpudt_div_many(uint32_t p, const struct MPII_Gpudt_divisor &div)
{
#ifdef __CUDA_ARCH__
    return __umulhi(p, div.magic32) >> (div.shift - 1);
#else
    return gpudt_div(p, div);
#endif
}

GPUDT_FN uint64_t gpudt_div_many(uint64_t p, const struct MPII_Gpudt_divisor &div)
{
#ifdef __CUDA_ARCH__
    return __umul64hi(p, div.magic64) >> (div.shift - 1);
#else
    return gpudt_div(p, div);
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

/* Add the displacements of U units with these indices in level 0. Level by level for all U at once, so
 * that U chains of divisions are in flight. */
template <class I, int U>
GPUDT_FN void gpudt_levels(const struct MPII_Gpudt_levels &levels, I(&index)[U], int64_t(&disp)[U])
{
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int k = 0; k < MPII_GPUDT_MAX_LEVELS - 1; k++) {
        if (k >= levels.nlevels)
            break;
        const struct MPII_Gpudt_level &level = levels.level[k];
        I above[U];
        for (int u = 0; u < U; u++) {
            disp[u] = gpudt_advance(disp[u], index[u], level.step);
            above[u] = gpudt_div_many(index[u], level.div);
        }
        if (level.displ != 0) {
            for (int u = 0; u < U; u++)
                disp[u] += gpudt_entry(level.displ,
                                       (int64_t) (index[u] - above[u] * (I) level.count));
        }
        for (int u = 0; u < U; u++)
            index[u] = above[u];
    }
    for (int u = 0; u < U; u++)
        disp[u] = gpudt_advance(disp[u], index[u], levels.top.step);
    if (levels.top.displ != 0) {
        for (int u = 0; u < U; u++)
            disp[u] += gpudt_entry(levels.top.displ, (int64_t) index[u]);
    }
}

/* Index of the unit that word i + u * MPII_GPUDT_THREADS begins with; that of word lo if it is not in
 * [lo, hi), since what is located need not be moved but must exist. */
template <class I, int UNIT, int WORD>
GPUDT_FN I gpudt_unit_index(int64_t pos0, int i, int u, int lo, int hi)
{
    int at = i + u * MPII_GPUDT_THREADS;
    at = at >= lo && at < hi ? at : lo;
    return (I) (pos0 / UNIT) + (I) (at * (WORD / UNIT));
}

/* What most locators have nothing to do for. */
template <class ARGS> struct gpudt_plain {
    typedef ARGS args_type;
    struct shared_type {
        int none;
    };

    const ARGS &args;

    GPUDT_METHOD gpudt_plain(const ARGS &args_):args(args_)
    {
    }
    GPUDT_METHOD void start() const
    {
    }
    GPUDT_METHOD int enter(int64_t, int, int hi) const
    {
        return hi;
    }
    GPUDT_METHOD void leave() const
    {
    }
};

/* Nested strides: nothing to remember between words, and each unit is found by itself. */
template <class I, int UNIT> struct gpudt_box:public gpudt_plain<struct MPII_Gpudt_args_box> {
    typedef gpudt_plain<struct MPII_Gpudt_args_box> base;
    enum { WORD = MPII_GPUDT_WORD_BOX(UNIT), UNROLL = MPII_GPUDT_UNROLL_BOX(UNIT) };

    GPUDT_METHOD gpudt_box(const typename base::args_type &args_, typename base::shared_type *)
        :base(args_)
    {
    }

    template <int U>
    GPUDT_METHOD void locate(int64_t pos0, int i, int lo, int hi,
                             int64_t(&disp)[U * WORD / UNIT]) const
    {
        enum { N = WORD / UNIT };
        I index[U * N];
        for (int u = 0; u < U; u++) {
            for (int n = 0; n < N; n++) {
                index[u * N + n] = gpudt_unit_index<I, UNIT, WORD> (pos0, i, u, lo, hi) + n;
                disp[u * N + n] = 0;
            }
        }
        gpudt_levels<I, U * N> (base::args.levels, index, disp);
    }

    GPUDT_METHOD int64_t point(int64_t pos) const
    {
        I index[1] = { (I) (pos / UNIT) };
        int64_t disp[1] = { pos % UNIT };
        gpudt_levels<I, 1> (base::args.levels, index, disp);
        return disp[0];
    }
};

/* A list of entries. The block looks up the entries of a tile once and keeps them at hand as a
 * window. Each marks the unit that it begins with, and the first unit of each warp's words that it
 * reaches, so that a unit's entry is the highest mark up to the unit: no thread searches. Entries are
 * numbered through all repetitions of the list. */
template <int UNIT> struct gpudt_list {
    typedef struct MPII_Gpudt_args_list args_type;
    enum {
        WORD = MPII_GPUDT_WORD_LIST(UNIT), UNROLL = MPII_GPUDT_UNROLL_LIST(UNIT), N = WORD / UNIT,
        TILE_UNITS = MPII_GPUDT_THREADS * UNROLL * N,
        WARP_UNITS = 32 * N,    /* adjacent words of one warp */
        BATCHES = MPII_GPUDT_WINDOW / MPII_GPUDT_THREADS
    };
    struct alignas(16) marks {
        uint16_t of[N];         /* entry in the window + 1, or 0 */
    };
    struct shared_type {
        struct marks mark[MPII_GPUDT_THREADS * UNROLL]; /* by word */
        int64_t ahead[MPII_GPUDT_WINDOW];       /* displacement of a unit - its offset from pos0 */
        int32_t start[MPII_GPUDT_WINDOW];       /* offset of a piece's begin, if there are pieces */
        int32_t filled[BATCHES];        /* entries in the window, if this batch completed it, else 0 */
        int64_t found;          /* result of one round of the search */
        int64_t covered;        /* stream position up to which an incomplete window goes */
    };

    const args_type &args;
    shared_type *shared;
    int64_t rep;                /* repetition and entry in it that the window starts with */
    int64_t run0;
    int nwindow;                /* entries in the window; 0: there is none yet */

    GPUDT_METHOD gpudt_list(const args_type &args_, shared_type *shared_):args(args_),
        shared(shared_), rep(0), run0(0), nwindow(0)
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
        uint64_t index[1] = { (uint64_t) which };
        int64_t disp[1] = { 0 };
        gpudt_levels<uint64_t, 1> (args.levels, index, disp);
        return disp[0];
    }

    /* The entry that holds `key` (in pieces), found by all threads of the block: each round cuts what
     * is left into as many parts as there are threads. */
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

    /* Bring the number of an entry back into the list. */
    GPUDT_METHOD void wrap(int64_t &which, int64_t &run) const
    {
        if (run >= args.nruns) {
            int64_t skip = (int64_t) gpudt_div((uint64_t) run, args.by_nruns);
            which += skip;
            run -= skip * args.nruns;
        }
    }

    GPUDT_METHOD void set_mark(int offset, int at) const
    {
        shared->mark[offset / WORD].of[offset % WORD / UNIT] = (uint16_t) (at + 1);
    }

    /* One batch of the window: an entry for each thread. Stream positions lo to hi are wanted. */
    GPUDT_METHOD void fill(int batch, int64_t pos0, int64_t lo, int64_t hi) const
    {
        const int at = batch * MPII_GPUDT_THREADS + (int) threadIdx.x;
        int64_t which = rep, run = run0 + at;
        wrap(which, run);
        const int64_t base = which * args.list_size;
        int64_t begin = base + prefix(run) * args.piece;
        const int64_t end = base + prefix(run + 1) * args.piece;
        if (at == MPII_GPUDT_WINDOW - 1)
            shared->covered = end;
        if (begin >= hi || end <= lo)
            return;

        int64_t disp = rep_disp(which) + displ(run);
        const int from = (int) ((begin > lo ? begin : lo) - pos0);
        const int to = (int) ((end < hi ? end : hi) - pos0);
        if (args.gap != 0) {
            /* Offsets are small if they are counted from the piece that lo is in. */
            int64_t skip = begin < lo ?
                (int64_t) gpudt_div((uint64_t) (lo - begin), args.by_piece) : 0;
            begin += skip * args.piece;
            disp += skip * (args.piece + args.gap);
            shared->start[at] = (int32_t) (begin - pos0);
        }
        shared->ahead[at] = disp - (begin - pos0);
        set_mark(from, at);
        for (int reach = (from / (WARP_UNITS * UNIT) + 1) * (WARP_UNITS * UNIT); reach < to;
             reach += WARP_UNITS * UNIT)
            set_mark(reach, at);
        if (end >= hi)
            shared->filled[batch] = at + 1;
    }

    GPUDT_METHOD int enter(int64_t pos0, int lo, int hi)
    {
        const int64_t pos = pos0 + lo * WORD, end = pos0 + hi * WORD;
        if (nwindow == 0) {
            rep = (int64_t) gpudt_div((uint64_t) pos, args.by_list);
            /* A short list is at hand as a whole. */
            run0 = args.nruns <= MPII_GPUDT_THREADS ? 0
                : find_run((int64_t) gpudt_div((uint64_t) (pos - rep * args.list_size),
                                               args.by_piece));
        } else {
            /* The last entry of the window before may go on in this one. */
            run0 += nwindow - 1;
            wrap(rep, run0);
        }
        const struct marks none = { };
        for (int u = 0; u < UNROLL; u++)
            shared->mark[u * MPII_GPUDT_THREADS + threadIdx.x] = none;
        if (threadIdx.x < BATCHES)
            shared->filled[threadIdx.x] = 0;
        __syncthreads();        /* publishes mark and filled */
        nwindow = 0;
        for (int batch = 0; batch < BATCHES && nwindow == 0; batch++) {
            fill(batch, pos0, pos, end);
            __syncthreads();    /* publishes this batch */
            nwindow = shared->filled[batch];
        }
        if (nwindow > 0)
            return hi;
        /* Many short entries: as many words as are all in the window. That is at least one, because
         * no word has as many units as the window has entries. */
        nwindow = MPII_GPUDT_WINDOW;
        return (int) ((shared->covered - pos0) / WORD);
    }

    GPUDT_METHOD void leave() const
    {
        __syncthreads();        /* nobody reads the window any more */
    }

    template <int U>
    GPUDT_METHOD void locate(int64_t pos0, int i, int, int, int64_t(&disp)[U * N]) const
    {
        (void) pos0;
        for (int u = 0; u < U; u++) {
            const int word = i + u * MPII_GPUDT_THREADS;
            const struct marks marks = shared->mark[word];
            unsigned at[N], last = 0;
            for (int n = 0; n < N; n++) {
                last = marks.of[n] > last ? marks.of[n] : last;
                at[n] = last;
            }
            /* The highest mark of all words of the warp before this one */
            const unsigned lane = threadIdx.x % 32;
            for (unsigned d = 1; d < 32; d *= 2) {
                const unsigned other = __shfl_up_sync(0xffffffffu, last, d);
                last = lane >= d && other > last ? other : last;
            }
            last = __shfl_up_sync(0xffffffffu, last, 1);
            last = lane > 0 ? last : 0;
            for (int n = 0; n < N; n++) {
                const int offset = word * WORD + n * UNIT;
                unsigned entry = at[n] > last ? at[n] : last;
                entry = entry > 0 ? entry - 1 : 0;      /* 0: no word in range */
                int64_t ahead = shared->ahead[entry];
                if (args.gap != 0)
                    ahead += (int64_t) gpudt_div((uint32_t) (offset - shared->start[entry]),
                                                 args.by_piece) * args.gap;
                disp[u * N + n] = ahead + offset;
            }
        }
    }

    /* Without the window. */
    GPUDT_METHOD int64_t point(int64_t pos) const
    {
        const int64_t which = (int64_t) gpudt_div((uint64_t) pos, args.by_list);
        const int64_t rest = pos - which * args.list_size;
        const int64_t at = gpudt_search(args.prefix, 0, args.nruns,
                                        (int64_t) gpudt_div((uint64_t) rest, args.by_piece));
        const int64_t inside = rest - prefix(at) * args.piece;
        return rep_disp(which) + displ(at) + inside +
            (int64_t) gpudt_div((uint64_t) inside, args.by_piece) * args.gap;
    }
};

/* The topmost list on the way to a position, and where in it the position lies. */
struct gpudt_narrow {
    int64_t base;               /* stream position at which this occurrence of the list starts */
    int64_t lo, hi;             /* entries to search */
    int32_t node;               /* -1: none */
};

/* The run around a byte. If it is one of equal runs at a stride, `more` of them follow. */
struct gpudt_run {
    int64_t disp;               /* displacement of the byte asked for */
    int64_t left;               /* bytes of the run from it on */
    int64_t more;
    int64_t size;               /* of each run */
    int64_t stride;             /* from one run's beginning to the next's */
};

/* Point-based traversal of a whole tree, for one byte. `list` is where to search the topmost list
 * (in) or receives its place (out, if `report`). */
template <class I>
GPUDT_FN struct gpudt_run gpudt_descend(const struct MPII_Gpudt_node *nodes, uint64_t lookaside,
                                        int root, I pos, struct gpudt_narrow *list, bool report)
{
    struct gpudt_run run = { 0, 0, 0, 0, 0 };
    const I whole = pos;
    int at = root;

    for (;;) {
        const struct MPII_Gpudt_node &node = nodes[at];
        if (node.kind == MPII_GPUDT_KIND__BLOCK) {
            run.disp += pos;
            run.left = node.size - (int64_t) pos;
            return run;
        }
        run.more = 0;
        if (node.kind == MPII_GPUDT_KIND__VECTOR) {
            const I i = gpudt_div(pos, node.div);
            run.disp += (int64_t) i * node.step;
            run.more = node.count - 1 - (int64_t) i;
            run.size = node.child_size;
            run.stride = node.step;
            pos -= i * (I) node.child_size;
            at = node.child;
            continue;
        }
        const uint64_t first = lookaside + (uint64_t) node.lookaside;   /* of its lists */
        if (node.kind == MPII_GPUDT_KIND__BLKINDEXED) {
            const I i = gpudt_div(pos, node.div);
            run.disp += gpudt_entry(first, (int64_t) i);
            pos -= i * (I) node.child_size;
            at = node.child;
            continue;
        }

        /* INDEXED, RUNS and STRUCT: entry by search in prefix */
        const bool is_struct = node.kind == MPII_GPUDT_KIND__STRUCT;
        const I key = is_struct ? pos : gpudt_div(pos, node.div);
        int64_t lo = 0, hi = node.count;
        if (!report && at == list->node) {
            lo = list->lo;
            hi = list->hi;
        }
        const int64_t entry = gpudt_search(first, lo, hi, (int64_t) key);
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
            continue;
        }
        const int64_t beyond = gpudt_entry(first, entry + 1);
        if (node.kind == MPII_GPUDT_KIND__RUNS) {
            run.disp += (int64_t) pos - before * node.child_size;
            run.left = beyond * node.child_size - (int64_t) pos;
            return run;
        }
        run.disp += ((int64_t) key - before) * node.step;
        run.more = beyond - 1 - (int64_t) key;
        run.size = node.child_size;
        run.stride = node.step;
        pos -= key * (I) node.child_size;
        at = node.child;
    }
}

/* Displacements of N units from `pos` on: one descent for all runs at one stride. */
template <int UNIT, int N, class T> GPUDT_FN void gpudt_cover(T &where, int64_t pos, int64_t *disp)
{
    int done = 0;
    do {
        struct gpudt_run run = where.run(pos + done * UNIT);
        int64_t start = run.disp + run.left - run.size; /* of the run, if more follow */
        int left = run.left < N * UNIT ? (int) run.left / UNIT : N;
        for (int n = 0; n < N; n++) {
            if (n != done)
                continue;
            if (left == 0 && run.more > 0) {
                run.more--;
                start += run.stride;
                run.disp = start;
                left = run.size < N * UNIT ? (int) run.size / UNIT : N;
            }
            if (left > 0) {
                disp[n] = run.disp;
                run.disp += UNIT;
                left--;
                done++;
            }
        }
    } while (done < N);
}

/* Any tree. Small ones are copied to shared memory; in a long topmost list each tile searches only
 * where its own bytes are. */
template <class I, int UNIT> struct gpudt_tree {
    typedef struct MPII_Gpudt_args_tree args_type;
    enum { WORD = MPII_GPUDT_WORD_TREE(UNIT), UNROLL = MPII_GPUDT_UNROLL_TREE(UNIT) };
    struct shared_type {
        struct MPII_Gpudt_node node[MPII_GPUDT_MAX_NODES];
        struct gpudt_narrow end[2];
    };

    const args_type &args;
    shared_type *shared;
    const struct MPII_Gpudt_node *nodes;
    struct gpudt_narrow list;

    GPUDT_METHOD gpudt_tree(const args_type &args_, shared_type *shared_):args(args_),
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
    GPUDT_METHOD int enter(int64_t pos0, int lo, int hi)
    {
        if (!args.narrow)
            return hi;
        if (threadIdx.x % 32 == 0 && threadIdx.x < 64) {
            struct gpudt_narrow found = { 0, 0, 0, -1 };
            descend(threadIdx.x == 0 ? pos0 + lo * WORD : pos0 + hi * WORD - 1, &found, true);
            shared->end[threadIdx.x / 32] = found;
        }
        __syncthreads();        /* publishes end */
        list = shared->end[0];
        list.hi = shared->end[1].lo + 1;
        if (list.node != shared->end[1].node || list.base != shared->end[1].base)
            list.node = -1;
        return hi;
    }

    GPUDT_METHOD void leave() const
    {
        if (args.narrow)
            __syncthreads();    /* everyone has read end */
    }

    template <int U>
    GPUDT_METHOD void locate(int64_t pos0, int i, int lo, int hi,
                             int64_t(&disp)[U * WORD / UNIT])
    {
        enum { N = WORD / UNIT };
        for (int u = 0; u < U; u++) {
            int at = i + u * MPII_GPUDT_THREADS;
            at = at >= lo && at < hi ? at : lo;
            gpudt_cover<UNIT, N> (*this, pos0 + at * WORD, &disp[u * N]);
        }
    }

    GPUDT_METHOD int64_t point(int64_t pos)
    {
        struct gpudt_narrow anywhere = { 0, 0, 0, -1 };
        return descend(pos, &anywhere, false).disp;
    }
};

/* Many small datatypes, whatever their tree: each block expands one of them, unit by unit, into a map
 * in shared memory. */
template <int UNIT> struct gpudt_map {
    typedef struct MPII_Gpudt_args_tree args_type;
    enum { WORD = MPII_GPUDT_WORD_MAP(UNIT), UNROLL = MPII_GPUDT_UNROLL_MAP(UNIT) };
    typedef gpudt_tree<uint32_t, UNIT> tree;
    struct shared_type {
        typename tree::shared_type tree_shared;
        int64_t disp[MPII_GPUDT_MAX_MAP];
    };

    const args_type &args;
    shared_type *shared;

    GPUDT_METHOD gpudt_map(const args_type &args_, shared_type *shared_):args(args_),
        shared(shared_)
    {
    }

    GPUDT_METHOD void start() const
    {
        tree whole(args, &shared->tree_shared);
        whole.start();
        for (int i = (int) threadIdx.x; i < (int) args.type_units; i += MPII_GPUDT_THREADS)
            shared->disp[i] = whole.point(i * UNIT);
        __syncthreads();        /* publishes disp */
    }

    GPUDT_METHOD int enter(int64_t, int, int hi) const
    {
        return hi;
    }

    GPUDT_METHOD void leave() const
    {
    }

    GPUDT_METHOD int64_t look_up(uint32_t index) const
    {
        const uint32_t rep = gpudt_div(index, args.by_units);
        return gpudt_advance(shared->disp[index - rep * (uint32_t) args.type_units], rep,
                             args.extent);
    }

    template <int U>
    GPUDT_METHOD void locate(int64_t pos0, int i, int lo, int hi,
                             int64_t(&disp)[U * WORD / UNIT]) const
    {
        enum { N = WORD / UNIT };
        for (int u = 0; u < U; u++) {
            const uint32_t index = gpudt_unit_index<uint32_t, UNIT, WORD> (pos0, i, u, lo, hi);
            for (int n = 0; n < N; n++)
                disp[u * N + n] = look_up(index + n);
        }
    }

    GPUDT_METHOD int64_t point(int64_t pos) const
    {
        return look_up((uint32_t) (pos / UNIT)) + pos % UNIT;
    }
};

#endif /* GPUDT_WALK_CUH_INCLUDED */
