/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests one-sided operations on bytes beyond 2 and 4 GiB of a window in GPU memory: displacements,
 * also in units of 8 bytes, and datatypes of the target that extend so far. Besides the bytes that
 * an operation is for, those are compared that a displacement cut to 31 or 32 bits would lead to.
 * Two processes, of which the second one has 4.5 GiB of GPU memory; the emulated driver needs no
 * memory for pages that nobody writes.
 *
 *     rma_far create      the window is in memory of the program
 *     rma_far allocate    in memory that MPI allocates */

#include "gpu.h"
#include "report.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GIB ((MPI_Aint) 1 << 30)
#define SZ (9 * GIB / 2)

enum { N = 500, GUARD = 8, MAX_BLOCKS = 5, MAX_PLACES = 3 * MAX_BLOCKS };

/* Where operations go: blocks of N ints. */
static const struct way {
    const char *name;
    MPI_Aint at, stride;        /* bytes */
    int nblocks;
    bool is_resized;            /* elements of one block with a large extent */
} ways[] = {
    {"near the beginning", 4096, 0, 1, false},
    {"across 2 GiB", 2 * GIB - 800, 0, 1, false},
    {"beyond 2 GiB", 2 * GIB + 8192, 0, 1, false},
    {"across 4 GiB", 4 * GIB - 1200, 0, 1, false},
    {"beyond 4 GiB", 4 * GIB + 12288, 0, 1, false},
    {"at the end", SZ - (N + GUARD) * (MPI_Aint) sizeof(int), 0, 1, false},
    {"blocks 1 GiB apart", 16384, GIB + 4096, 5, false},
    {"elements 2 GiB apart", 65536, 2 * GIB + 32768, 3, true}
};

static int rank;
static char *base;              /* of the window of process 1, in that process */
static struct mem origin, result;       /* of process 0 */

/* ---- the target ---- */

struct place {
    MPI_Aint at;
    int nth;                    /* number of the block; -1: nothing should change */
};

static bool overlaps(const struct place *places, int n, MPI_Aint at)
{
    const MPI_Aint reach = (N + 2 * GUARD) * (MPI_Aint) sizeof(int);

    for (int i = 0; i < n; i++) {
        if (at < places[i].at + reach && places[i].at < at + reach)
            return true;
    }
    return false;
}

/* The places of a way's blocks, and of those that they may be taken for. Returns their number. */
static int places_find(const struct way *way, struct place *places)
{
    int n = way->nblocks;

    for (int i = 0; i < way->nblocks; i++)
        places[i] = (struct place) {.at = way->at + i * way->stride,.nth = i };
    for (int i = 0; i < way->nblocks; i++) {
        for (int bits = 31; bits <= 32; bits++) {
            const MPI_Aint at = places[i].at % ((MPI_Aint) 1 << bits);

            if (at >= GUARD * (MPI_Aint) sizeof(int) && !overlaps(places, n, at))
                places[n++] = (struct place) {.at = at,.nth = -1 };
        }
    }
    return n;
}

static void copy(void *to, const void *from, size_t n)
{
    CU(Memcpy((CUdeviceptr) to, (CUdeviceptr) from, n));
    CU(CtxSynchronize());
}

static int old_value(const struct place *p, int i)
{
    return -(int) (p->at % 1000000) - i;
}

/* Write all places, or compare them, where blocks are to have ints that are new. */
static void places_do(const struct way *way, const int *new)
{
    enum { ALL = N + 2 * GUARD };
    struct place places[MAX_PLACES];
    int n = places_find(way, places), seen[ALL], expected[ALL];

    for (int k = 0; k < n; k++) {
        const struct place *p = &places[k];
        char *addr = base + p->at - GUARD * sizeof(int);

        for (int i = 0; i < ALL; i++)
            expected[i] = old_value(p, i);
        if (new == NULL) {
            copy(addr, expected, sizeof(expected));
            continue;
        }
        if (p->nth >= 0)
            memcpy(expected + GUARD, new + p->nth * N, N * sizeof(int));
        copy(seen, addr, sizeof(seen));
        report_compare(p->nth < 0 ? "another place" : "a block", seen, expected, sizeof(seen));
    }
}

/* ---- the origin ---- */

static MPI_Datatype type_make(const struct way *way)
{
    MPI_Datatype type, block;

    MPI_Type_contiguous(N, MPI_INT, &block);
    if (way->is_resized)
        MPI_Type_create_resized(block, 0, way->stride, &type);
    else
        MPI_Type_create_hvector(way->nblocks, 1, way->stride, block, &type);
    MPI_Type_free(&block);
    MPI_Type_commit(&type);
    return type;
}

/* Fill the origin. */
static void origin_fill(int factor, int n, int *ints)
{
    for (int i = 0; i < n; i++)
        ints[i] = factor * i + 3;
    mem_write(&origin, 0, ints, n * sizeof(int));
}

