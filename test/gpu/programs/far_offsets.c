/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests small data at large distances: blocks more than 4 GiB apart, in either direction, packed and
 * copied to another datatype, and byte ranges beyond position 2^32 of a stream. Needs 6 GiB of GPU
 * memory, of which the emulated driver allocates only the pages that are used. */

#include "mpiimpl.h"
#include "gpudt.h"

#include "gpu.h"
#include "oracle.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

#define GIB ((MPI_Aint) 1 << 30)
#define PIECE 512               /* bytes checked around each of places[] */

static const MPI_Aint places[] = {
    256, 2 * GIB - 256, 2 * GIB + 256, 3 * GIB, 4 * GIB - 504, 4 * GIB + 8, 5 * GIB + 12,
    6 * GIB - 512
};
#define NPLACES ((int) (sizeof(places) / sizeof(places[0])))

static struct mem far, packed;

/* The value of a byte of the memory: depends on all bits of its address. */
static unsigned char byte_at(MPI_Aint off, int round)
{
    return (unsigned char) (off * 31 + (off >> 13) * 7 + (off >> 31) * 59 + round);
}

static void far_fill(int round)
{
    unsigned char piece[PIECE];

    for (int k = 0; k < NPLACES; k++) {
        for (int i = 0; i < PIECE; i++)
            piece[i] = byte_at(places[k] + i, round);
        mem_write(&far, places[k], piece, PIECE);
    }
}

/* The packed stream of a type, from its type map. */
struct stream {
    int round;
    MPI_Aint buf_off, pos, first, last;
    unsigned char *bytes;
};

static void stream_piece(void *arg, MPI_Aint off, MPI_Aint len, MPI_Datatype basic)
{
    struct stream *s = arg;

    (void) basic;
    for (MPI_Aint i = 0; i < len; i++, s->pos++) {
        if (s->pos >= s->first && s->pos < s->last)
            s->bytes[s->pos - s->first] = byte_at(s->buf_off + off + i, s->round);
    }
}

/* Copy a type with its buffer at buf_off to every other byte. */
static void to_bytes(const char *name, MPI_Datatype type, MPI_Aint buf_off, MPI_Aint size,
                     const unsigned char *want)
{
    MPI_Datatype bytes;
    unsigned char seen[8192];

    MPI_Type_vector((int) size, 1, 2, MPI_BYTE, &bytes);
    MPI_Type_commit(&bytes);
    memset(seen, 0, sizeof(seen));
    mem_write(&packed, 0, seen, sizeof(seen));
    CHECK_MPI(MPI_Sendrecv(far.addr + buf_off, 1, type, 0, 0, packed.addr, 1, bytes, 0, 0,
                           MPI_COMM_SELF, MPI_STATUS_IGNORE));
    mem_read(&packed, 0, seen, sizeof(seen));
    for (MPI_Aint i = 0; i < (MPI_Aint) sizeof(seen); i++) {
        if (seen[i] != (i % 2 == 0 && i / 2 < size ? want[i / 2] : 0)) {
            report_fail("%s: byte %ld of a copy is wrong", name, (long) i);
            break;
        }
    }
    MPI_Type_free(&bytes);
}

/* Pack a type with its buffer at buf_off, copy it, unpack other bytes to it. */
static void both_ways(const char *name, MPI_Datatype type, MPI_Aint buf_off)
{
    oracle *map = oracle_create(type);
    unsigned char want[4096], seen[4096];
    MPI_Aint size, lo, hi, nchanged = 0;
    int position = 0;
    struct stream s = {.round = 1,.buf_off = buf_off,.last = sizeof(want),.bytes = want };

    oracle_span(map, 1, &size, &lo, &hi);
    if (size > (MPI_Aint) sizeof(want))
        report_fail("%s is too large for this test", name);
    far_fill(1);
    oracle_walk(map, 1, stream_piece, &s);
    CHECK_MPI(MPI_Pack(far.addr + buf_off, 1, type, packed.addr, (int) size, &position,
                       MPI_COMM_SELF));
    mem_read(&packed, 0, seen, size);
    report_compare(name, seen, want, size);
    to_bytes(name, type, buf_off, size, want);

    for (MPI_Aint i = 0; i < size; i++)
        want[i] ^= 0xff;
    mem_write(&packed, 0, want, size);
    position = 0;
    CHECK_MPI(MPI_Unpack(packed.addr, (int) size, &position, far.addr + buf_off, 1, type,
                         MPI_COMM_SELF));
    for (MPI_Aint i = 0; i < size; i++)
        want[i] ^= 0xff;
    /* every byte of the type map is now the complement of what byte_at says; the rest is not */
    for (int k = 0; k < NPLACES; k++) {
        unsigned char piece[PIECE];

        mem_read(&far, places[k], piece, PIECE);
        for (int i = 0; i < PIECE; i++) {
            unsigned char was = byte_at(places[k] + i, 1);
            nchanged += piece[i] == (unsigned char) ~was;
            CHECK(piece[i] == was || piece[i] == (unsigned char) ~was);
        }
    }
    CHECK(nchanged == size);
    oracle_free(map);
    MPI_Type_free(&type);
}

