/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * The locator for lists of entries of any length that have a bitmap. See gpudt_walk.cuh. Compiles
 * as CUDA and as host C++.
 */

#ifndef GPUDT_WALK_BITMAP_CUH_INCLUDED
#define GPUDT_WALK_BITMAP_CUH_INCLUDED

#include "gpudt_walk.cuh"

/* A list with a bitmap, which gives the entry of each child without a search. Most ranges are in one
 * repetition of the list, where positions need no division for the repetition. */
struct gpudt_bits {
    typedef struct MPII_Gpudt_args_list args_type;

    const args_type &args;
    int64_t rep, begin;         /* repetition in which the range begins, and its stream position */
    uint64_t user;              /* address of that repetition */
    bool is_inside;             /* all of the range is in that repetition */

    GPUDT_METHOD gpudt_bits(const args_type &args_):args(args_), rep(0), begin(0), user(0),
        is_inside(false)
    {
    }

    /* Set the range of stream positions. */
    GPUDT_METHOD void place(int64_t from, int64_t to)
    {
        rep = (int64_t) gpudt_div((uint64_t) from, args.by_list);
        begin = rep * args.list_size;
        is_inside = to - begin <= args.list_size;
        user = gpudt_list_addr(args, rep);
    }

    GPUDT_METHOD int64_t child_of(int64_t pos) const
    {
        return args.shift >= 0 ? pos >> args.shift :
            (int64_t) gpudt_div((uint64_t) pos, args.by_piece);
    }

    GPUDT_METHOD uint64_t group_of(int64_t child) const
    {
        return gpudt_load<uint64_t>(args.groups + (uint64_t) child / 32 * 8);
    }

    /* Add to addr the displacements of M bytes at these positions in the list. All M are done step
     * by step, so that M chains of loads are in flight. */
    template <int M>
    GPUDT_METHOD void look_up(const int64_t(&pos)[M], uint64_t(&addr)[M]) const
    {
        uint64_t group[M];
        int64_t child[M], entry[M];

        GPUDT_UNROLL
        for (int i = 0; i < M; i++) {
            child[i] = child_of(pos[i]);
            group[i] = group_of(child[i]);
        }
        GPUDT_UNROLL
        for (int i = 0; i < M; i++)
            entry[i] = (int32_t) (group[i] >> 32) +
                __popc((uint32_t) group[i] & ((2u << (child[i] & 31)) - 1));
        GPUDT_UNROLL
        for (int i = 0; i < M; i++)
            addr[i] += (uint64_t) (gpudt_entry(args.displ, entry[i]) + pos[i] +
                                   child[i] * args.gap);
    }
};

/* The locator: no state between tiles. */
template <int UNIT, int UNPACK> struct gpudt_bitmap:public gpudt_bits {
    enum {
        WORD = MPII_GPUDT_WORD_LIST(UNIT), UNROLL = MPII_GPUDT_UNROLL_BITMAP(UNIT, UNPACK),
        N = WORD / UNIT, STEP = 1, NEIGHBOURS = 0, TOGETHER = 1
    };
    struct shared_type {
        int none;
    };

    GPUDT_METHOD gpudt_bitmap(const args_type &args_, shared_type *):gpudt_bits(args_)
    {
    }

    GPUDT_METHOD void start() const
    {
    }

    GPUDT_METHOD void leave() const
    {
    }

    GPUDT_METHOD int enter(int64_t pos0, int lo, int hi)
    {
        place(pos0 + lo * WORD, pos0 + hi * WORD);
        return hi;
    }

    /* The addresses of the units of a word, starting from the position of its first unit in the
     * list. Bit 0 of `begins` belongs to the child of the first unit. */
    GPUDT_METHOD void go_on(int64_t pos, int64_t child, int64_t entry, int64_t disp,
                            uint32_t begins, uint64_t *addr) const
    {
        const int piece = args.piece < WORD ? (int) args.piece : WORD;
        const int64_t rest = (child + 1) * args.piece - pos;
        int left = rest < WORD ? (int) rest : WORD; /* from the word's beginning to the child's
                                                     * end */
        uint64_t at = addr[0] + (uint64_t) (disp + pos + child * args.gap);

        addr[0] = at;
        GPUDT_UNROLL
        for (int n = 1; n < N; n++) {
            if (n * UNIT == left) {
                left += piece;
                at += (uint64_t) args.gap;
                begins >>= 1;
                if (begins & 1) {
                    const int64_t other = gpudt_entry(args.displ, ++entry);
                    at += (uint64_t) (other - disp);
                    disp = other;
                }
            }
            addr[n] = at + n * UNIT;
        }
    }

    /* The same for U words of N adjacent units. Only the first unit of a word is looked up,
     * together with the entries that begin with a child after it. */
    template <int U>
    GPUDT_METHOD void look_up_words(const int64_t(&pos)[U], uint64_t(&addr)[U * N]) const
    {
        uint64_t begins[U];
        int64_t child[U], entry[U], disp[U];

        GPUDT_UNROLL
        for (int u = 0; u < U; u++) {
            child[u] = child_of(pos[u]);
            const uint64_t group = group_of(child[u]);
            begins[u] = (uint32_t) group;
            entry[u] = (int32_t) (group >> 32);
        }
        GPUDT_UNROLL
        for (int u = 0; u < U; u++) {
            const int bit = (int) (child[u] & 31);
            entry[u] += __popc((uint32_t) begins[u] & ((2u << bit) - 1));
            disp[u] = gpudt_entry(args.displ, entry[u]);
            if (bit + N > 32)
                begins[u] |= group_of(child[u] + N) << 32;
            begins[u] >>= bit;
        }
        GPUDT_UNROLL
        for (int u = 0; u < U; u++)
            go_on(pos[u], child[u], entry[u], disp[u], (uint32_t) begins[u], &addr[u * N]);
    }

    template <int CHECKED, int U>
    GPUDT_METHOD void locate(int64_t pos0, const int (&first)[U], int lo, int hi,
                             uint64_t(&addr)[U * N]) const
    {
        GPUDT_UNROLL
        for (int i = 0; i < U * N; i++)
            addr[i] = user;
        if (N > 1 && is_inside) {
            int64_t pos[U];
            GPUDT_UNROLL
            for (int u = 0; u < U; u++)
                pos[u] = pos0 - begin + gpudt_clamp<CHECKED> (first[u], lo, hi - N + 1) * UNIT;
            look_up_words<U> (pos, addr);
            return;
        }
        int64_t pos[U * N];
        GPUDT_UNROLL
        for (int i = 0; i < U * N; i++)
            pos[i] = pos0 - begin +
                gpudt_clamp<CHECKED> (first[i / N] + i % N * STEP, lo, hi) * UNIT;
        if (!is_inside) {
            GPUDT_UNROLL
            for (int i = 0; i < U * N; i++) {
                const int64_t more = (int64_t) gpudt_div((uint64_t) pos[i], args.by_list);
                pos[i] -= more * args.list_size;
                if (more > 0)
                    addr[i] = gpudt_list_addr(args, rep + more);
            }
        }
        look_up<U * N> (pos, addr);
    }

    GPUDT_METHOD uint64_t point(int64_t pos) const
    {
        const int64_t which = (int64_t) gpudt_div((uint64_t) pos, args.by_list);
        const int64_t rest[1] = { pos - which * args.list_size };
        uint64_t addr[1] = { gpudt_list_addr(args, which) };
        look_up<1> (rest, addr);
        return addr[0];
    }
};

#endif /* GPUDT_WALK_BITMAP_CUH_INCLUDED */
