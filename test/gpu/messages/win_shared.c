/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests MPI_Win_allocate_shared in GPU memory: the addresses of MPI_Win_shared_query are usable by the
 * GPU of the calling process, and MPI's operations work. Any number of processes of a node, with the
 * GPUs of the machine in turn.
 *
 *   win_shared          windows with contiguous and noncontiguous parts
 *   win_shared refused  the GPUs cannot map each other's memory: an error in all processes
 *   win_shared contexts messages have mapped memory in another context of the same device; with
 *                       MPIR_CVAR_GPUDT_DIRECT=always and MPIR_CVAR_GPUDT_EAGER_MAX=0
 *   win_shared faults   each driver call fails once, in each process: an error in all, or none */

#include "gpu.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY "mpi_memory_alloc_kinds"
#define N 1500                  /* ints of a part, besides those of its rank */
#define MAX_CALLS 120
#define SUMS 50

static int rank, size;
static int *host;               /* a part, in host memory */

/* Ints of a part: that of the second process is empty. */
static int ints_of(int r)
{
    return r == 1 ? 0 : N + r;
}

static int win_make(const char *kinds, int is_noncontig, int n, int **mem, MPI_Win * win)
{
    MPI_Info info;
    int err;

    MPI_Info_create(&info);
    if (kinds)
        MPI_Info_set(info, KEY, kinds);
    if (is_noncontig)
        MPI_Info_set(info, "alloc_shared_noncontig", "true");
    err = MPI_Win_allocate_shared(n * (MPI_Aint) sizeof(int), sizeof(int), info, MPI_COMM_WORLD,
                                  mem, win);
    MPI_Info_free(&info);
    return err;
}

static int is_device(const void *mem)
{
    int type = 0;

    return gpu.PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   (CUdeviceptr) (uintptr_t) mem) == CUDA_SUCCESS &&
        type == CU_MEMORYTYPE_DEVICE;
}

/* Whether the program's copies to memory are done when they return (gpudt_memops.c). */
static int is_marked(const void *mem)
{
    unsigned answer = 0;

    CU(PointerGetAttribute(&answer, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
                           (CUdeviceptr) (uintptr_t) mem));
    return answer != 0;
}

static void copy(void *to, const void *from, int n)
{
    CU(Memcpy((CUdeviceptr) (uintptr_t) to, (CUdeviceptr) (uintptr_t) from, n * sizeof(int)));
    CU(CtxSynchronize());
}

/* The addresses of all parts.
 *   part  (OUT)  `size` of them; NULL for an empty one */
static void query(MPI_Win win, const int *mem, int is_noncontig, int **part)
{
    MPI_Aint sz;
    int unit, *any;
    char *end = NULL;

    for (int r = 0; r < size; r++) {
        CHECK_MPI(MPI_Win_shared_query(win, r, &sz, &unit, &part[r]));
        CHECK(sz == ints_of(r) * (MPI_Aint) sizeof(int) && unit == sizeof(int));
        CHECK((part[r] == NULL) == (sz == 0) && (sz == 0 || is_device(part[r])));
        if (!is_noncontig && end && sz)
            CHECK((char *) part[r] == end);
        if (sz)
            end = (char *) part[r] + sz;
    }
    CHECK(part[rank] == mem);
    CHECK_MPI(MPI_Win_shared_query(win, MPI_PROC_NULL, &sz, &unit, &any));
    CHECK(any == part[0] && sz == ints_of(0) * (MPI_Aint) sizeof(int));
}

static void check_part(const int *part, int r, int first)
{
    const int n = ints_of(r);
    int *expected = malloc((n + 1) * sizeof(int));

    if (n)
        copy(host, part, n);
    for (int i = 0; i < n; i++)
        expected[i] = first + i;
    report_compare("a part", host, expected, n * sizeof(int));
    free(expected);
}

static void host_fill(int n, int first)
{
    for (int i = 0; i < n; i++)
        host[i] = first + i;
}

