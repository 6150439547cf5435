/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests MPI_Win_allocate with memory that the info key mpi_memory_alloc_kinds asks for. Any number of
 * processes.
 *
 *   win_kinds         windows of which all processes or some ask, for several kinds and sizes:
 *                     operations are right
 *   win_kinds direct  windows in device memory: with MPIR_CVAR_GPUDT_DIRECT=always, MPI_Put and MPI_Get
 *                     need no messages. Nothing is mapped in another process when it is freed
 *   win_kinds none    no GPU can be used: all processes get an error, if any of them asks
 *   win_kinds faults  each driver call of an allocation fails once, in each process: likewise */

#include "gpu.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

#define KEY "mpi_memory_alloc_kinds"
#define N 2000                  /* ints of a window, besides those of its rank */
#define MAX_CALLS 100

static int rank, size;

/* Create a window of n ints.
 *   kinds  (IN)  NULL: no wish
 *   more   (IN)  another info key with the value false; NULL: none */
static int win_make(const char *kinds, const char *more, int n, int **mem, MPI_Win * win)
{
    MPI_Info info;
    int err;

    MPI_Info_create(&info);
    if (kinds)
        MPI_Info_set(info, KEY, kinds);
    if (more)
        MPI_Info_set(info, more, "false");
    err = MPI_Win_allocate(n * (MPI_Aint) sizeof(int), sizeof(int), info, MPI_COMM_WORLD, mem, win);
    MPI_Info_free(&info);
    return err;
}

static int memory_type(const void *mem)
{
    int type = 0;

    if (gpu.PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                (CUdeviceptr) (uintptr_t) mem) != CUDA_SUCCESS)
        return 0;
    return type;
}

/* A window's int i after the process `from` has put it. */
static int value(int from, int i)
{
    return 1000 * (from + 1) + i;
}

static int ints_of(int r)
{
    return r % 4 == 3 ? 0 : N + r;
}

/* Compare n ints of a window, or got from one.
 *   scale  (IN)  how many times those that were put by process `from` have been added
 *   every  (IN)  a one has been added to one in so many; 0: to none */
static void check_ints(const char *what, const int *mem, int n, int from, int scale, int every)
{
    int *seen = malloc((n + 1) * sizeof(int)), *expected = malloc((n + 1) * sizeof(int));

    for (int i = 0; i < n; i++)
        expected[i] = scale * value(from, i) + (every && i % every == 0);
    if (n && memory_type(mem))
        CU(Memcpy((CUdeviceptr) (uintptr_t) seen, (CUdeviceptr) (uintptr_t) mem,
                  n * sizeof(int)));
    else
        memcpy(seen, mem, n * sizeof(int));
    report_compare(what, seen, expected, n * sizeof(int));
    free(seen);
    free(expected);
}

/* Operations on all windows, from host memory or device memory. */
static void use(const int *mem, MPI_Win win, int *origin, int *staged)
{
    const int next = (rank + 1) % size, from = (rank + size - 1) % size, n = ints_of(next);
    const int own = ints_of(rank);
    int one = 1, old = -1;

    for (int i = 0; i < n; i++)
        staged[i] = value(rank, i);
    if (origin != staged)
        CU(Memcpy((CUdeviceptr) (uintptr_t) origin, (CUdeviceptr) (uintptr_t) staged,
                  n * sizeof(int)));
    CHECK_MPI(MPI_Win_fence(0, win));
    CHECK_MPI(MPI_Put(origin, n, MPI_INT, next, 0, n, MPI_INT, win));
    CHECK_MPI(MPI_Win_fence(0, win));
    check_ints("a window", mem, own, from, 1, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win));
    CHECK_MPI(MPI_Accumulate(origin, n, MPI_INT, next, 0, n, MPI_INT, MPI_SUM, win));
    CHECK_MPI(MPI_Win_unlock(next, win));
    MPI_Barrier(MPI_COMM_WORLD);
    check_ints("a window", mem, own, from, 2, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < n; i++)
        staged[i] = -1;
    if (origin != staged)
        CU(Memcpy((CUdeviceptr) (uintptr_t) origin, (CUdeviceptr) (uintptr_t) staged,
                  n * sizeof(int)));
    CHECK_MPI(MPI_Win_lock_all(0, win));
    for (int i = 0; i < n; i += 100)
        CHECK_MPI(MPI_Fetch_and_op(&one, &old, MPI_INT, next, i, MPI_SUM, win));
    CHECK_MPI(MPI_Win_flush(next, win));
    CHECK_MPI(MPI_Get(origin, n, MPI_INT, next, 0, n, MPI_INT, win));
    CHECK_MPI(MPI_Win_unlock_all(win));
    CHECK(n == 0 || old == 2 * value(rank, (n - 1) / 100 * 100));
    check_ints("what was got", origin, n, rank, 2, 100);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* What a process asks for, in the i-th of several cases. */