static void result_check(const char *what, const int *expected, int n)
{
    int seen[MAX_BLOCKS * N];

    mem_read(&result, 0, seen, n * sizeof(int));
    report_compare(what, seen, expected, n * sizeof(int));
}

/* All operations.
 *   now  (OUT)  what the blocks have to be afterwards */
static void operate(const struct way *way, MPI_Win win, int unit, int *now)
{
    const int n = way->nblocks * N, count = way->is_resized ? way->nblocks : 1;
    const MPI_Aint disp = way->at / unit, third = disp + 2 * (MPI_Aint) sizeof(int) / unit;
    MPI_Datatype type = type_make(way);
    const int *ints = (const int *) origin.addr;
    int added[MAX_BLOCKS * N];

#define INTS(mem_) (mem_).addr, n, MPI_INT
#define TARGET 1, disp, count, type
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
    origin_fill(5, n, now);
    CHECK_MPI(MPI_Put(INTS(origin), TARGET, win));
    CHECK_MPI(MPI_Win_flush(1, win));
    origin_fill(-3, n, added);
    CHECK_MPI(MPI_Accumulate(INTS(origin), TARGET, MPI_SUM, win));
    CHECK_MPI(MPI_Get_accumulate(INTS(origin), INTS(result), TARGET, MPI_SUM, win));
    CHECK_MPI(MPI_Win_flush(1, win));
    for (int i = 0; i < n; i++)
        now[i] += added[i];
    result_check("what get accumulate returns", now, n);
    for (int i = 0; i < n; i++)
        now[i] += added[i];

    CHECK_MPI(MPI_Fetch_and_op(ints, result.addr, MPI_INT, 1, disp, MPI_SUM, win));
    CHECK_MPI(MPI_Win_flush(1, win));
    result_check("what fetch and op returns", &now[0], 1);
    now[0] += added[0];
    mem_write(&origin, 0, &now[2], sizeof(int));
    CHECK_MPI(MPI_Compare_and_swap(ints + 1, ints, result.addr, MPI_INT, 1, third, win));
    CHECK_MPI(MPI_Win_flush(1, win));
    result_check("what compare and swap returns", &now[2], 1);
    now[2] = added[1];
    CHECK_MPI(MPI_Get(INTS(result), TARGET, win));
    CHECK_MPI(MPI_Win_unlock(1, win));
    result_check("what is got", now, n);
    MPI_Type_free(&type);
}

/* ---- all of them ---- */

static int win_make(bool is_allocated, int unit, MPI_Win * win)
{
    const MPI_Aint sz = rank == 1 ? SZ : 0;
    MPI_Info info;
    int err;

    if (!is_allocated)
        return MPI_Win_create(base, sz, unit, MPI_INFO_NULL, MPI_COMM_WORLD, win);
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_memory_alloc_kinds", "cuda:device");
    err = MPI_Win_allocate(sz, unit, info, MPI_COMM_WORLD, &base, win);
    MPI_Info_free(&info);
    return err;
}

static void all_ways(bool is_allocated, int unit)
{
    int now[MAX_BLOCKS * N];
    MPI_Win win;

    CHECK_MPI(win_make(is_allocated, unit, &win));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        const int n = ways[i].nblocks * N, before = report_failures;

        if (rank == 1)
            places_do(&ways[i], NULL);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            operate(&ways[i], win, unit, now);
            CHECK_MPI(MPI_Send(now, n, MPI_INT, 1, 0, MPI_COMM_WORLD));
        } else {
            CHECK_MPI(MPI_Recv(now, n, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            places_do(&ways[i], now);
        }
        if (report_failures != before)
            fprintf(stderr, "... rank %d: %s, in units of %d bytes\n", rank, ways[i].name, unit);
    }
    CHECK_MPI(MPI_Win_free(&win));
}

/* Whether operations went directly, as the program's environment says. */
static void way_check(void)
{
    const char *direct = getenv("MPIR_CVAR_GPUDT_DIRECT");

    if (direct && strcmp(direct, "always") == 0)
        CHECK(report_variable("gpudt_window_direct") > 0);
    else if (direct && strcmp(direct, "never") == 0)
        CHECK(report_variable("gpudt_window_direct") == 0);
}

int main(int argc, char **argv)
{
    const bool is_allocated = argc > 1 && strcmp(argv[1], "allocate") == 0;
    struct mem window = {.addr = NULL };
    int provided;

    if (argc != 2)
        return 2;
    report_time_limit(120);
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    mem_alloc(&origin, MEM__DEVICE, MAX_BLOCKS * N * sizeof(int));
    mem_alloc(&result, MEM__DEVICE, MAX_BLOCKS * N * sizeof(int));
    if (rank == 1 && !is_allocated)
        mem_alloc(&window, MEM__DEVICE, SZ);
    base = window.addr;
    for (int unit = 1; unit <= 8; unit *= 8)
        all_ways(is_allocated, unit);
    if (rank == 0)
        way_check();
    mem_free(&window);
    mem_free(&origin);
    mem_free(&result);
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
