/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests collectives whose counts are legal ints and whose totals are not: 2^31 bytes and more. Four
 * processes. The bytes that are checked are at the ends of each process's block, and around 2^31 and
 * 2^32; the others are not written. Host memory that no one writes takes no pages: at most 17 GiB are
 * in use, by allgatherv.
 *
 * Usage: coll_large OPERATION [gpu]
 *   OPERATION  bcast, scatter, gather, allgatherv, reduce_scatter_block or reduce_scatter, or one of
 *              these with an i before it: the nonblocking call
 *   gpu        the buffers are in GPU memory */

#include "gpu.h"
#include "report.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#define GUARD 8                 /* bytes behind the data */

enum { NPROCS = 4 };

static const MPI_Count two31 = 1LL << 31, two32 = 1LL << 32;

static int rank;
static bool is_gpu, is_nonblocking;

/* ---- memory: pages that are not written take no memory ---- */

struct big {
    char *addr;
    MPI_Count sz;               /* without the bytes behind the data */
    struct mem gpu;
};

static void big_write(const struct big *b, MPI_Count at, const void *from, size_t n)
{
    if (is_gpu)
        mem_write(&b->gpu, (size_t) at, from, n);
    else
        memcpy(b->addr + at, from, n);
}

static void big_read(const struct big *b, MPI_Count at, void *to, size_t n)
{
    if (is_gpu)
        mem_read(&b->gpu, (size_t) at, to, n);
    else
        memcpy(to, b->addr + at, n);
}

static void big_make(struct big *b, MPI_Count sz)
{
    static const char zero[GUARD];
    const size_t n = (size_t) sz + GUARD;

    b->sz = sz;
    if (is_gpu) {
        mem_alloc(&b->gpu, MEM__DEVICE, n);
        b->addr = b->gpu.addr;
    } else {
        b->addr = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                       -1, 0);
        if (b->addr == MAP_FAILED) {
            report_fail("no address space for %lld bytes", (long long) sz);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        /* A small page for each place that is written */
        madvise(b->addr, n, MADV_NOHUGEPAGE);
    }
    big_write(b, sz, zero, GUARD);
}

static void big_free(struct big *b)
{
    if (is_gpu)
        mem_free(&b->gpu);
    else
        munmap(b->addr, (size_t) b->sz + GUARD);
}

static MPI_Count min_of(MPI_Count a, MPI_Count b)
{
    return a < b ? a : b;
}

/* ---- contents: a byte depends on a seed and its place in the data of all processes ---- */

static int next_seed = 1;

static signed char byte_of(int seed, MPI_Count place)
{
    return (signed char) (1 + ((MPI_Count) seed * 37 + place % 127 + place / 8191) % 113);
}

/* The largest of the bytes of nseeds seeds. */
static signed char byte_max(int seed, int nseeds, MPI_Count place)
{
    signed char max = 0;

    for (int i = 0; i < nseeds; i++) {
        signed char byte = byte_of(seed + i, place);
        if (max < byte)
            max = byte;
    }
    return max;
}

/* The places of a block [lo, hi) that are checked. Returns how many. */
enum { MAX_PLACES = 12 };

static int places_of(MPI_Count lo, MPI_Count hi, MPI_Count places[MAX_PLACES])
{
    const MPI_Count wanted[MAX_PLACES] = {
        lo, lo + 1, lo + 4095, (lo + hi) / 2, hi - 2, hi - 1,
        two31 - 1, two31, two31 + 1, two32 - 1, two32, two32 + 1
    };
    int n = 0;

    for (int i = 0; i < MAX_PLACES; i++)
        if (wanted[i] >= lo && wanted[i] < hi)
            places[n++] = wanted[i];
    return n;
}

/* Write the bytes of a block [lo, hi) of the data of all, of which the buffer holds those from
 * `first` on. */
static void block_fill(const struct big *b, MPI_Count first, MPI_Count lo, MPI_Count hi, int seed)
{
    MPI_Count places[MAX_PLACES];
    int n = places_of(lo, hi, places);

    for (int i = 0; i < n; i++) {
        signed char byte = byte_of(seed, places[i]);
        big_write(b, places[i] - first, &byte, 1);
    }
}