static const char *wish_of(int i, int r)
{
    static const char *const kinds[] = { "cuda:device", "cuda:managed", "cuda:host", NULL };

    switch (i) {
        case 0:
            return "cuda:device";
        case 1:
            return r % 2 ? "system" : "cuda:device";
        case 2:
            return r == 0 ? NULL : "cuda:device";
        case 3:
            return r == 0 ? "rocm:device,cuda" : NULL;
        default:
            return kinds[r % 4];
    }
}

static void cases(void)
{
    struct mem device;
    int *staged = malloc((N + size) * sizeof(int));

    mem_alloc(&device, MEM__DEVICE, (N + size) * sizeof(int));
    for (int i = 0; i < 10; i++) {
        const char *wish = wish_of(i / 2, rank);
        const int is_gpu = wish && strstr(wish, "cuda") != NULL, n = ints_of(rank);
        int *mem = NULL, flag = 0, *base;
        char answer[MPI_MAX_INFO_VAL + 1] = "";
        MPI_Info info;
        MPI_Win win;

        CHECK_MPI(win_make(wish, i % 2 ? "alloc_shm" : NULL, n, &mem, &win));
        CHECK(n == 0 || (memory_type(mem) != 0) == is_gpu);
        CHECK_MPI(MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag));
        CHECK(flag && base == mem);
        CHECK_MPI(MPI_Win_get_info(win, &info));
        MPI_Info_get(info, KEY, MPI_MAX_INFO_VAL, answer, &flag);
        CHECK(flag && strstr(answer, "cuda:device"));
        MPI_Info_free(&info);
        use(mem, win, staged, staged);
        use(mem, win, (int *) device.addr, staged);
        CHECK_MPI(MPI_Win_free(&win));
        CHECK(!is_gpu || n == 0 || memory_type(mem) == 0);
    }
    mem_free(&device);
    free(staged);
}

