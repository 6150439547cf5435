/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that a process exits in an epoch with puts and gets: the others get errors, or their
 * operations go on, and they can still communicate. Three processes, of which the second one exits.
 * To be run under mpiexec -disable-auto-cleanup with MPIR_CVAR_ENABLE_FT=1; mpiexec then reports
 * the dead process, so only the others' output counts.
 *
 * Usage: rma_dies WHAT [host]
 *   fence     it is origin and target: the next fence is an error in all others
 *   posted    it is the target between MPI_Win_post and MPI_Win_wait: MPI_Win_complete is an error
 *   locked    it is the target of a lock, and its memory is mapped: operations succeed, and the
 *             unlock is an error. To be run with MPIR_CVAR_GPUDT_DIRECT=always
 *   unmapped  the same by messages: the next flush is an error, too
 *   lock_all  it is an origin: operations of another one on the same target succeed
 *   waited    it is an origin between MPI_Win_start and MPI_Win_complete: MPI_Win_wait is an error
 *   tested    the same with MPI_Win_test
 *   exclusive it holds a lock alone: another one gets that lock
 *   locking   the same, and it does not wait for the lock
 *   unaware   it is the target of operations by messages that it never sees: the flush that waits for them
 *             is an error, and so are the next flush and the unlock
 *   requested the same with requests: waiting for them is an error, and for later ones
 *   host      with all memory in host memory
 *
 * But for requested, MPI_Win_free is an error, and MPI_Finalize ends. */

#include "report.h"
#include "side.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VICTIM = 1, SMALL = 64, LARGE = 1 << 20, SZ = 3 * LARGE };

static int rank;
static enum mem_kind kind = MEM__DEVICE;
static struct mem window, origin, result;
static MPI_Win win;

/* Memory of the bytes of one process. */
static void mem_make(struct mem *mem, int of)
{
    unsigned char *bytes = malloc(SZ);

    for (int i = 0; i < SZ; i++)
        bytes[i] = side_byte(1 + of, i);
    mem_alloc(mem, kind, SZ);
    mem_write(mem, 0, bytes, SZ);
    free(bytes);
}

/* Compare bytes of a memory with those that a process had in its memory. */
static void check(const char *what, const struct mem *mem, size_t at, int of, int from, int n)
{
    unsigned char *seen = malloc(n), *expected = malloc(n);

    for (int i = 0; i < n; i++)
        expected[i] = side_byte(1 + of, from + i);
    mem_read(mem, at, seen, n);
    report_compare(what, seen, expected, n);
    free(seen);
    free(expected);
}

/* Put the first third of this process's origin, and get the second third of a window. What the dead
 * process has put may come late: it is in the last third. */
static void operate(int target, int n)
{
    const MPI_Aint at = rank == VICTIM ? 2 * LARGE : 0;

    CHECK_MPI(MPI_Put(origin.addr, n, MPI_BYTE, target, at, n, MPI_BYTE, win));
    CHECK_MPI(MPI_Get(result.addr, n, MPI_BYTE, target, LARGE, n, MPI_BYTE, win));
}

/* Start operations on a process and exit at once. */
static void die(int target)
{
    if (target >= 0) {
        operate(target, SMALL);
        operate(target, LARGE);
    }
    _exit(report_failures ? 3 : 0);
}

/* Wait until the process has exited. */
static void death_wait(void)
{
    CHECK(MPI_Recv(NULL, 0, MPI_BYTE, VICTIM, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS);
}

/* Check an error of a call that has to do with the process. */
static void failed_check(const char *call, int err)
{
    int class = MPI_SUCCESS;

    if (err)
        MPI_Error_class(err, &class);
    if (class != MPIX_ERR_PROC_FAILED)
        report_fail("%s: error class %d: %s", call, class, err ? report_mpi_text(err) : "none");
}

static void fence(void)
{
    CHECK_MPI(MPI_Win_fence(0, win));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == VICTIM)
        die(0);
    operate(VICTIM, LARGE);
    failed_check("MPI_Win_fence", MPI_Win_fence(0, win));
}

static MPI_Group group_of(int member)
{
    MPI_Group all, one;

    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &member, &one);
    MPI_Group_free(&all);
    return one;
}

