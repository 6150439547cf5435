/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * Stream position to user address: the locators, one for each form that the plan gives a type.
 * They know nothing of packing or unpacking or of what is done at the address. Compiles as CUDA and
 * as host C++.
 *
 * A locator for units of UNIT bytes offers to a block of threads
 *     WORD, UNROLL        bytes of a word, words that a thread has in flight
 *     STEP                units from one to the next of a thread's units of a word: 1, or 32 where
 *                         the lanes of a warp take adjacent units
 *     NEIGHBOURS          1: something is carried from one tile to the next
 *     TOGETHER            1: words should be located together, to have more look-ups in flight
 *     start()             once                                                      (all threads)
 *     enter(pos0, lo, hi) before words [lo, hi), counted from stream position pos0, of one tile are
 *                         located; returns how far that is possible, more than lo   (all threads)
 *     locate<CHECKED, U>(pos0, first, lo, hi, addr)  addresses of units first[u] + n * STEP,
 *                         counted from pos0: all those of U words; if CHECKED, anything for units
 *                         that are not in [lo, hi)
 *     leave()             when all threads are done with these words                (all threads)
 *     point(pos)          address of any byte of the stream
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

/* addr + index * stride. With 32-bit indices the plan has made sure that strides have 32 bits, too,
 * so that this is one instruction, which the compiler does not find by itself. */
GPUDT_FN uint64_t gpudt_advance(uint64_t addr, uint32_t index, int64_t stride)
{
#ifdef __CUDA_ARCH__
    asm("mad.wide.s32 %0, %1, %2, %0;":"+l"(addr):"r"(index), "r"((int32_t) stride));
    return addr;
#else
    return addr + (uint64_t) ((int64_t) (int32_t) index * (int32_t) stride);
#endif
}

