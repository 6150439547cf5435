/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * The locator of the pair kernels: for a side of any form, with units of any size, both known at
 * run time only. What it keeps from call to call is in shared memory, not in registers, since each
 * form would need others. Compiles as CUDA and as host C++.
 */

#ifndef GPUDT_WALK_ANY_CUH_INCLUDED
#define GPUDT_WALK_ANY_CUH_INCLUDED

#include "gpudt_walk_bitmap.cuh"
#include "gpudt_walk_list.cuh"
#include "gpudt_walk_tree.cuh"

/* The entries of a part of a tile, one for each thread. Offsets are bytes of the tile. */
struct gpudt_part_entries {
    uint64_t ahead[MPII_GPUDT_PAIR_WINDOW];     /* address of a unit minus its offset */
    int32_t start[MPII_GPUDT_PAIR_WINDOW];      /* offset of the entry, or of a piece in it */
    int64_t rep, run0;          /* repetition, and entry in it, of the first */
    int64_t found;              /* result of one round of the search */
    int32_t first, last;        /* those that are in the part */
    int32_t covered;            /* end of the part */
};
static_assert(MPII_GPUDT_PAIR_WINDOW == MPII_GPUDT_THREADS, "each thread loads an entry");

union gpudt_any_shared {
    struct gpudt_part_entries list;
    gpudt_tree<uint64_t, 1, 0>::shared_type tree;
};

/* A list without a bitmap. */
struct gpudt_part_list:public gpudt_entries {
    struct gpudt_part_entries *shared;

    GPUDT_METHOD gpudt_part_list(const args_type &args_, struct gpudt_part_entries *shared_):
        gpudt_entries(args_), shared(shared_)
    {
    }

    /* Find the entry of a stream position. A short list is kept as a whole. */
    GPUDT_METHOD void find(int64_t pos) const
    {
        const int64_t rep = (int64_t) gpudt_div((uint64_t) pos, args.by_list);
        const int64_t run = args.nruns <= MPII_GPUDT_THREADS ? 0 :
            find_run((int64_t) gpudt_div((uint64_t) (pos - rep * args.list_size), args.by_piece),
                     &shared->found);
        if (threadIdx.x == 0) {
            shared->rep = rep;
            shared->run0 = run;
        }
    }

    /* Load the entries of bytes [lo, hi) of the tile, of which byte 0 is at stream position pos0.
     * Returns the end of those that could be loaded.
     *   is_next  (IN)  lo is what the previous call returned */
    GPUDT_METHOD int enter(int64_t pos0, int lo, int hi, bool is_next) const
    {
        if (!is_next)
            find(pos0 + lo);
        else if (threadIdx.x == 0)
            shared->run0 += shared->last;
        __syncthreads();        /* publishes rep and run0 */
        int64_t rep = shared->rep, run = shared->run0 + (int) threadIdx.x;
        wrap(rep, run);
        const int64_t begin = prefix(run), base = rep * args.list_size - pos0;
        const int64_t to = base + prefix(run + 1) * args.piece;
        int64_t from = base + begin * args.piece;

        if (from < hi && to > lo) {
            uint64_t ahead = gpudt_list_addr(args, rep) + (uint64_t)
                (gpudt_entry(args.displ, run) + begin * (args.piece + args.gap));
            if (from <= lo)
                shared->first = (int) threadIdx.x;
            if (to >= hi || threadIdx.x == MPII_GPUDT_THREADS - 1) {
                shared->last = (int) threadIdx.x;
                shared->covered = to < hi ? (int) to : hi;
            }
            if (from < lo) {
                /* Offsets are relative to the piece that contains lo, so that they are small. */
                const int64_t skip = args.gap == 0 ? 0 :
                    (int64_t) gpudt_div((uint64_t) (lo - from), args.by_piece);
                from += skip * args.piece;
                ahead += (uint64_t) (skip * (args.piece + args.gap));
            }
            shared->start[threadIdx.x] = args.gap != 0 ? (int) from : from < lo ? lo : (int) from;
            shared->ahead[threadIdx.x] = ahead - (uint64_t) from;
        }
        __syncthreads();        /* publishes the entries */
        return shared->covered;
    }

    /* Addresses of U offsets: a binary search for each, step by step for all. */
    template <int U>
    GPUDT_METHOD void locate(const int (&offset)[U], uint64_t(&addr)[U]) const
    {
        const int n = shared->last - shared->first + 1;
        int at[U], step = MPII_GPUDT_PAIR_WINDOW / 2;

        while (step >= n)
            step /= 2;
        GPUDT_UNROLL
        for (int u = 0; u < U; u++)
            at[u] = shared->first;
        for (; step > 0; step /= 2) {
            GPUDT_UNROLL
            for (int u = 0; u < U; u++) {
                const int next = at[u] + step;
                if (next <= shared->last && shared->start[next] <= offset[u])
                    at[u] = next;
            }
        }
        GPUDT_UNROLL
        for (int u = 0; u < U; u++) {
            addr[u] = shared->ahead[at[u]] + (uint64_t) offset[u];
            if (args.gap != 0)
                addr[u] += (uint64_t)
                    ((int64_t) gpudt_div((uint32_t) (offset[u] - shared->start[at[u]]),
                                         args.by_piece) * args.gap);
        }
    }
};

