/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * The locator for lists of entries of any length, by search. See gpudt_walk.cuh. Compiles as CUDA
 * and as host C++.
 */

#ifndef GPUDT_WALK_LIST_CUH_INCLUDED
#define GPUDT_WALK_LIST_CUH_INCLUDED

#include "gpudt_walk.cuh"

/* The entries of a list, searched and numbered by a block of threads. */
struct gpudt_entries {
    typedef struct MPII_Gpudt_args_list args_type;

    const args_type &args;

    GPUDT_METHOD gpudt_entries(const args_type &args_):args(args_)
    {
    }

    GPUDT_METHOD int64_t prefix(int64_t run) const
    {
        return gpudt_entry(args.prefix, run);
    }

    /* The entry that contains `key` (in pieces), found by all threads of the block. Each round
     * divides the remaining entries into as many parts as there are threads. `found` is in shared
     * memory. */
    GPUDT_METHOD int64_t find_run(int64_t key, int64_t *found) const
    {
        int64_t lo = 0, hi = args.nruns, step;
        do {
            step = (hi - lo + MPII_GPUDT_THREADS - 1) / MPII_GPUDT_THREADS;
            int64_t mine = lo + (int64_t) threadIdx.x * step;
            int64_t next = mine + step < hi ? mine + step : hi;
            if (mine < hi && prefix(mine) <= key && key < prefix(next))
                *found = mine;
            __syncthreads();    /* publishes found */
            lo = *found;
            hi = lo + step < hi ? lo + step : hi;
            __syncthreads();    /* all have read found before the next round writes it */
        } while (step > 1);
        return lo;
    }

    /* Turn an entry number beyond the list into a repetition and an entry of the list. */
    GPUDT_METHOD void wrap(int64_t &rep, int64_t &run) const
    {
        if (run >= args.nruns) {
            int64_t skip = (int64_t) gpudt_div((uint64_t) run, args.by_nruns);
            rep += skip;
            run -= skip * args.nruns;
        }
    }
};

/* A window: the entries of a tile, which the block reads once into shared memory, and a bit for
 * each unit of the tile that is set where an entry begins. A unit's entry is the number of bits up
 * to the unit, so that no thread searches. Entries are numbered through all repetitions of the
 * list. The first entries of the next window are loaded while this window is in use. */