/* The program's own accesses: each process writes the next one's part, and reads all. */
static void by_program(MPI_Win win, int **part)
{
    const int next = (rank + 1) % size;

    CHECK_MPI(MPI_Win_lock_all(0, win));
    host_fill(ints_of(next), 1000 * next);
    if (part[next])
        copy(part[next], host, ints_of(next));
    MPI_Win_sync(win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int r = 0; r < size; r++)
        check_part(part[r], r, 1000 * r);
    CHECK_MPI(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
}

/* MPI's operations on the next process's part, with an origin in host or device memory. */
static void by_mpi(MPI_Win win, int **part, int *origin)
{
    const int next = (rank + 1) % size, n = ints_of(next);
    MPI_Datatype even;

    host_fill(n, 7 * next);
    if (origin != host && n)
        copy(origin, host, n);
    CHECK_MPI(MPI_Win_fence(0, win));
    CHECK_MPI(MPI_Put(origin, n, MPI_INT, next, 0, n, MPI_INT, win));
    CHECK_MPI(MPI_Win_fence(0, win));
    check_part(part[rank], rank, 7 * rank);
    MPI_Barrier(MPI_COMM_WORLD);
    /* put the even elements again, and double everything */
    MPI_Type_vector(n / 2, 1, 2, MPI_INT, &even);
    MPI_Type_commit(&even);
    host_fill(n, 7 * next);
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win));
    CHECK_MPI(MPI_Put(origin, 1, even, next, 0, 1, even, win));
    CHECK_MPI(MPI_Win_flush(next, win));
    CHECK_MPI(MPI_Accumulate(origin, n, MPI_INT, next, 0, n, MPI_INT, MPI_SUM, win));
    CHECK_MPI(MPI_Win_flush(next, win));
    host_fill(n, 7 * next);
    for (int i = 0; i < n; i++)
        host[i] *= -1;
    if (origin != host && n)
        copy(origin, host, n);
    CHECK_MPI(MPI_Accumulate(origin, n, MPI_INT, next, 0, n, MPI_INT, MPI_SUM, win));
    CHECK_MPI(MPI_Win_unlock(next, win));
    MPI_Type_free(&even);
    MPI_Barrier(MPI_COMM_WORLD);
    check_part(part[rank], rank, 7 * rank);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win));
    CHECK_MPI(MPI_Get(origin, n, MPI_INT, next, 0, n, MPI_INT, win));
    CHECK_MPI(MPI_Win_unlock(next, win));
    if (origin != host && n)
        copy(host, origin, n);
    for (int i = 0; i < n; i++)
        CHECK(host[i] == 7 * next + i);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* All processes add to one element, by several operations: each counts once. */