GPUDT_FN uint64_t gpudt_advance(uint64_t addr, uint64_t index, int64_t stride)
{
    return addr + index * (uint64_t) stride;
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

/* Add to addr the displacements of U units with these indices in level 0. Level by level for all U,
 * so that U chains of divisions are in flight. */
template <class I, int U>
GPUDT_FN void gpudt_levels(const struct MPII_Gpudt_levels &levels, I(&index)[U],
                           uint64_t(&addr)[U])
{
    GPUDT_UNROLL
    for (int k = 0; k < MPII_GPUDT_MAX_LEVELS - 1; k++) {
        if (k >= levels.nlevels)
            break;
        const struct MPII_Gpudt_level &level = levels.level[k];
        I above[U];
        GPUDT_UNROLL
        for (int u = 0; u < U; u++) {
            addr[u] = gpudt_advance(addr[u], index[u], level.step);
            above[u] = gpudt_div_many(index[u], level.div);
        }
        if (level.displ != 0) {
            GPUDT_UNROLL
            for (int u = 0; u < U; u++)
                addr[u] += (uint64_t)
                    gpudt_entry(level.displ, (int64_t) (index[u] - above[u] * (I) level.count));
        }
        GPUDT_UNROLL
        for (int u = 0; u < U; u++)
            index[u] = above[u];
    }
    GPUDT_UNROLL
    for (int u = 0; u < U; u++)
        addr[u] = gpudt_advance(addr[u], index[u], levels.top.step);
    if (levels.top.displ != 0) {
        GPUDT_UNROLL
        for (int u = 0; u < U; u++)
            addr[u] += (uint64_t) gpudt_entry(levels.top.displ, (int64_t) index[u]);
    }
}

/* A unit that exists: what is located need not be moved, but its lists are read. */
template <int CHECKED> GPUDT_FN int gpudt_clamp(int at, int lo, int hi)
{
    if (CHECKED) {
        at = at < hi ? at : hi - 1;
        at = at > lo ? at : lo;
    }
    return at;
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
template <class I, int UNIT, int UNPACK>
struct gpudt_box:public gpudt_plain<struct MPII_Gpudt_args_box> {
    typedef gpudt_plain<struct MPII_Gpudt_args_box> base;
    enum {
        WORD = MPII_GPUDT_WORD_BOX(UNIT), UNROLL = MPII_GPUDT_UNROLL_BOX(UNIT, UNPACK),
        N = WORD / UNIT, STEP = UNPACK && N > 1 ? 32 : 1, NEIGHBOURS = 0, TOGETHER = 1
    };

    GPUDT_METHOD gpudt_box(const args_type &args_, shared_type *):base(args_)
    {
    }

    template <int CHECKED, int U>
    GPUDT_METHOD void locate(int64_t pos0, const int (&first)[U], int lo, int hi,
                             uint64_t(&addr)[U * N]) const
    {
        const I unit0 = (I) (pos0 / UNIT);
        if (N > 2 && STEP == 1 && args.run >= N - 1) {
            /* A word is all in one run, or in two */
            I index[2 * U];
            uint64_t from[2 * U];
            int left[U];
            GPUDT_UNROLL
            for (int u = 0; u < U; u++) {
                const I at = unit0 + (I) gpudt_clamp<CHECKED> (first[u], lo, hi - N + 1);
                const I run = (I) args.run;
                const I rest = run - (at - gpudt_div_many(at, args.levels.level[0].div) * run);
                left[u] = rest < N ? (int) rest : N;
                index[2 * u] = at;
                index[2 * u + 1] = left[u] < N ? at + left[u] : at;
                from[2 * u] = args.span.user;
                from[2 * u + 1] = args.span.user - (uint64_t) (left[u] * UNIT);
            }
            gpudt_levels<I, 2 * U> (args.levels, index, from);
            GPUDT_UNROLL
            for (int i = 0; i < U * N; i++)
                addr[i] = (i % N < left[i / N] ? from[i / N * 2] : from[i / N * 2 + 1]) +
                    i % N * UNIT;
        } else {
            I index[U * N];
            GPUDT_UNROLL
            for (int i = 0; i < U * N; i++) {
                index[i] = unit0 + (I) gpudt_clamp<CHECKED> (first[i / N] + i % N * STEP, lo, hi);
                addr[i] = args.span.user;
            }
            gpudt_levels<I, U * N> (args.levels, index, addr);
        }
    }

    GPUDT_METHOD uint64_t point(int64_t pos) const
    {
        I index[1] = { (I) (pos / UNIT) };
        uint64_t addr[1] = { args.span.user + (uint64_t) (pos % UNIT) };
        gpudt_levels<I, 1> (args.levels, index, addr);
        return addr[0];
    }
};

template <int UNIT, int UNPACK> using gpudt_box32 = gpudt_box<uint32_t, UNIT, UNPACK>;
template <int UNIT, int UNPACK> using gpudt_box64 = gpudt_box<uint64_t, UNIT, UNPACK>;

/* A list of entries. The block looks up the entries of a tile once and keeps them at hand as a
 * window, with a bit for each unit of the tile that an entry begins with: a unit's entry is the
 * number of bits up to the unit, so that no thread searches. Entries are numbered through all
 * repetitions of the list. What the next window begins with is loaded while this one is in use. */
template <int UNIT, int UNPACK> struct gpudt_list {
    typedef struct MPII_Gpudt_args_list args_type;
    enum {
        WORD = MPII_GPUDT_WORD_LIST(UNIT), UNROLL = MPII_GPUDT_UNROLL_LIST(UNIT, UNPACK),
        N = WORD / UNIT, STEP = UNPACK && N > 1 ? 32 : 1, NEIGHBOURS = 1, TOGETHER = 0,
        NGROUPS = MPII_GPUDT_THREADS * MPII_GPUDT_LIST_ROUNDS * N / 32,
        GROUPS_PER_LANE = NGROUPS / 32,
        BATCHES = MPII_GPUDT_WINDOW / MPII_GPUDT_THREADS
    };
    static_assert(MPII_GPUDT_LIST_ROUNDS % UNROLL == 0 && NGROUPS % 32 == 0, "whole groups");
    /* 32 units of the tile */
    struct alignas(8) group {
        uint32_t begins;        /* bit i: an entry begins with unit i, or is the window's first */
        int32_t before;         /* entry that is in effect before unit 0 */
    };
    struct shared_type {
        struct group group[NGROUPS];
        uint64_t ahead[MPII_GPUDT_WINDOW];      /* address of a unit - its offset from pos0 */
        int32_t start[MPII_GPUDT_WINDOW];       /* offset of a piece's begin, if there are pieces */
        int32_t filled[BATCHES];        /* entries in the window if this batch completed it, or 0 */
        int32_t first;          /* the window's first entry that is wanted */
        int64_t found;          /* result of one round of the search */
        int64_t covered;        /* stream position up to which an incomplete window goes */
    };

    const args_type &args;
    shared_type *shared;
    bool is_placed;             /* rep and run0 say where the next window starts */
    int64_t rep, run0;          /* repetition, and entry in it, that the window starts with */
    int64_t which, begin, end, disp;    /* the thread's own entry: repetition, positions, place */

    GPUDT_METHOD gpudt_list(const args_type &args_, shared_type *shared_):args(args_),
        shared(shared_), is_placed(false), rep(0), run0(0)
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

    /* Address of a repetition of the list. A list of repetitions need not begin with 0: the plan passes
     * over those before the range. */
    GPUDT_METHOD uint64_t rep_addr(int64_t rep_) const
    {
        uint64_t index[1] = { (uint64_t) rep_ };
        uint64_t addr[1] = { args.span.user };
        if (rep_ > 0 || args.levels.top.displ != 0)
            gpudt_levels<uint64_t, 1> (args.levels, index, addr);
        return addr[0];
    }

    /* The entry that holds `key` (in pieces), found by all threads of the block: each round cuts
     * what is left into as many parts as there are threads. */
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
    GPUDT_METHOD void wrap(int64_t &rep_, int64_t &run) const
    {
        if (run >= args.nruns) {
            int64_t skip = (int64_t) gpudt_div((uint64_t) run, args.by_nruns);
            rep_ += skip;
            run -= skip * args.nruns;
        }
    }

    /* Load the entry that this thread has in one batch of the window. */
    GPUDT_METHOD void fetch(int batch)
    {
        int64_t run = run0 + batch * MPII_GPUDT_THREADS + (int) threadIdx.x;
        which = rep;
        wrap(which, run);
        begin = prefix(run);
        end = prefix(run + 1);
        disp = displ(run);
    }

    /* Enter it in the window. Stream positions lo to hi are wanted. */
    GPUDT_METHOD void fill(int batch, int64_t pos0, int64_t lo, int64_t hi) const
    {
        const int at = batch * MPII_GPUDT_THREADS + (int) threadIdx.x;
        const int64_t base = which * args.list_size, to = base + end * args.piece;
        int64_t from = base + begin * args.piece;
        int unit = 0;

        if (at == MPII_GPUDT_WINDOW - 1)
            shared->covered = to;
        if (from >= hi || to <= lo)
            return;
        uint64_t ahead = rep_addr(which) + (uint64_t) disp;
        if (from > lo)
            unit = (int) (from - pos0) / UNIT;
        else
            shared->first = at;
        if (args.gap != 0) {
            /* Offsets are small if they are counted from the piece that lo is in. */
            const int64_t skip = from < lo ?
                (int64_t) gpudt_div((uint64_t) (lo - from), args.by_piece) : 0;
            from += skip * args.piece;
            ahead += (uint64_t) (skip * (args.piece + args.gap));
            shared->start[at] = (int32_t) (from - pos0);
        }
        shared->ahead[at] = ahead - (uint64_t) (from - pos0);
        gpudt_shared_or(&shared->group[unit / 32].begins, 1u << unit % 32);
        if (to >= hi)
            shared->filled[batch] = at + 1;
    }

    /* What is in effect before each group, by the threads of one warp. */
    GPUDT_METHOD void count() const
    {
        struct group *group = &shared->group[threadIdx.x * GROUPS_PER_LANE];
        int mine = 0;
        for (int k = 0; k < GROUPS_PER_LANE; k++)
            mine += __popc(group[k].begins);
        int before = mine;
        for (unsigned d = 1; d < 32; d *= 2) {
            const int other = __shfl_up_sync(0xffffffffu, before, d);
            before += threadIdx.x >= d ? other : 0;
        }
        before += shared->first - 1 - mine;
        for (int k = 0; k < GROUPS_PER_LANE; k++) {
            group[k].before = before;
            before += __popc(group[k].begins);
        }
    }

    GPUDT_METHOD int enter(int64_t pos0, int lo, int hi)
    {
        const int64_t pos = pos0 + lo * WORD, limit = pos0 + hi * WORD;
        if (!is_placed) {
            rep = (int64_t) gpudt_div((uint64_t) pos, args.by_list);
            /* A short list is at hand as a whole. */
            run0 = args.nruns <= MPII_GPUDT_THREADS ? 0
                : find_run((int64_t) gpudt_div((uint64_t) (pos - rep * args.list_size),
                                               args.by_piece));
            fetch(0);
            is_placed = true;
        }
        for (int k = (int) threadIdx.x; k < NGROUPS; k += MPII_GPUDT_THREADS)
            shared->group[k].begins = 0;
        if (threadIdx.x < BATCHES)
            shared->filled[threadIdx.x] = 0;
        __syncthreads();        /* publishes begins and filled */
        int nwindow = 0;
        for (int batch = 0; batch < BATCHES && nwindow == 0; batch++) {
            if (batch > 0)
                fetch(batch);
            fill(batch, pos0, pos, limit);
            __syncthreads();    /* publishes this batch */
            nwindow = shared->filled[batch];
        }
        if (nwindow > 0) {
            run0 += nwindow - 1;        /* the last entry may go on in the next tile */
        } else {
            /* Many short entries: as many words as are all in the window, which is at least one.
             * The next window starts early enough for the word that is not. */
            hi = (int) ((shared->covered - pos0) / WORD);
            run0 += MPII_GPUDT_WINDOW - N;
        }
        wrap(rep, run0);
        fetch(0);
        if (threadIdx.x < 32)
            count();
        __syncthreads();        /* publishes before */
        return hi;
    }

    GPUDT_METHOD void leave() const
    {
        __syncthreads();        /* nobody reads the window any more */
    }

    /* The entry of one unit of a group. */
    GPUDT_METHOD int entry_of(const struct group &group, int bit) const
    {
        return group.before + __popc(group.begins & ((2u << bit) - 1));
    }

    template <int CHECKED, int U>
    GPUDT_METHOD void locate(int64_t, const int (&first)[U], int, int,
                             uint64_t(&addr)[U * N]) const
    {
        GPUDT_UNROLL
        for (int u = 0; u < U; u++) {
            if (STEP == 1)
                locate_adjacent(first[u], &addr[u * N]);
            else
                locate_spread(first[u], &addr[u * N]);
        }
    }

    /* All units of a word are in one group: look up the first, go on from there. */
    GPUDT_METHOD void locate_adjacent(int first, uint64_t *addr) const
    {
        const struct group group = shared->group[first / 32];
        const int bit = first % 32;
        int entry = entry_of(group, bit);
        uint32_t left = 0;      /* wraps in words outside of the range, which are located too */
        uint64_t ahead = shared->ahead[entry];

        if (args.gap != 0) {
            const int inside = first * UNIT - shared->start[entry];
            const int piece = (int) gpudt_div((uint32_t) inside, args.by_piece);
            ahead += (uint64_t) (piece * args.gap);
            left = ((uint32_t) piece + 1) * (uint32_t) args.piece - (uint32_t) inside;
        }
        addr[0] = ahead + first * UNIT;
        GPUDT_UNROLL
        for (int n = 1; n < N; n++) {
            left -= UNIT;
            if (group.begins >> (bit + n) & 1) {
                entry++;
                ahead = shared->ahead[entry];
                left = (uint32_t) args.piece;
            } else if (args.gap != 0 && left == 0) {
                ahead += (uint64_t) args.gap;
                left = (uint32_t) args.piece;
            }
            addr[n] = ahead + (first + n) * UNIT;
        }
    }

    /* Each unit is in the next group. */
    GPUDT_METHOD void locate_spread(int first, uint64_t *addr) const
    {
        GPUDT_UNROLL
        for (int n = 0; n < N; n++) {
            const int offset = (first + n * STEP) * UNIT;
            const int entry = entry_of(shared->group[first / 32 + n], first % 32);
            addr[n] = shared->ahead[entry] + offset;
            if (args.gap != 0)
                addr[n] += (uint64_t)
                    ((int64_t) gpudt_div((uint32_t) (offset - shared->start[entry]),
                                         args.by_piece) * args.gap);
        }
    }

    /* Without the window. */
    GPUDT_METHOD uint64_t point(int64_t pos) const
    {
        const int64_t rep_ = (int64_t) gpudt_div((uint64_t) pos, args.by_list);
        const int64_t rest = pos - rep_ * args.list_size;
        const int64_t at = gpudt_search(args.prefix, 0, args.nruns,
                                        (int64_t) gpudt_div((uint64_t) rest, args.by_piece));
        const int64_t inside = rest - prefix(at) * args.piece;
        return rep_addr(rep_) + (uint64_t)
            (displ(at) + inside + (int64_t) gpudt_div((uint64_t) inside, args.by_piece) * args.gap);
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

/* Addresses of N units from `pos` on: one descent for all runs at one stride. */
template <int UNIT, int N, class T> GPUDT_FN void gpudt_cover(T &where, int64_t pos, uint64_t *addr)
{
    int done = 0;
    do {
        struct gpudt_run run = where.run(pos + done * UNIT);
        int64_t start = run.disp + run.left - run.size; /* of the run, if more follow */
        int left = run.left < N * UNIT ? (int) run.left / UNIT : N;
        GPUDT_UNROLL
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
                addr[n] = where.args.span.user + (uint64_t) run.disp;
                run.disp += UNIT;
                left--;
                done++;
            }
        }
    } while (done < N);
}

/* Any tree. Small ones are copied to shared memory; in a long topmost list each tile searches only
 * where its own bytes are. */
template <class I, int UNIT, int UNPACK> struct gpudt_tree {
    typedef struct MPII_Gpudt_args_tree args_type;
    enum {
        WORD = MPII_GPUDT_WORD_TREE(UNIT, UNPACK), UNROLL = MPII_GPUDT_UNROLL_TREE(UNIT, UNPACK),
        N = WORD / UNIT, STEP = 1, NEIGHBOURS = 0, TOGETHER = 0
    };
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

    template <int CHECKED, int U>
    GPUDT_METHOD void locate(int64_t pos0, const int (&first)[U], int lo, int hi,
                             uint64_t(&addr)[U * N])
    {
        GPUDT_UNROLL
        for (int u = 0; u < U; u++)
            gpudt_cover<UNIT, N> (*this, pos0 + gpudt_clamp<CHECKED> (first[u], lo, hi - N + 1) *
                                  UNIT, &addr[u * N]);
    }

    GPUDT_METHOD uint64_t point(int64_t pos) const
    {
        struct gpudt_narrow anywhere = { 0, 0, 0, -1 };
        return args.span.user + (uint64_t) descend(pos, &anywhere, false).disp;
    }
};

template <int UNIT, int UNPACK> using gpudt_tree32 = gpudt_tree<uint32_t, UNIT, UNPACK>;
template <int UNIT, int UNPACK> using gpudt_tree64 = gpudt_tree<uint64_t, UNIT, UNPACK>;

/* Many small datatypes, whatever their tree: each block expands one of them, unit by unit, into a
 * map in shared memory. */
template <int UNIT, int UNPACK> struct gpudt_map {
    typedef struct MPII_Gpudt_args_tree args_type;
    enum {
        WORD = MPII_GPUDT_WORD_BOX(UNIT), UNROLL = MPII_GPUDT_UNROLL_MAP(UNIT, UNPACK),
        N = WORD / UNIT, STEP = UNPACK && N > 1 ? 32 : 1, NEIGHBOURS = 0, TOGETHER = 0
    };
    typedef gpudt_tree<uint32_t, UNIT, UNPACK> tree;
    struct shared_type {
        typename tree::shared_type tree_shared;
        int32_t disp[MPII_GPUDT_MAX_MAP + MPII_GPUDT_MAX_MAP / 32];
    };

    const args_type &args;
    shared_type *shared;

    GPUDT_METHOD gpudt_map(const args_type &args_, shared_type *shared_):args(args_),
        shared(shared_)
    {
    }

    /* Where a unit is in the map. A gap after every 32 keeps threads that go in steps of N apart in
     * the banks of shared memory. */
    GPUDT_METHOD int32_t &place(uint32_t unit) const
    {
        return shared->disp[N > 1 && STEP == 1 ? unit + unit / 32 : unit];
    }

    GPUDT_METHOD void start() const
    {
        tree whole(args, &shared->tree_shared);
        whole.start();
        for (int i = (int) threadIdx.x; i < (int) args.type_units; i += MPII_GPUDT_THREADS)
            place(i) = (int32_t) (whole.point(i * UNIT) - args.span.user);
        __syncthreads();        /* publishes disp */
    }

    GPUDT_METHOD int enter(int64_t, int, int hi) const
    {
        return hi;
    }

    GPUDT_METHOD void leave() const
    {
    }

    GPUDT_METHOD uint64_t look_up(uint32_t index) const
    {
        const uint32_t rep = gpudt_div(index, args.by_units);
        const int32_t disp = place(index - rep * (uint32_t) args.type_units);
        return gpudt_advance(args.span.user + (uint64_t) (int64_t) disp, rep, args.extent);
    }

    template <int CHECKED, int U>
    GPUDT_METHOD void locate(int64_t pos0, const int (&first)[U], int lo, int hi,
                             uint64_t(&addr)[U * N]) const
    {
        const uint32_t unit0 = (uint32_t) (pos0 / UNIT);
        GPUDT_UNROLL
        for (int i = 0; i < U * N; i++)
            addr[i] = look_up(unit0 + (uint32_t)
                              gpudt_clamp<CHECKED> (first[i / N] + i % N * STEP, lo, hi));
    }

    GPUDT_METHOD uint64_t point(int64_t pos) const
    {
        return look_up((uint32_t) (pos / UNIT)) + (uint64_t) (pos % UNIT);
    }
};

#endif /* GPUDT_WALK_CUH_INCLUDED */