/* Put and get by this process's current GPU, and a message from the window's memory. */
static void direct_use(int *mem, MPI_Win win, const struct mem *origin)
{
    const int other = 1 - rank;
    const unsigned long long before = report_variable("gpudt_window_direct");
    int values[N], none[N];

    for (int i = 0; i < N; i++) {
        values[i] = value(rank, i);
        none[i] = -1;
    }
    mem_write(origin, 0, values, sizeof(values));
    CU(Memcpy((CUdeviceptr) (uintptr_t) mem, (CUdeviceptr) (uintptr_t) none, sizeof(none)));
    CU(CtxSynchronize());
    CHECK_MPI(MPI_Win_fence(0, win));
    CHECK_MPI(MPI_Put(origin->addr, N, MPI_INT, other, 0, N, MPI_INT, win));
    CHECK_MPI(MPI_Win_fence(0, win));
    check_ints("a window", mem, N, other, 1, 0);
    mem_write(origin, 0, none, sizeof(none));
    CHECK_MPI(MPI_Get(origin->addr, N, MPI_INT, other, 0, N, MPI_INT, win));
    CHECK_MPI(MPI_Win_fence(0, win));
    check_ints("what was got", (int *) origin->addr, N, rank, 1, 0);
    mem_write(origin, 0, none, sizeof(none));
    CHECK(report_variable("gpudt_window_direct") == before + 2);
    CHECK_MPI(MPI_Sendrecv(mem, N, MPI_INT, other, 0, origin->addr, N, MPI_INT, other, 0,
                           MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    check_ints("a message", (int *) origin->addr, N, rank, 1, 0);
}

static void direct(int ndevices)
{
    struct mem origin;
    int *mem, provided;
    MPI_Win win, second;

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    for (int round = 0; round < 3; round++) {
        CHECK_MPI(win_make("cuda:device", NULL, N, &mem, &win));
        /* another window in the same memory, which is freed while the memory is in use */
        CHECK_MPI(MPI_Win_create(mem, N * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                                 &second));
        for (int device = 0; device < ndevices && device < 2; device++) {
            gpu_set_current(device);
            mem_alloc(&origin, device ? MEM__OTHER_DEVICE : MEM__DEVICE, N * sizeof(int));
            direct_use(mem, win, &origin);
            direct_use(mem, second, &origin);
            mem_free(&origin);
        }
        gpu_set_current(0);
        CHECK_MPI(MPI_Win_free(&second));
        CHECK_MPI(MPI_Win_free(&win));
        CHECK(gpu.emu_ipc_count == NULL || gpu.emu_ipc_count("orphaned") == 0);
    }
    MPI_T_finalize();
}

/* ---- failures ---- */

/* Check the errors of an allocation of which some process fails.
 *   victim  (IN)  the process with a cause of its own; -1: several have the same one */
static void check_errors(int err, int victim, const char *cause)
{
    int class, failed = err != MPI_SUCCESS, all;

    CHECK_MPI(MPI_Allreduce(&failed, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    MPI_Error_class(err, &class);
    if (all != size)
        report_fail("%d of %d processes get an error: here %s", all, size, report_mpi_text(err));
    else if (victim < 0 || rank == victim)
        CHECK(strstr(report_mpi_text(err), cause) != NULL);
    else
        CHECK(class == MPI_ERR_NO_MEM && strstr(report_mpi_text(err), "cannot allocate"));
}

static void none(void)
{
    int *mem, n = N;
    MPI_Win win;

    check_errors(win_make("cuda:device", NULL, N, &mem, &win), -1, "No GPU can be used");
    for (int r = 0; r < size; r++)
        check_errors(win_make(rank == r ? "cuda:host" : NULL, NULL, N, &mem, &win), r,
                     "No GPU can be used");
    CHECK_MPI(win_make("mpi,cuda:device", NULL, n, &mem, &win));
    mem[0] = 1;
    CHECK_MPI(MPI_Win_free(&win));
    CHECK_MPI(win_make("cuda:device", NULL, 0, &mem, &win));
    CHECK_MPI(MPI_Win_free(&win));
}

static void faults(const char *wish)
{
    int nerrors = 0;

    for (int victim = 0; victim < size; victim++) {
        int fired = 1, *mem;
        MPI_Win win;

        for (long at = 1; fired && at < MAX_CALLS; at++) {
            int err, failed;

            if (rank == victim)
                gpu.emu_fail_set(NULL, at, 999, 1);
            err = win_make(wish, NULL, N, &mem, &win);
            fired = rank == victim && gpu.emu_failed_count() > 0;
            if (rank == victim)
                gpu.emu_fail_set(NULL, 0, 0, 1);
            MPI_Bcast(&fired, 1, MPI_INT, victim, MPI_COMM_WORLD);
            failed = err != MPI_SUCCESS;
            MPI_Bcast(&failed, 1, MPI_INT, victim, MPI_COMM_WORLD);
            CHECK(!failed || fired);
            if (failed)
                check_errors(err, victim, "CUDA");
            else
                CHECK_MPI(err);
            if (err == MPI_SUCCESS)
                CHECK_MPI(MPI_Win_free(&win));
            nerrors += failed;
        }
        CHECK(!fired);
    }
    CHECK(nerrors >= size);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int ndevices;

    report_time_limit(120);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(what, "none") == 0) {
        none();
        MPI_Finalize();
        return report_done();
    }
    ndevices = gpu_open();
    if (ndevices == 0)
        return 1;
    gpu_set_current(0);
    if (strcmp(what, "direct") == 0) {
        direct(ndevices);
    } else if (strcmp(what, "faults") == 0) {
        faults("cuda:device");
        faults("cuda:host");
    } else {
        cases();
    }
    MPI_Finalize();
    if (gpu.emu_live)
        CHECK(gpu.emu_live(NULL) == 0);
    return report_done();
}