static void posted(void)
{
    MPI_Group target = group_of(VICTIM), source = group_of(0);

    if (rank == VICTIM) {
        CHECK_MPI(MPI_Win_post(source, 0, win));
        MPI_Barrier(MPI_COMM_WORLD);
        die(-1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        CHECK_MPI(MPI_Win_start(target, 0, win));
        operate(VICTIM, SMALL);
        death_wait();
        operate(VICTIM, LARGE);
        failed_check("MPI_Win_complete", MPI_Win_complete(win));
    }
    MPI_Group_free(&source);
    MPI_Group_free(&target);
}

/* Process 0 has the lock of the dead process, and knows that it is dead. */
static void lock_of_dead(void)
{
    if (rank == 0) {
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, VICTIM, 0, win));
        operate(VICTIM, SMALL);
        CHECK_MPI(MPI_Win_flush(VICTIM, win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == VICTIM)
        die(-1);
    death_wait();
}

static void locked(void)
{
    lock_of_dead();
    if (rank == 0) {
        operate(VICTIM, LARGE);
        CHECK_MPI(MPI_Win_flush(VICTIM, win));
        check("what was got", &result, 0, VICTIM, LARGE, LARGE);
        CHECK_MPI(MPI_Get(result.addr, LARGE, MPI_BYTE, VICTIM, 0, LARGE, MPI_BYTE, win));
        failed_check("MPI_Win_unlock", MPI_Win_unlock(VICTIM, win));
        check("what was put and got", &result, 0, 0, 0, LARGE);
    }
}

static void unmapped(void)
{
    lock_of_dead();
    if (rank == 0) {
        operate(VICTIM, LARGE);
        CHECK(MPI_Win_flush(VICTIM, win) != MPI_SUCCESS);
        CHECK(MPI_Win_unlock(VICTIM, win) != MPI_SUCCESS);
    }
}

static void lock_all(void)
{
    if (rank != 0)
        CHECK_MPI(MPI_Win_lock_all(0, win));
    if (rank == VICTIM) {
        operate(0, SMALL);
        CHECK_MPI(MPI_Win_flush(0, win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == VICTIM)
        die(0);
    death_wait();
    if (rank == 0) {
        check("what was put and flushed before the end", &window, 2 * LARGE, VICTIM, 0, SMALL);
        CHECK_MPI(MPI_Send(NULL, 0, MPI_BYTE, 2, 0, MPI_COMM_WORLD));
        CHECK_MPI(MPI_Recv(NULL, 0, MPI_BYTE, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        check("the window", &window, 0, 2, 0, LARGE);
    } else {
        CHECK_MPI(MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        operate(0, LARGE);
        CHECK_MPI(MPI_Win_flush(0, win));
        /* with its target's memory mapped, it has asked for the lock of the dead process, too */
        (void) MPI_Win_unlock_all(win);
        check("what was got", &result, 0, 0, LARGE, LARGE);
        CHECK_MPI(MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD));
    }
}

/* The dead process is an origin in an epoch of this process's window. */
static void origin_dies(void)
{
    MPI_Group target = group_of(0), source = group_of(VICTIM);

    if (rank == 0)
        CHECK_MPI(MPI_Win_post(source, 0, win));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == VICTIM) {
        CHECK_MPI(MPI_Win_start(target, 0, win));
        die(0);
    }
    MPI_Group_free(&source);
    MPI_Group_free(&target);
}

static void waited(void)
{
    origin_dies();
    if (rank == 0)
        failed_check("MPI_Win_wait", MPI_Win_wait(win));
}

static void tested(void)
{
    int flag = 0, err = MPI_SUCCESS;

    origin_dies();
    while (rank == 0 && !flag && err == MPI_SUCCESS)
        err = MPI_Win_test(win, &flag);
    if (rank == 0)
        failed_check("MPI_Win_test", err);
}

/* Process 2 does operations on process 0, for which it needs the lock of the dead. */
static void lock_after(void)
{
    MPI_Request req;

    if (rank == 2) {
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        CHECK_MPI(MPI_Rget(result.addr, LARGE, MPI_BYTE, 0, LARGE, LARGE, MPI_BYTE, win, &req));
        CHECK_MPI(MPI_Wait(&req, MPI_STATUS_IGNORE));
        check("what was got", &result, 0, 0, LARGE, LARGE);
        operate(0, SMALL);
        CHECK_MPI(MPI_Win_unlock(0, win));
    }
    /* process 0 makes progress */
    if (rank == 0)
        CHECK_MPI(MPI_Recv(NULL, 0, MPI_BYTE, 2, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    else
        CHECK_MPI(MPI_Send(NULL, 0, MPI_BYTE, 0, 3, MPI_COMM_WORLD));
    if (rank == 0)
        check("what was put", &window, 0, 2, 0, SMALL);
}

static void exclusive(void)
{
    if (rank == VICTIM) {
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        operate(0, SMALL);
        CHECK_MPI(MPI_Win_flush(0, win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == VICTIM)
        die(0);
    death_wait();
    lock_after();
}

/* Process 0 may know of the death before it reads the request for the lock. */
static void locking(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == VICTIM) {
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        die(0);
    }
    if (rank == 0)
        sleep(1);
    death_wait();
    lock_after();
}

/* It makes no progress any more when the others start, so that it does not answer. */
static void die_later(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == VICTIM) {
        sleep(2);
        die(-1);
    }
    if (rank == 0) {
        sleep(1);
        CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, VICTIM, 0, win));
    }
}

static void unaware(void)
{
    die_later();
    if (rank == 0) {
        operate(VICTIM, SMALL);
        operate(VICTIM, LARGE);
        failed_check("MPI_Win_flush", MPI_Win_flush(VICTIM, win));
        (void) MPI_Win_flush_local(VICTIM, win);    /* that may be done */
        CHECK(MPI_Win_unlock(VICTIM, win) != MPI_SUCCESS);
    }
}

/* More than may be under way to a process that does not receive it, and more once it is dead. Such a process
 * keeps what memory its node's processes have for sending, so that they cannot go on. */
static void requested(void)
{
    enum { NGETS = 3, NPUTS = 8 };
    MPI_Request req[NGETS + NPUTS], late[2];

    die_later();
    if (rank != 0)
        _exit(report_done());
    CHECK_MPI(MPI_Rget(result.addr, SMALL, MPI_BYTE, VICTIM, 0, SMALL, MPI_BYTE, win, &req[0]));
    CHECK_MPI(MPI_Rget(result.addr, LARGE, MPI_BYTE, VICTIM, LARGE, LARGE, MPI_BYTE, win, &req[1]));
    CHECK_MPI(MPI_Rget_accumulate(origin.addr, SMALL, MPI_BYTE, result.addr, SMALL, MPI_BYTE, VICTIM,
                                  LARGE, SMALL, MPI_BYTE, MPI_REPLACE, win, &req[2]));
    for (int i = 0; i < NPUTS; i++)
        CHECK_MPI(MPI_Rput(origin.addr, SZ, MPI_BYTE, VICTIM, 0, SZ, MPI_BYTE, win, &req[NGETS + i]));
    /* the first puts may be complete on this side */
    for (int i = 0; i < NGETS + NPUTS; i++) {
        int err = MPI_Wait(&req[i], MPI_STATUS_IGNORE);

        if (err || i < NGETS || i == NGETS + NPUTS - 1)
            failed_check("MPI_Wait", err);
    }
    if (MPI_Rput(origin.addr, SMALL, MPI_BYTE, VICTIM, 0, SMALL, MPI_BYTE, win, &late[0]) == MPI_SUCCESS)
        failed_check("a late MPI_Rput", MPI_Wait(&late[0], MPI_STATUS_IGNORE));
    if (MPI_Rget(result.addr, LARGE, MPI_BYTE, VICTIM, 0, LARGE, MPI_BYTE, win, &late[1]) == MPI_SUCCESS)
        failed_check("a late MPI_Rget", MPI_Wait(&late[1], MPI_STATUS_IGNORE));
    CHECK(MPI_Win_unlock(VICTIM, win) != MPI_SUCCESS);
    _exit(report_done());
}

/* The others can communicate. */
static void go_on(void)
{
    if (rank == 0) {
        CHECK_MPI(MPI_Recv(result.addr, LARGE, MPI_BYTE, 2, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        check("a message", &result, 0, 2, 0, LARGE);
    } else {
        CHECK_MPI(MPI_Send(origin.addr, LARGE, MPI_BYTE, 0, 1, MPI_COMM_WORLD));
    }
}

int main(int argc, char **argv)
{
    static const struct report_case tests[] = {
        {"fence", fence}, {"posted", posted}, {"locked", locked}, {"unmapped", unmapped},
        {"lock_all", lock_all}, {"waited", waited}, {"tested", tested}, {"exclusive", exclusive},
        {"locking", locking},
        {"unaware", unaware}, {"requested", requested}
    };

    if (argc > 2 && strcmp(argv[2], "host") == 0)
        kind = MEM__PAGEABLE;
    report_time_limit(60);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    mem_make(&window, rank);
    mem_make(&origin, rank);
    mem_make(&result, rank);
    CHECK_MPI(MPI_Win_create(window.addr, SZ, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    report_case_run(tests, sizeof(tests) / sizeof(tests[0]), argc > 1 ? argv[1] : NULL);
    CHECK(MPI_Win_free(&win) != MPI_SUCCESS);
    go_on();
    MPI_Finalize();
    _exit(report_done());      /* what a window's memory is in is not freed */
}
