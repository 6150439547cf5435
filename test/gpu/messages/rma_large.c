/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests one-sided operations with counts above INT_MAX. Two processes, of which the second one has a
 * window of a little more than 2 GiB. The bytes that are checked are at the ends of what is moved, and
 * around the largest int; the others are zero.
 *
 * Usage: rma_large WHAT
 *   create    the window is in host memory of the program
 *   allocate  in host memory that MPI allocates
 *   gpu       in GPU memory, as are the other buffers */

#include "gpu.h"
#include "report.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define COUNT ((MPI_Count) (1LL << 31) + 24)
#define GUARD 8                 /* bytes behind the data */

static int rank;
static bool is_gpu;

static const MPI_Count places[] = { 0, 1, 4095, 1 << 30, (1LL << 31) - 1, 1LL << 31, COUNT - 1 };

enum { NPLACES = sizeof(places) / sizeof(places[0]) };

/* ---- memory: pages that are not written take no memory ---- */

struct big {
    char *addr;
    struct mem gpu;
};

static void big_write(const struct big *b, MPI_Count at, const void *from, size_t n)
{
    if (is_gpu)
        mem_write(&b->gpu, at, from, n);
    else
        memcpy(b->addr + at, from, n);
}

static void big_read(const struct big *b, MPI_Count at, void *to, size_t n)
{
    if (is_gpu)
        mem_read(&b->gpu, at, to, n);
    else
        memcpy(to, b->addr + at, n);
}

static void big_make(struct big *b)
{
    static const char zero[GUARD];

    if (is_gpu) {
        mem_alloc(&b->gpu, MEM__DEVICE, COUNT + GUARD);
        b->addr = b->gpu.addr;
    } else {
        b->addr = mmap(NULL, COUNT + GUARD, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    big_write(b, COUNT, zero, GUARD);
}

static void big_free(struct big *b)
{
    if (is_gpu)
        mem_free(&b->gpu);
    else
        munmap(b->addr, COUNT + GUARD);
}

/* Write the bytes of a seed; 0: zeros. */
static void big_fill(const struct big *b, int seed)
{
    for (int i = 0; i < NPLACES; i++) {
        char byte = (char) (seed ? seed + i : 0);
        big_write(b, places[i], &byte, 1);
    }
}

/* Compare with the bytes of one seed, or of two, exclusive-or, and see that nothing is behind them. */
static void big_check(const struct big *b, const char *what, int seed, int other)
{
    static const char zero[GUARD];
    char byte, guard[GUARD];

    for (int i = 0; i < NPLACES; i++) {
        char expected = (char) ((seed ? seed + i : 0) ^ (other ? other + i : 0));
        big_read(b, places[i], &byte, 1);
        if (byte != expected)
            report_fail("%s: byte %lld is %d and not %d", what, (long long) places[i], byte,
                        expected);
    }
    big_read(b, COUNT, guard, GUARD);
    if (memcmp(guard, zero, GUARD))
        report_fail("%s: bytes behind the data have changed", what);
}

/* ---- the operations ---- */

/* One turn: rank 0 has the lock of the window, and then rank 1 checks it.
 *   what   of the operation
 *   seed, other  as of big_check */
static void turn_end(MPI_Win win, const struct big *window, const char *what, int seed, int other)
{
    if (rank == 0)
        CHECK_MPI(MPI_Win_unlock(1, win));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
        big_check(window, what, seed, other);
        CHECK_MPI(MPI_Win_unlock(1, win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win));
}

static void done(MPI_Request * req)
{
    CHECK_MPI(MPI_Wait(req, MPI_STATUS_IGNORE));
}

static void operations(MPI_Win win, const struct big *window)
{
    struct big o, r;
    MPI_Request req;

    if (rank == 0) {
        big_make(&o);
        big_make(&r);
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win));
        big_fill(&o, 10);
        CHECK_MPI(MPI_Put_c(o.addr, COUNT, MPI_BYTE, 1, 0, COUNT, MPI_BYTE, win));
    }
    turn_end(win, window, "put", 10, 0);
    if (rank == 0) {
        CHECK_MPI(MPI_Get_c(r.addr, COUNT, MPI_BYTE, 1, 0, COUNT, MPI_BYTE, win));
        CHECK_MPI(MPI_Win_flush(1, win));
        big_check(&r, "get", 10, 0);
        big_fill(&o, 30);
        CHECK_MPI(MPI_Accumulate_c(o.addr, COUNT, MPI_BYTE, 1, 0, COUNT, MPI_BYTE, MPI_BXOR, win));
    }
    turn_end(win, window, "accumulate", 30, 10);
    if (rank == 0) {
        big_fill(&o, 50);
        CHECK_MPI(MPI_Rput_c(o.addr, COUNT, MPI_BYTE, 1, 0, COUNT, MPI_BYTE, win, &req));
        done(&req);
    }
    turn_end(win, window, "rput", 50, 0);
    if (rank == 0) {
        big_fill(&r, 0);
        CHECK_MPI(MPI_Rget_accumulate_c(o.addr, COUNT, MPI_BYTE, r.addr, COUNT, MPI_BYTE, 1, 0,
                                        COUNT, MPI_BYTE, MPI_BXOR, win, &req));
        done(&req);
        big_check(&r, "rget accumulate", 50, 0);
    }
    turn_end(win, window, "rget accumulate", 0, 0);
    if (rank == 0) {
        CHECK_MPI(MPI_Win_unlock(1, win));
        big_free(&o);
        big_free(&r);
    }
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
    const char *what = argc > 1 ? argv[1] : "";
    struct big window = {.addr = NULL };
    MPI_Win win;
    int provided;

    report_time_limit(120);
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    is_gpu = !strcmp(what, "gpu");
    if (is_gpu) {
        if (gpu_open() == 0)
            return 1;
        gpu_set_current(0);
    }
    if (!strcmp(what, "allocate")) {
        CHECK_MPI(MPI_Win_allocate(rank == 1 ? COUNT + GUARD : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                                   &window.addr, &win));
        if (rank == 1)
            memset(window.addr + COUNT, 0, GUARD);
    } else {
        if (rank == 1)
            big_make(&window);
        CHECK_MPI(MPI_Win_create(window.addr, rank == 1 ? COUNT + GUARD : 0, 1, MPI_INFO_NULL,
                                 MPI_COMM_WORLD, &win));
    }
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    operations(win, &window);
    if (is_gpu && rank == 0)
        way_check();
    CHECK_MPI(MPI_Win_free(&win));
    if (window.addr && strcmp(what, "allocate"))
        big_free(&window);
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
