/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * The locators for any type: one that walks the tree, and one that walks it once to make a map of a
 * small type. See gpudt_walk.cuh. Compiles as CUDA and as host C++.
 */

#ifndef GPUDT_WALK_TREE_CUH_INCLUDED
#define GPUDT_WALK_TREE_CUH_INCLUDED

#include "gpudt_walk.cuh"

/* The topmost list on the path to a position, and the entries that contain the position. */
struct gpudt_narrow {
    int64_t base;               /* stream position at which this occurrence of the list starts */
    int64_t lo, hi;             /* entries to search */
    int32_t node;               /* -1: none */
};

/* The run that contains a byte. If it is one of equal runs at a stride, `more` of them follow. */
struct gpudt_run {
    int64_t disp;               /* displacement of that byte */
    int64_t left;               /* bytes from there to the end of the run */
    int64_t more;
    int64_t size;               /* of each run */
    int64_t stride;             /* from the beginning of a run to the next */
};

/* Descend into child i of children at a stride; child `beyond` is the first that does not continue
 * the stride. */
template <class I>
GPUDT_FN void gpudt_descend_stride(const struct MPII_Gpudt_node &node, I i, int64_t beyond,
                                   struct gpudt_run *run, I *pos)
{
    run->disp += (int64_t) i * node.step;
    run->more = beyond - 1 - (int64_t) i;
    run->size = node.child_size;
    run->stride = node.step;
    *pos -= i * (I) node.child_size;
}

/* The entry of node `at` that contains `key`, by search in its prefix sums. The node's occurrence
 * starts at stream position `base`. See gpudt_descend. */
GPUDT_FN int64_t gpudt_descend_entry(const struct MPII_Gpudt_node &node, int at, uint64_t prefix,
                                     int64_t key, int64_t base, struct gpudt_narrow *list,
                                     bool report)
{
    int64_t lo = 0, hi = node.count;

    if (!report && at == list->node) {
        lo = list->lo;
        hi = list->hi;
    }
    const int64_t entry = gpudt_search(prefix, lo, hi, key);
    if (report && list->node < 0) {
        list->node = at;
        list->base = base;
        list->lo = entry;
    }
    return entry;
}

/* Walks the whole tree from the root, for one byte. `list` limits the search in the topmost list
 * (in), or receives the entry found there (out, if `report`). */
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
            gpudt_descend_stride<I> (node, gpudt_div(pos, node.div), node.count, &run, &pos);
            at = node.child;
            continue;
        }
        const uint64_t first = lookaside + (uint64_t) node.lookaside;   /* of this node's lists */
        if (node.kind == MPII_GPUDT_KIND__BLKINDEXED) {
            const I i = gpudt_div(pos, node.div);
            run.disp += gpudt_entry(first, (int64_t) i);
            pos -= i * (I) node.child_size;
            at = node.child;
            continue;
        }

        /* INDEXED, RUNS and STRUCT */
        const bool is_struct = node.kind == MPII_GPUDT_KIND__STRUCT;
        const I key = is_struct ? pos : gpudt_div(pos, node.div);
        const int64_t entry = gpudt_descend_entry(node, at, first, (int64_t) key,
                                                  (int64_t) (whole - pos), list, report);
        const uint64_t displ = first + 8 * ((uint64_t) node.count + 1);
        run.disp += gpudt_entry(displ, entry);
        if (is_struct) {
            pos -= (I) gpudt_entry(first, entry);
            at = gpudt_load<int32_t>(displ + 8 * (uint64_t) node.count + 4 * (uint64_t) entry);
            continue;
        }
        const int64_t beyond = gpudt_entry(first, entry + 1);
        if (node.kind == MPII_GPUDT_KIND__RUNS) {
            run.disp += (int64_t) pos;
            run.left = beyond * node.child_size - (int64_t) pos;
            return run;
        }
        gpudt_descend_stride<I> (node, key, beyond, &run, &pos);
        at = node.child;
    }
}

/* Addresses of N units of `unit` bytes starting at `pos`, of which the first `count` exist: one
 * descent for all runs of a stride. */
template <int N, class T>
GPUDT_FN void gpudt_cover(T &where, int64_t pos, int unit, int count, uint64_t *addr)
{
    int done = 0;
    do {
        struct gpudt_run run = where.run(pos + done * unit);
        int64_t start = run.disp + run.left - run.size; /* of the run, if more follow */
        int left = run.left < N * unit ? (int) run.left / unit : N;
        GPUDT_UNROLL
        for (int n = 0; n < N; n++) {
            if (n != done)
                continue;
            if (left == 0 && run.more > 0) {
                run.more--;
                start += run.stride;
                run.disp = start;
                left = run.size < N * unit ? (int) run.size / unit : N;
            }
            if (left > 0) {
                addr[n] = where.args.span.user + (uint64_t) run.disp;
                run.disp += unit;
                left--;
                done++;
            }
        }
    } while (done < count);
}

/* Any tree. A small tree is copied to shared memory. In a long topmost list, each tile searches
 * only the entries of its own bytes. */
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

    /* Narrow the search for a range of stream positions. If both ends are in the same occurrence of
     * the same list, so is all between them. */
    GPUDT_METHOD void narrow(int64_t from, int64_t to)
    {
        if (threadIdx.x % 32 == 0 && threadIdx.x < 64) {
            struct gpudt_narrow found = { 0, 0, 0, -1 };
            descend(threadIdx.x == 0 ? from : to - 1, &found, true);
            shared->end[threadIdx.x / 32] = found;
        }
        __syncthreads();        /* publishes end */
        narrow_read();
    }

    GPUDT_METHOD void narrow_read()
    {
        list = shared->end[0];
        list.hi = shared->end[1].lo + 1;
        if (list.node != shared->end[1].node || list.base != shared->end[1].base)
            list.node = -1;
    }

    GPUDT_METHOD int enter(int64_t pos0, int lo, int hi)
    {
        if (args.narrow)
            narrow(pos0 + lo * WORD, pos0 + hi * WORD);
        return hi;
    }

    GPUDT_METHOD void leave() const
    {
        if (args.narrow)
            __syncthreads();    /* all have read end */
    }

    template <int CHECKED, int U>
    GPUDT_METHOD void locate(int64_t pos0, const int (&first)[U], int lo, int hi,
                             uint64_t(&addr)[U * N])
    {
        GPUDT_UNROLL
        for (int u = 0; u < U; u++)
            gpudt_cover<N> (*this, pos0 + gpudt_clamp<CHECKED> (first[u], lo, hi - N + 1) * UNIT,
                            UNIT, N, &addr[u * N]);
    }

    GPUDT_METHOD uint64_t point(int64_t pos) const
    {
        struct gpudt_narrow anywhere = { 0, 0, 0, -1 };
        return args.span.user + (uint64_t) descend(pos, &anywhere, false).disp;
    }
};

template <int UNIT, int UNPACK> using gpudt_tree32 = gpudt_tree<uint32_t, UNIT, UNPACK>;
template <int UNIT, int UNPACK> using gpudt_tree64 = gpudt_tree<uint64_t, UNIT, UNPACK>;

/* Many small datatypes, whatever their tree: each block expands one datatype, unit by unit, to a
 * map in shared memory: the displacement of each unit. */
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

    /* The map's entry for a unit. A gap after every 32 entries avoids bank conflicts of threads
     * that access every N-th entry. */
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

#endif /* GPUDT_WALK_TREE_CUH_INCLUDED */