template <int UNIT> struct gpudt_window:public gpudt_entries {
    enum {
        WORD = MPII_GPUDT_WORD_LIST(UNIT), N = WORD / UNIT,
        NGROUPS = MPII_GPUDT_THREADS * MPII_GPUDT_LIST_ROUNDS * N / 32,
        GROUPS_PER_LANE = NGROUPS / 32,
        BATCHES = MPII_GPUDT_WINDOW / MPII_GPUDT_THREADS
    };
    static_assert(NGROUPS % 32 == 0, "whole groups");
    /* 32 units of the tile */
    struct alignas(8) group {
        uint32_t begins;        /* bit i: an entry begins with unit i, or is the window's first */
        int32_t before;         /* entry of the unit before unit 0 */
    };
    struct shared_type {
        struct group group[NGROUPS];
        uint64_t ahead[MPII_GPUDT_WINDOW];      /* address of a unit minus its offset from pos0 */
        int32_t start[MPII_GPUDT_WINDOW];       /* offset from pos0 of a piece, if there are pieces */
        int32_t filled[BATCHES];        /* entries in the window if this batch completed it, else
                                         * 0 */
        int32_t first;          /* the window's first entry in the range */
        int64_t found;          /* result of one round of the search */
        int64_t covered;        /* stream position at which an incomplete window ends */
    };

    shared_type *shared;
    bool is_placed;             /* rep and run0 tell where the next window starts */
    int64_t rep, run0;          /* repetition, and entry in it, that the window starts with */
    int64_t which, begin, end, disp;    /* the thread's own entry: repetition, stream positions,
                                         * displacement */

    GPUDT_METHOD gpudt_window(const args_type &args_, shared_type *shared_):gpudt_entries(args_),
        shared(shared_), is_placed(false), rep(0), run0(0)
    {
    }

    /* Load this thread's entry of one batch of the window. */
    GPUDT_METHOD void fetch(int batch)
    {
        int64_t run = run0 + batch * MPII_GPUDT_THREADS + (int) threadIdx.x;
        which = rep;
        wrap(which, run);
        begin = prefix(run);
        end = prefix(run + 1);
        disp = gpudt_entry(args.displ, run);
    }

    /* Store the entry in the window. Only stream positions lo to hi are needed. */
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
        uint64_t ahead = gpudt_list_addr(args, which) +
            (uint64_t) (disp + begin * (args.piece + args.gap));
        if (from > lo)
            unit = (int) (from - pos0) / UNIT;
        else
            shared->first = at;
        if (args.gap != 0) {
            /* Offsets are relative to the piece that contains lo, so that they are small. */
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

    /* Compute `before` of each group, by the threads of one warp. */
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

    /* Place the first window of this block: it starts with the entry that contains this
     * position. */
    GPUDT_METHOD void find(int64_t pos)
    {
        rep = (int64_t) gpudt_div((uint64_t) pos, args.by_list);
        /* A short list is kept as a whole. */
        run0 = args.nruns <= MPII_GPUDT_THREADS ? 0
            : find_run((int64_t) gpudt_div((uint64_t) (pos - rep * args.list_size), args.by_piece),
                       &shared->found);
        fetch(0);
        is_placed = true;
    }

    GPUDT_METHOD void clear() const
    {
        for (int k = (int) threadIdx.x; k < NGROUPS; k += MPII_GPUDT_THREADS)
            shared->group[k].begins = 0;
        if (threadIdx.x < BATCHES)
            shared->filled[threadIdx.x] = 0;
    }

    /* Load the entries of stream positions pos to limit, batch by batch. Returns their number, or 0
     * if the window is too small for them. */
    GPUDT_METHOD int fill_all(int64_t pos0, int64_t pos, int64_t limit)
    {
        int nwindow = 0;

        for (int batch = 0; batch < BATCHES && nwindow == 0; batch++) {
            if (batch > 0)
                fetch(batch);
            fill(batch, pos0, pos, limit);
            __syncthreads();    /* publishes this batch */
            nwindow = shared->filled[batch];
        }
        return nwindow;
    }

    /* See gpudt_walk.cuh. */
    GPUDT_METHOD int enter(int64_t pos0, int lo, int hi)
    {
        const int64_t pos = pos0 + lo * WORD, limit = pos0 + hi * WORD;

        if (!is_placed)
            find(pos);
        clear();
        __syncthreads();        /* publishes begins and filled */
        const int nwindow = fill_all(pos0, pos, limit);
        if (nwindow > 0) {
            run0 += nwindow - 1;        /* the last entry may continue in the next tile */
        } else {
            /* Many short entries: stop after the last word that is completely in the window, which
             * has at least one. The next window starts early enough for the following word. */
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

    /* The entry of one unit of a group. */
    GPUDT_METHOD int entry_of(const struct group &group, int bit) const
    {
        return group.before + __popc(group.begins & ((2u << bit) - 1));
    }
};

/* A list of entries, by windows. */
template <int UNIT, int UNPACK> struct gpudt_list:public gpudt_window<UNIT> {
    typedef gpudt_window<UNIT> window;
    typedef typename window::args_type args_type;
    typedef typename window::shared_type shared_type;
    enum {
        WORD = window::WORD, UNROLL = MPII_GPUDT_UNROLL_LIST(UNIT, UNPACK), N = window::N,
        STEP = UNPACK && N > 1 ? 32 : 1, NEIGHBOURS = 1, TOGETHER = 0
    };
    static_assert(MPII_GPUDT_LIST_ROUNDS % UNROLL == 0, "whole rounds");
    using window::args;
    using window::shared;

    GPUDT_METHOD gpudt_list(const args_type &args_, shared_type *shared_):window(args_, shared_)
    {
    }

    GPUDT_METHOD void start() const
    {
    }

    GPUDT_METHOD void leave() const
    {
        __syncthreads();        /* no thread reads the window any more */
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

    /* All units of a word are in one group: look up the first, and continue from there. */
    GPUDT_METHOD void locate_adjacent(int first, uint64_t *addr) const
    {
        const struct window::group group = shared->group[first / 32];
        const int bit = first % 32;
        int entry = this->entry_of(group, bit);
        uint32_t left = 0;      /* wraps in words outside of the range, which are located, too */
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
            const int entry = this->entry_of(shared->group[first / 32 + n], first % 32);
            addr[n] = shared->ahead[entry] + offset;
            if (args.gap != 0)
                addr[n] += (uint64_t)
                    ((int64_t) gpudt_div((uint32_t) (offset - shared->start[entry]),
                                         args.by_piece) * args.gap);
        }
    }

    /* Does not use the window. */
    GPUDT_METHOD uint64_t point(int64_t pos) const
    {
        const int64_t rep_ = (int64_t) gpudt_div((uint64_t) pos, args.by_list);
        const int64_t rest = pos - rep_ * args.list_size;
        const int64_t child = (int64_t) gpudt_div((uint64_t) rest, args.by_piece);
        const int64_t at = gpudt_search(args.prefix, 0, args.nruns, child);
        return gpudt_list_addr(args, rep_) +
            (uint64_t) (gpudt_entry(args.displ, at) + rest + child * args.gap);
    }
};

#endif /* GPUDT_WALK_LIST_CUH_INCLUDED */