static void sums(MPI_Win win, int **part)
{
    int zero = 0, one = 1, old, got;

    if (rank == 0)
        copy(part[0], &zero, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_MPI(MPI_Win_lock_all(0, win));
    for (int i = 0; i < SUMS; i++) {
        CHECK_MPI(MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win));
        CHECK_MPI(MPI_Fetch_and_op(&one, &old, MPI_INT, 0, 0, MPI_SUM, win));
        CHECK_MPI(MPI_Get_accumulate(&one, 1, MPI_INT, &got, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM,
                                     win));
        CHECK_MPI(MPI_Win_flush(0, win));
        CHECK(old > 0 && got > old);
        do {
            const int sum = got + 1, seen = got;
            CHECK_MPI(MPI_Compare_and_swap(&sum, &seen, &got, MPI_INT, 0, 0, win));
            CHECK_MPI(MPI_Win_flush(0, win));
            if (got == seen)
                break;
        } while (report_failures == 0);
    }
    CHECK_MPI(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    copy(&old, part[0], 1);
    CHECK(old == 4 * SUMS * size);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Messages from parts, of this process and of another, to host memory or device memory. */
static void messages(int **part, int *to)
{
    const int next = (rank + 1) % size, from = (rank + size - 1) % size;
    const int n = part[0] == NULL ? 0 : N;

    if (rank == 0) {
        host_fill(N, 5);
        copy(part[0], host, N);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    memset(host, 0, N * sizeof(int));
    CHECK_MPI(MPI_Sendrecv(part[0], n, MPI_INT, next, 0, to, n, MPI_INT, from, 0, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE));
    if (to != host && n)
        copy(host, to, n);
    for (int i = 0; i < n; i++)
        CHECK(host[i] == 5 + i);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Windows of all forms.
 *   origin  (IN)  N + size ints of device memory */
static void cases(int *origin)
{
    int **part = calloc(size, sizeof(*part));

    for (int i = 0; i < 4; i++) {
        MPI_Win win;
        int *mem;

        CHECK_MPI(win_make("cuda:device", i % 2, ints_of(rank), &mem, &win));
        query(win, mem, i % 2, part);
        for (int r = 0; r < size && size > 1; r++)
            CHECK(part[r] == NULL || is_marked(part[r]));
        by_program(win, part);
        by_mpi(win, part, host);
        by_mpi(win, part, origin);
        sums(win, part);
        messages(part, host);
        messages(part, origin);
        CHECK_MPI(MPI_Win_free(&win));
        /* all have unmapped what was freed, by the owner's view */
        CHECK(gpu.emu_ipc_count == NULL || gpu.emu_ipc_count("orphaned") == 0);
        for (int r = 0; r < size; r++)
            CHECK(part[r] == NULL || !is_device(part[r]));
    }
    free(part);
}

/* That MPI has used mapped memory does not keep it from marking the program's. */
static void marks(void)
{
    struct mem mem;
    int position = 0;

    mem_alloc(&mem, MEM__DEVICE, 64);
    CHECK_MPI(MPI_Pack(mem.addr, 8, MPI_INT, host, N * (int) sizeof(int), &position,
                       MPI_COMM_SELF));
    CHECK(is_marked(mem.addr));
    mem_free(&mem);
}

/* Windows without any memory, and of host memory. Memory cannot be attached to them, and that info says
 * no shared memory is asked too much. */
static void other_windows(void)
{
    const int next = (rank + 1) % size;
    int *mem, *of_next, unit, err, class, flag;
    char value[8];
    MPI_Aint sz;
    MPI_Info info;
    MPI_Win win;

    CHECK_MPI(win_make("cuda:device", 0, 0, &mem, &win));
    CHECK(mem == NULL);
    CHECK_MPI(MPI_Win_fence(0, win));
    CHECK_MPI(MPI_Win_free(&win));
    CHECK_MPI(win_make("mpi,cuda:device", 0, N, &mem, &win));
    mem[N - 1] = 1;
    CHECK_MPI(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    for (int i = 0; i < 2; i++) {
        err = i == 0 ? MPI_Win_attach(win, host, N) : MPI_Win_detach(win, host);
        MPI_Error_class(err, &class);
        CHECK(class == MPI_ERR_RMA_FLAVOR);
    }
    CHECK_MPI(MPI_Win_free(&win));

    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shm", "false");
    CHECK_MPI(MPI_Win_allocate_shared(N * sizeof(int), sizeof(int), info, MPI_COMM_WORLD, &mem, &win));
    MPI_Info_free(&info);
    CHECK_MPI(MPI_Win_get_info(win, &info));
    MPI_Info_get(info, "alloc_shm", sizeof(value) - 1, value, &flag);
    CHECK(flag && strcmp(value, "true") == 0);
    MPI_Info_free(&info);
    CHECK_MPI(MPI_Win_shared_query(win, next, &sz, &unit, &of_next));
    CHECK_MPI(MPI_Win_fence(0, win));
    of_next[N - 1] = 100 + next;
    host[0] = 200 + next;
    CHECK_MPI(MPI_Put(host, 1, MPI_INT, next, 0, 1, MPI_INT, win));
    CHECK_MPI(MPI_Win_fence(0, win));
    CHECK(mem[0] == 200 + rank && mem[N - 1] == 100 + rank);
    CHECK_MPI(MPI_Win_free(&win));
}

/* A message to memory of another context has mapped the sender's memory there. The driver does not let
 * two contexts of a device do so at a time. */
static void other_contexts(void)
{
    const int next = (rank + 1) % size, from = (rank + size - 1) % size;
    unsigned long long before;
    int *mem, values[N], seen[N], provided;
    struct mem mine, another;
    MPI_Win win;

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    before = report_variable("gpudt_ipc_opens");
    mem_alloc(&mine, MEM__DEVICE, N * sizeof(int));
    mem_alloc(&another, MEM__OTHER_CTX, N * sizeof(int));
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < N; k++)
            values[k] = 10000 * (i * size + rank) + k;
        mem_write(&mine, 0, values, sizeof(values));
        memset(seen, 0xff, sizeof(seen));
        mem_write(&another, 0, seen, sizeof(seen));
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK_MPI(MPI_Sendrecv(mine.addr, N, MPI_INT, next, 0, another.addr, N, MPI_INT, from, 0,
                               MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        /* with the emulated driver no process does it for another one */
        CHECK(report_variable("gpudt_ipc_opens") > before || !gpu.is_emulated);
        mem_read(&another, 0, seen, sizeof(seen));
        for (int k = 0; k < N; k++)
            values[k] = 10000 * (i * size + from) + k;
        report_compare("a message to memory of another context", seen, values, sizeof(seen));
        /* each process maps the memory of each other one */
        CHECK_MPI(win_make("cuda:device", 1, N, &mem, &win));
        CHECK(is_device(mem));
        CHECK_MPI(MPI_Win_free(&win));
    }
    mem_free(&another);
    mem_free(&mine);
    MPI_T_finalize();
}

/* ---- failures ---- */

static void check_errors(int err, const char *cause)
{
    int class, failed = err != MPI_SUCCESS, all;

    CHECK_MPI(MPI_Allreduce(&failed, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    MPI_Error_class(err, &class);
    if (all != size)
        report_fail("%d of %d processes get an error: here %s", all, size, report_mpi_text(err));
    else if (cause && strstr(report_mpi_text(err), cause) == NULL)
        report_fail("not for the cause '%s': %s", cause, report_mpi_text(err));
}

static void wrong_kinds(void)
{
    int *mem;
    MPI_Win win;

    if (size == 1)
        return;
    check_errors(win_make("cuda:managed", 0, N, &mem, &win), "cuda:managed cannot be shared");
    check_errors(win_make("cuda:host", 1, N, &mem, &win), "cuda:host cannot be shared");
    check_errors(win_make(rank ? "cuda:device" : NULL, 0, N, &mem, &win), "different kinds");
    check_errors(win_make(rank ? "cuda:device" : "cuda:host", 0, N, &mem, &win), "different kinds");
}

static void refused(void)
{
    int *mem;
    MPI_Win win;

    for (int i = 0; i < 2; i++)
        check_errors(win_make("cuda:device", i, N, &mem, &win), NULL);
    CHECK_MPI(win_make(NULL, 0, N, &mem, &win));
    CHECK_MPI(MPI_Win_free(&win));
}

static void faults(int is_noncontig)
{
    int nerrors = 0;

    for (int victim = 0; victim < size; victim++) {
        int fired = 1, *mem;
        MPI_Win win;

        for (long at = 1; fired && at < MAX_CALLS; at++) {
            int err, failed;

            if (rank == victim)
                gpu.emu_fail_set(NULL, at, 999, 1);
            err = win_make("cuda:device", is_noncontig, N, &mem, &win);
            fired = rank == victim && gpu.emu_failed_count() > 0;
            if (rank == victim)
                gpu.emu_fail_set(NULL, 0, 0, 1);
            MPI_Bcast(&fired, 1, MPI_INT, victim, MPI_COMM_WORLD);
            failed = err != MPI_SUCCESS;
            MPI_Bcast(&failed, 1, MPI_INT, victim, MPI_COMM_WORLD);
            CHECK(!failed || fired);
            if (failed)
                check_errors(err, rank == victim ? "CUDA" : "annot ");
            else
                CHECK_MPI(err);
            if (err == MPI_SUCCESS) {
                if (rank == victim)
                    gpu.emu_fail_set(NULL, at, 999, 1);
                CHECK_MPI(MPI_Win_free(&win));
                if (rank == victim)
                    gpu.emu_fail_set(NULL, 0, 0, 1);
            }
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
    ndevices = gpu_open();
    if (ndevices == 0)
        return 1;
    gpu_set_current(rank % ndevices);
    host = calloc(N + size, sizeof(int));
    if (strcmp(what, "refused") == 0) {
        refused();
    } else if (strcmp(what, "faults") == 0) {
        faults(0);
        faults(1);
    } else if (strcmp(what, "contexts") == 0) {
        other_contexts();
    } else {
        struct mem origin;

        mem_alloc(&origin, MEM__DEVICE, (N + size) * sizeof(int));
        other_windows();
        cases(origin.addr);
        wrong_kinds();
        cases(origin.addr);
        marks();
        mem_free(&origin);
    }
    free(host);
    MPI_Finalize();
    if (gpu.emu_live)
        CHECK(gpu.emu_live(NULL) == 0);
    return report_done();
}
