/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* One-sided operations that fail. Each driver call of an operation fails once, in the origin or in
 * the target; or the memory of a window has been freed. Either process may get an error, from the
 * operation or from the end of the epoch; neither waits for ever or ends, and the next epoch works.
 * Two processes.
 *
 *     rma_faults once|on     one call fails, or all from it on until the end of the epoch; emulated
 *                            driver only
 *     rma_faults dynamic     the same as once, on dynamic windows
 *     rma_faults freed       the window's memory is freed while it is in use */

#include "report.h"
#include "side.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CALLS 60
#define CODE 999                /* CUDA_ERROR_UNKNOWN */

enum kind { PUT, GET, REPLACE, GET_REPLACE, SUM, FETCH_AND_OP, COMPARE_AND_SWAP, NKINDS };

static const char *const kinds[] = {
    "put", "get", "accumulate", "get accumulate", "sum", "fetch and op", "compare and swap"
};

static int rank;
static long times;
static unsigned seed = 1;
static long nfired, nerrors;
static MPI_Win win;
static struct mem result;
static int is_of_dynamic;       /* the windows are */
static MPI_Aint base;           /* of the window of process 1 */

/* Both processes' window is the memory of their side. */
static MPI_Aint displacement(const struct side *s)
{
    return base + (MPI_Aint) s->buf_off;
}

static int start(struct side *s, enum kind kind)
{
    MPI_Aint disp = displacement(s);
    int n = (int) s->count;

    switch (kind) {
        case PUT:
            return MPI_Put(s->buf, n, s->type, 1, disp, n, s->type, win);
        case GET:
            return MPI_Get(s->buf, n, s->type, 1, disp, n, s->type, win);
        case REPLACE:
            return MPI_Accumulate(s->buf, n, s->type, 1, disp, n, s->type, MPI_REPLACE, win);
        case GET_REPLACE:
            return MPI_Get_accumulate(s->buf, n, s->type, result.addr, n, s->type, 1, disp, n,
                                      s->type, MPI_REPLACE, win);
        case SUM:
            return MPI_Accumulate(s->buf, n, s->type, 1, disp, n, s->type, MPI_SUM, win);
        case FETCH_AND_OP:
            return MPI_Fetch_and_op(s->buf, result.addr, MPI_INT, 1, disp, MPI_SUM, win);
        default:
            return MPI_Compare_and_swap(s->buf, s->buf, result.addr, MPI_INT, 1, disp, win);
    }
}

/* An epoch with one operation. The victim's call number `at` fails; 0: none. Returns whether there
 * were that many calls. */
static int epoch(struct side *s, enum kind kind, int victim, long at)
{
    int err = MPI_SUCCESS, end_err, before = report_failures, mine, failed[2];
    int fired = 0;

    seed++;
    if ((kind == GET) == (rank == 1))
        side_fill(s, seed);
    else
        side_clear(s, seed);
    CHECK_MPI(MPI_Win_fence(0, win));
    if (rank == victim && at)
        gpu.emu_fail_set(NULL, at, CODE, times);
    if (rank == 0)
        err = start(s, kind);
    end_err = MPI_Win_fence(0, win);
    if (rank == victim && at) {
        fired = gpu.emu_failed_count() > 0;
        gpu.emu_fail_set(NULL, 0, 0, 1);
    }
    mine = err || end_err;
    CHECK_MPI(MPI_Allgather(&mine, 1, MPI_INT, failed, 1, MPI_INT, MPI_COMM_WORLD));
    MPI_Bcast(&fired, 1, MPI_INT, victim, MPI_COMM_WORLD);
    nfired += fired;
    nerrors += mine;
    if (err == MPI_SUCCESS)
        err = end_err;
    if (err && !fired)
        report_fail("an error without a fault: %s", report_mpi_text(err));
    if (err && rank != victim)
        report_fail("an error of the other process: %s", report_mpi_text(err));
    if (err && fired && strstr(report_mpi_text(err), "CUDA") == NULL)
        report_fail("the error does not name the driver's: %s", report_mpi_text(err));
    if (!failed[0] && !failed[1] && kind < SUM)
        side_check(s, "a buffer", seed, s->size);
    if (report_failures != before)
        fprintf(stderr, "... rank %d, call %ld of %s of %ld elements fails in rank %d\n", rank, at,
                kinds[kind], (long) s->count, victim);
    return fired;
}

