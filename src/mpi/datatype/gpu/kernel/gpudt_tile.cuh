/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * The distribution of a range of the stream: tiles among blocks of threads, and the ends of the
 * range. Does not know how an address is found. Compiles as CUDA and as host C++.
 */

#ifndef GPUDT_TILE_CUH_INCLUDED
#define GPUDT_TILE_CUH_INCLUDED

#include "gpudt_copy.cuh"

GPUDT_FN int gpudt_at_most(int64_t n, int most)
{
    return n < most ? (int) n : most;
}

/* The tiles of a block of threads: *begin, and every *step up to the return value. NEIGHBOURS:
 * adjacent tiles, for kernels that keep state from tile to tile. Otherwise all blocks together
 * sweep through memory, for locality in its pages. */
template <int NEIGHBOURS>
GPUDT_FN int64_t gpudt_tiles(const struct MPII_Gpudt_span &span, uint32_t block, int64_t *begin,
                             int *step)
{
    if (NEIGHBOURS) {
        *begin = (int64_t) block * span.tiles_per_block;
        *step = 1;
        const int64_t end = *begin + span.tiles_per_block;
        return end < span.ntiles ? end : span.ntiles;
    }
    *begin = block;
    *step = span.end.nblocks;
    return span.ntiles;
}

/* Move the ends of the range, by 2 * WORD threads of the last block. `where` is a locator, or any
 * object with point(). */
template <int WORD, int UNPACK, class T>
GPUDT_FN void gpudt_ends(const struct MPII_Gpudt_span &span, uint32_t block, T &where)
{
    const int thread = (int) threadIdx.x;
    int64_t pos, end;

    if (!span.has_ends || block != (uint32_t) span.end.nblocks - 1 || thread >= 2 * WORD)
        return;
    if (thread < WORD) {
        pos = span.first + thread;
        end = span.pos0 < span.last ? span.pos0 : span.last;
    } else {
        pos = span.pos0 + span.nwords * WORD + thread - WORD;
        end = span.last;
    }
    if (pos >= end)
        return;
    const uint64_t user = where.point(pos);
    const uint64_t packed = span.packed + (uint64_t) pos;
    if (UNPACK)
        gpudt_data_store<uint8_t>(user, gpudt_data_load<uint8_t>(packed));
    else
        gpudt_data_store<uint8_t>(packed, gpudt_data_load<uint8_t>(user));
}

/* A tile. Its words are counted from its line; words lo to hi - 1 are in the range. Empty after the
 * last tile. */
struct gpudt_tile {
    int64_t pos0;               /* stream position of its word 0 */
    int lo, hi;
    bool is_whole;              /* full size, and all words are in the range */
};

template <int WORD>
GPUDT_FN struct gpudt_tile gpudt_tile_at(const struct MPII_Gpudt_span &span, int64_t tile,
                                         int64_t end_tile)
{
    const int64_t word0 = tile * span.tile - span.skip;
    struct gpudt_tile at;

    at.pos0 = span.pos0 + word0 * WORD;
    at.lo = tile == 0 ? span.skip : 0;
    at.hi = tile < end_tile ? gpudt_at_most(span.nwords - word0, span.tile) : 0;
    at.is_whole = at.lo == 0 && at.hi == span.tile;
    return at;
}

#endif /* GPUDT_TILE_CUH_INCLUDED */