/* Compare the same, and see that nothing is behind the data. */
static void block_check(const struct big *b, MPI_Count first, MPI_Count lo, MPI_Count hi,
                        const char *what, int root, int seed, int nseeds)
{
    static const char zero[GUARD];
    char guard[GUARD];
    MPI_Count places[MAX_PLACES];
    int n = places_of(lo, hi, places);

    for (int i = 0; i < n; i++) {
        signed char byte, expected = byte_max(seed, nseeds, places[i]);
        big_read(b, places[i] - first, &byte, 1);
        if (byte != expected)
            report_fail("%s, root %d: byte %lld of block %lld is %d and not %d", what, root,
                        (long long) places[i], (long long) lo, byte, expected);
    }
    big_read(b, b->sz, guard, GUARD);
    if (memcmp(guard, zero, GUARD))
        report_fail("%s, root %d: bytes behind the data have changed", what, root);
}

/* ---- the operations ---- */

/* Make a blocking call, or a nonblocking one with its request and complete it.
 *   name_  of the call after MPI_
 *   iname_ of the nonblocking one */
#define CALL(name_, iname_, ...)                                                \
    do {                                                                        \
        if (is_nonblocking) {                                                   \
            MPI_Request req_ = MPI_REQUEST_NULL;                                \
            CHECK_MPI(MPI_##iname_(__VA_ARGS__, MPI_COMM_WORLD, &req_));        \
            CHECK_MPI(MPI_Wait(&req_, MPI_STATUS_IGNORE));                      \
        } else {                                                                \
            CHECK_MPI(MPI_##name_(__VA_ARGS__, MPI_COMM_WORLD));                \
        }                                                                       \
    } while (0)

static void run_bcast(void)
{
    enum { COUNT = (1 << 28) + 3 };     /* of 8 bytes */
    const MPI_Count sz = (MPI_Count) COUNT * 8;
    /* The blocks of the algorithms that scatter the data first */
    const MPI_Count part = (sz + NPROCS - 1) / NPROCS;
    struct big b;

    big_make(&b, sz);
    for (int root = 0; root < 2; root++) {
        int seed = next_seed++;
        for (int i = 0; rank == root && i < NPROCS; i++)
            block_fill(&b, 0, i * part, min_of((i + 1) * part, sz), seed);
        CALL(Bcast, Ibcast, b.addr, COUNT, MPI_INT64_T, root);
        for (int i = 0; i < NPROCS; i++)
            block_check(&b, 0, i * part, min_of((i + 1) * part, sz), "bcast", root, seed, 1);
    }
    big_free(&b);
}

enum { SCATTERED = (1 << 30) + 8 };     /* bytes of each process */

static void run_scatter(void)
{
    const MPI_Count part = SCATTERED;
    struct big all, mine;

    big_make(&mine, part);
    for (int root = 0; root < 2; root++) {
        int seed = next_seed++;
        all.addr = NULL;
        if (rank == root) {
            big_make(&all, part * NPROCS);
            for (int i = 0; i < NPROCS; i++)
                block_fill(&all, 0, i * part, (i + 1) * part, seed);
        }
        CALL(Scatter, Iscatter, all.addr, SCATTERED, MPI_BYTE, mine.addr, SCATTERED, MPI_BYTE, root);
        block_check(&mine, rank * part, rank * part, (rank + 1) * part, "scatter", root, seed, 1);
        if (rank == root)
            big_free(&all);
    }
    big_free(&mine);
}

static void run_gather(void)
{
    const MPI_Count part = SCATTERED;
    struct big all, mine;

    big_make(&mine, part);
    for (int root = 0; root < 2; root++) {
        int seed = next_seed++;
        all.addr = NULL;
        if (rank == root)
            big_make(&all, part * NPROCS);
        block_fill(&mine, rank * part, rank * part, (rank + 1) * part, seed);
        CALL(Gather, Igather, mine.addr, SCATTERED, MPI_BYTE, all.addr, SCATTERED, MPI_BYTE, root);
        if (rank == root) {
            for (int i = 0; i < NPROCS; i++)
                block_check(&all, 0, i * part, (i + 1) * part, "gather", root, seed, 1);
            big_free(&all);
        }
    }
    big_free(&mine);
}

/* All counts are legal ints; the displacements of the larger total are not. */
static void allgatherv(const MPI_Count counts[NPROCS])
{
    MPI_Aint displs[NPROCS];
    MPI_Count sz = 0;
    int seed = next_seed++;
    struct big all;

    for (int i = 0; i < NPROCS; i++) {
        displs[i] = (MPI_Aint) sz;
        sz += counts[i];
    }
    big_make(&all, sz);
    block_fill(&all, 0, displs[rank], displs[rank] + counts[rank], seed);
    CALL(Allgatherv_c, Iallgatherv_c, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.addr, counts, displs,
         MPI_BYTE);
    for (int i = 0; i < NPROCS; i++)
        block_check(&all, 0, displs[i], displs[i] + counts[i], "allgatherv", -1, seed, 1);
    big_free(&all);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void run_allgatherv(void)
{
    const MPI_Count half = 1LL << 29, whole = 1LL << 30;
    const MPI_Count just_above[NPROCS] = { half + 3, half + 8, half - 1, half + 14 };
    const MPI_Count exact[NPROCS] = { whole, whole - 5, whole + 7, whole - 2 };

    allgatherv(just_above);     /* 2^31 + 24 */
    allgatherv(exact);          /* 2^32 */
}

static void run_reduce_scatter_block(void)
{
    enum { COUNT = 3 * (1 << 28) + 5 };
    const MPI_Count part = COUNT;
    int seed = next_seed;
    struct big all, mine;

    big_make(&all, part * NPROCS);
    big_make(&mine, part);
    for (int i = 0; i < NPROCS; i++)
        block_fill(&all, 0, i * part, (i + 1) * part, seed + rank);
    CALL(Reduce_scatter_block, Ireduce_scatter_block, all.addr, mine.addr, COUNT, MPI_INT8_T,
         MPI_MAX);
    block_check(&mine, rank * part, rank * part, (rank + 1) * part, "reduce_scatter_block", -1,
                seed, NPROCS);
    big_free(&all);
    big_free(&mine);
}

static void run_reduce_scatter(void)
{
    enum { PART = 3 * (1 << 28) };
    const int counts[NPROCS] = { PART + 3, PART + 8, PART - 1, PART + 14 };
    MPI_Count firsts[NPROCS + 1] = { 0 };
    int seed = next_seed;
    struct big all, mine;

    for (int i = 0; i < NPROCS; i++)
        firsts[i + 1] = firsts[i] + counts[i];
    big_make(&all, firsts[NPROCS]);
    big_make(&mine, counts[rank]);
    for (int i = 0; i < NPROCS; i++)
        block_fill(&all, 0, firsts[i], firsts[i + 1], seed + rank);
    CALL(Reduce_scatter, Ireduce_scatter, all.addr, mine.addr, counts, MPI_INT8_T, MPI_MAX);
    block_check(&mine, firsts[rank], firsts[rank], firsts[rank + 1], "reduce_scatter", -1, seed,
                NPROCS);
    big_free(&all);
    big_free(&mine);
}

static const struct report_case cases[] = {
    {"bcast", run_bcast},
    {"scatter", run_scatter},
    {"gather", run_gather},
    {"allgatherv", run_allgatherv},
    {"reduce_scatter_block", run_reduce_scatter_block},
    {"reduce_scatter", run_reduce_scatter},
};

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int nprocs;

    report_time_limit(300);
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    is_gpu = argc > 2 && !strcmp(argv[2], "gpu");
    is_nonblocking = name[0] == 'i';
    if (is_gpu) {
        if (gpu_open() == 0)
            return 1;
        gpu_set_current(0);
    }
    if (nprocs == NPROCS)
        report_case_run(cases, sizeof(cases) / sizeof(cases[0]), name + is_nonblocking);
    else
        report_fail("%d processes and not %d", nprocs, NPROCS);
    MPI_Finalize();
    return report_done();
}