/* A side. I: type of indices. */
template <class I> struct gpudt_any {
    enum { U = MPII_GPUDT_PAIR_UNROLL(sizeof(I)) };
    typedef gpudt_tree<I, 1, 0> tree_type;

    const struct MPII_Gpudt_pair_side &side;
    union gpudt_any_shared *shared;
    int64_t pos0;               /* stream position of byte 0 of the tile */
    int lo, hi;                 /* the part of the tile that enter() has prepared, in bytes */
    int group;                  /* adjacent units of a thread; 0: adjacent threads have adjacent
                                 * units */

    GPUDT_METHOD gpudt_any(const struct MPII_Gpudt_pair_side &side_,
                           union gpudt_any_shared *shared_, int64_t pos0_):side(side_),
        shared(shared_), pos0(pos0_), lo(0), hi(0), group(0)
    {
    }

    GPUDT_METHOD tree_type tree() const
    {
        static_assert(sizeof(typename tree_type::shared_type) == sizeof(shared->tree), "the same");
        return tree_type(side.args.tree, (typename tree_type::shared_type *) (void *) shared);
    }

    GPUDT_METHOD void enter_tree()
    {
        const int each = ((hi - lo) >> side.unit_log) / MPII_GPUDT_THREADS;
        tree_type whole = tree();

        /* One descent may find several adjacent units. */
        group = each < 1 ? 1 : each < U ? each : U;
        whole.start();
        if (side.args.tree.narrow)
            whole.narrow(pos0 + lo, pos0 + hi);
    }

    /* Before bytes [from, to) of the tile are located, whole units. Returns the end of those that
     * can be, above from. By all threads. */
    GPUDT_METHOD int enter(int from, int to)
    {
        const bool is_next = from > 0 && from == hi;

        lo = from;
        hi = to;
        if (side.family == MPII_GPUDT_FAMILY__LIST) {
            hi = gpudt_part_list(side.args.list, &shared->list).enter(pos0, from, to, is_next);
        } else if (side.family == MPII_GPUDT_FAMILY__TREE) {
            enter_tree();
        } else if (side.family == MPII_GPUDT_FAMILY__BITMAP) {
            /* All in one repetition of the list */
            const int64_t rep = (int64_t) gpudt_div((uint64_t) (pos0 + from),
                                                    side.args.list.by_list);
            hi = gpudt_at_most((rep + 1) * side.args.list.list_size - pos0, to);
        }
        return hi;
    }

    /* Units of a round of all threads, and in it that of this thread with number u below U. Not
     * below step(): none. */
    GPUDT_METHOD int step() const
    {
        return (group > 0 ? group : U) * MPII_GPUDT_THREADS;
    }

    GPUDT_METHOD int index(int u) const
    {
        const int thread = (int) threadIdx.x;

        if (group > 0)
            return u < group ? thread * group + u : step();
        return u * MPII_GPUDT_THREADS + thread;
    }

    GPUDT_METHOD void locate_tree(const int (&offset)[U], uint64_t(&addr)[U]) const
    {
        const int left = (hi - offset[0]) >> side.unit_log;
        tree_type where = tree();

        if (side.args.tree.narrow)
            where.narrow_read();
        gpudt_cover<U> (where, pos0 + offset[0], 1 << side.unit_log, left < group ? left : group,
                        addr);
    }

    GPUDT_METHOD void locate_bitmap(const int (&offset)[U], uint64_t(&addr)[U]) const
    {
        enum { M = 4 };         /* more look-ups at a time would need too many registers */
        gpudt_bits where(side.args.list);

        where.place(pos0 + lo, pos0 + hi);
        GPUDT_UNROLL
        for (int u = 0; u < U; u += M) {
            int64_t pos[M];
            uint64_t found[M];
            GPUDT_UNROLL
            for (int i = 0; i < M; i++) {
                pos[i] = pos0 - where.begin + offset[u + i];
                found[i] = where.user;
            }
            where.look_up<M> (pos, found);
            GPUDT_UNROLL
            for (int i = 0; i < M; i++)
                addr[u + i] = found[i];
        }
    }

    /* Addresses of units, given by their offsets in the tile, which must be in the part. */
    GPUDT_METHOD void locate(const int (&offset)[U], uint64_t(&addr)[U]) const
    {
        if (side.family == MPII_GPUDT_FAMILY__BOX) {
            const I unit0 = (I) (pos0 >> side.unit_log);
            I unit[U];
            GPUDT_UNROLL
            for (int u = 0; u < U; u++) {
                unit[u] = unit0 + (I) (offset[u] >> side.unit_log);
                addr[u] = side.args.span.user;
            }
            gpudt_levels<I, U> (side.args.box.levels, unit, addr);
        } else if (side.family == MPII_GPUDT_FAMILY__BITMAP) {
            locate_bitmap(offset, addr);
        } else if (side.family == MPII_GPUDT_FAMILY__LIST) {
            gpudt_part_list(side.args.list, &shared->list).template locate<U> (offset, addr);
        } else {
            locate_tree(offset, addr);
        }
    }
};

#endif /* GPUDT_WALK_ANY_CUH_INCLUDED */