static void types_run(void)
{
    MPI_Aint displs[NPLACES];
    int lens[NPLACES];
    MPI_Datatype type, inner;

    for (int k = 0; k < NPLACES; k++) {
        displs[k] = places[k];
        lens[k] = 8 + 3 * k;
    }
    MPI_Type_create_hindexed(NPLACES, lens, displs, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    both_ways("hindexed", type, 0);

    MPI_Type_create_hindexed_block(NPLACES, 5, displs, MPI_SHORT, &type);
    MPI_Type_commit(&type);
    both_ways("hindexed_block", type, 0);

    MPI_Type_create_hvector(3, 16, 2 * GIB, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    both_ways("hvector", type, 256);

    MPI_Type_create_hvector(2, 1, -4 * GIB + 264, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    both_ways("hvector backwards", type, 4 * GIB + 8);

    /* 4-byte blocks in a vector, three of those vectors 2 GiB apart */
    MPI_Type_vector(5, 1, 3, MPI_INT, &inner);
    MPI_Type_create_hvector(3, 1, 2 * GIB, inner, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&inner);
    both_ways("hvector of vector", type, 272);

    /* one element of a large array on either side of 4 GiB */
    for (int which = 0; which < 2; which++) {
        int sizes[3] = { 6, 1 << 15, 1 << 15 }, subsizes[3] = { 1, 1, 200 };
        int starts[3] = { 3 + which, which ? 0 : (1 << 15) - 1, which ? 8 : (1 << 15) - 256 };

        MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_BYTE, &type);
        MPI_Type_commit(&type);
        both_ways("subarray", type, 0);
    }
}

/* A stream of 8 GiB: the same 64 KiB again and again. */
static void ranges_run(void)
{
    enum { block = 120, each = 128 };
    static const MPI_Aint firsts[] = {
        0, 1, 2 * GIB - 3, 2 * GIB, 4 * GIB - 5, 4 * GIB, 4 * GIB + 1, 8 * GIB - 4000
    };
    unsigned char source[PIECE], want[3000], seen[3000];
    MPI_Datatype inner, type;
    MPI_Count count = 8 * GIB / (3 * block);

    MPI_Type_create_hvector(3, block, each, MPI_BYTE, &inner);
    MPI_Type_create_hvector_c(count, 1, 0, inner, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&inner);
    far_fill(2);
    mem_read(&far, places[0], source, PIECE);

    for (size_t k = 0; k < sizeof(firsts) / sizeof(firsts[0]); k++) {
        MPI_Aint actual, n = sizeof(want) - (MPI_Aint) k;
        bool handled;

        for (MPI_Aint i = 0; i < n; i++) {
            MPI_Aint pos = (firsts[k] + i) % (3 * block);
            want[i] = source[pos / block * each + pos % block];
        }
        CHECK_MPI(MPIR_Gpudt_ipack(far.addr + places[0], 1, type, firsts[k], packed.addr, n,
                                   &actual, NULL, &handled));
        CHECK(handled && actual == n);
        mem_read(&packed, 0, seen, n);
        report_compare("range of a long stream", seen, want, n);
    }
    MPI_Type_free(&type);
}

int main(void)
{
    report_time_limit(120);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    mem_alloc(&far, MEM__DEVICE, 6 * GIB);
    mem_alloc(&packed, MEM__DEVICE, 8192);
    types_run();
    mem_free(&packed);
    mem_alloc(&packed, MEM__PINNED, 8192);
    types_run();
    ranges_run();
    mem_free(&packed);
    mem_alloc(&packed, MEM__PAGEABLE, 8192);
    types_run();
    ranges_run();
    mem_free(&packed);
    mem_free(&far);
    MPI_Finalize();
    return report_done();
}