static void all_calls(MPI_Datatype type, MPI_Aint count)
{
    struct side s;

    side_make(&s, MEM__DEVICE, type, count, 0);
    mem_alloc(&result, MEM__DEVICE, s.mem.sz);
    if (is_of_dynamic) {
        CHECK_MPI(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        CHECK_MPI(MPI_Win_attach(win, s.mem.addr, s.mem.sz));
        MPI_Get_address(s.mem.addr, &base);
        MPI_Bcast(&base, 1, MPI_AINT, 1, MPI_COMM_WORLD);
    } else {
        CHECK_MPI(MPI_Win_create(s.mem.addr, s.mem.sz, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    }
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    for (int kind = 0; kind < NKINDS; kind++) {
        for (int victim = 0; victim < 2; victim++) {
            long at = 1;
            while (at <= MAX_CALLS && epoch(&s, kind, victim, at))
                at++;
            CHECK(at > 1);
        }
        epoch(&s, kind, 0, 0);
    }
    CHECK_MPI(MPI_Win_free(&win));
    mem_free(&result);
    side_free(&s);
}

/* Freed memory is an error at the target, whose window it is, or at the call if that is the same
 * process. */
static void freed(enum mem_kind kind, int is_dynamic)
{
    struct mem mem;
    char *host;
    const MPI_Aint sz = 1 << 20;
    int err;

    mem_alloc(&mem, kind, sz);
    host = calloc(1, sz);
    if (is_dynamic) {
        CHECK_MPI(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        CHECK_MPI(MPI_Win_attach(win, mem.addr, sz));
        MPI_Get_address(mem.addr, &base);
    } else {
        CHECK_MPI(MPI_Win_create(mem.addr, sz, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        base = 0;
    }
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    if (rank == 1)
        mem_free(&mem);
    MPI_Bcast(&base, 1, MPI_AINT, 1, MPI_COMM_WORLD);
    for (int n = 64; n <= sz; n *= 128) {
        for (int call = 0; call < 5; call++) {
            CHECK_MPI(MPI_Win_fence(0, win));
            err = MPI_SUCCESS;
            for (int origin = 0; origin < 2 && err == MPI_SUCCESS; origin++) {
                if (rank != origin)
                    continue;
                if (call == 0)
                    err = MPI_Put(host, n, MPI_BYTE, 1, base, n, MPI_BYTE, win);
                else if (call == 1)
                    err = MPI_Get(host, n, MPI_BYTE, 1, base, n, MPI_BYTE, win);
                else if (call == 2)
                    err = MPI_Accumulate(host, n / 4, MPI_INT, 1, base, n / 4, MPI_INT, MPI_SUM,
                                         win);
                else if (call == 3)
                    err = MPI_Get_accumulate(host, n / 4, MPI_INT, host + sz / 2, n / 8, MPI_INT, 1,
                                             base, n / 8, MPI_INT, MPI_NO_OP, win);
                else
                    err = MPI_Compare_and_swap(host, host + 64, host + 128, MPI_INT, 1, base, win);
                /* the target's own operation fails in the call */
                if (origin == 0)
                    CHECK(err == MPI_SUCCESS);
                else if (err == MPI_SUCCESS)
                    report_fail("call %d, %d bytes of freed %s memory: no error", call, n,
                                mem_name(kind));
            }
            err = MPI_Win_fence(0, win);
            if ((err != MPI_SUCCESS) != (rank == 1))
                report_fail("call %d, %d bytes of freed %s memory, rank %d: the end of the epoch returns %d",
                            call, n, mem_name(kind), rank, err);
        }
    }
    CHECK_MPI(MPI_Win_free(&win));
    if (rank == 0)
        mem_free(&mem);
    free(host);
}

int main(int argc, char **argv)
{
    MPI_Datatype vector;

    if (argc != 2)
        return 2;
    times = strcmp(argv[1], "on") == 0 ? 0 : 1;
    is_of_dynamic = strcmp(argv[1], "dynamic") == 0;
    report_time_limit(300);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    if (strcmp(argv[1], "freed") == 0) {
        freed(MEM__DEVICE, 0);
        freed(MEM__DEVICE, 1);
        freed(MEM__MANAGED, 0);
        freed(MEM__MAPPED, 0);
        MPI_Finalize();
        return report_done();
    }
    if (!gpu.is_emulated)
        return 1;
    MPI_Type_vector(3, 1, 2, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    all_calls(MPI_INT, 1);
    all_calls(vector, 4);
    all_calls(MPI_INT, 100000);
    CHECK(nfired > 0 && (times == 1 || nerrors > 0));
    MPI_Type_free(&vector);
    MPI_Finalize();
    return report_done();
}
