/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests series of MPI_Put and MPI_Get that are alike: while the first one waits for a launch, others join
 * it, of which the library finds out little again. So between two of them everything changes that it
 * might take for the same. Process 0 is the origin, all others are targets; two or more processes, to be
 * run with MPIR_CVAR_GPUDT_DIRECT=always.
 *
 * Usage: rma_series WHAT
 *   alike     only the addresses change: several datatypes and synchronizations
 *   changes   datatypes, targets, windows, and the memory of the origin change in between
 *   errors    memory that is freed, data outside of the window, and a launch that fails
 *   threads   several threads with a window each */

#include "scene.h"
#include "report.h"

#include <pthread.h>
#include <string.h>

#define NTHREADS 4

/* ---- only the addresses change ---- */

/* A copy, and a run behind it. Returns how many operations have joined another one. */
static int run_behind(struct scene *s, MPI_Datatype type, MPI_Datatype there, bool is_get, int n,
                      int skew)
{
    const unsigned long long before = njoined();

    opener(s, 1, is_get);
    run(s, type, there, is_get, n, skew);
    CHECK_MPI(skew == 1 ? MPI_Win_flush_local(1, s->win) : MPI_Win_flush_all(s->win));
    /* a local flush leaves messages, if the lock came late */
    CHECK_MPI(MPI_Win_flush(1, s->win));
    return (int) (njoined() - before);
}

static void under_locks(struct scene *s, const MPI_Datatype * types)
{
    locks_get(s);
    for (int t = 0; rank == 0 && t < 25; t++) {
        const MPI_Datatype type = types[t % 5], there = types[t / 5];
        for (int k = 0; k < 4; k++) {
            const int n = t % 2 ? 3 * FULL : FULL / 2, skew = k < 2 ? 1 : 5;
            /* the first one of each launch does not join another one; that of the first launch may be
             * behind the opener */
            const int least = n - (n + FULL) / FULL;
            int joined = run_behind(s, type, there, k % 2, n, skew);
            if (t > 1 || skew > 1 || !are_all_direct)
                continue;
            for (int i = 1; i < TRIES && joined < least; i++)
                joined = run_behind(s, type, there, k % 2, n, skew);
            CHECK(joined >= least && joined < n);
        }
        memset(s->buf.copy, t, WINDOW / 2);
        mem_write(&s->buf.mem, 0, s->buf.copy, WINDOW / 2);
    }
    CHECK_MPI(MPI_Win_unlock_all(s->win));
    scene_check(s, "locks");
}

/* After operations that have joined each other, the first one waits for those to come. */
static void first_waits(struct scene *s, const MPI_Datatype * types)
{
    unsigned long long launches = 0, copies = 0;

    locks_get(s);
    for (int t = 0; rank == 0 && t < 6; t++) {
        const bool is_get = t % 2;
        for (int k = 0; k < 2; k++) {
            CHECK_MPI(MPI_Win_flush(1, s->win));
            for (int i = 0; i < TRIES && k == 0 && njoined() == 0; i++)
                run_behind(s, types[0], types[0], is_get, FULL / 2, 1);
            launches = report_variable("gpudt_launches");
            copies = report_variable("gpudt_copies");
            run(s, types[t / 2], types[0], is_get, FULL / 2, 1);
        }
        CHECK(!are_all_direct || report_variable("gpudt_launches") == launches);
        CHECK_MPI(MPI_Win_flush(1, s->win));
        CHECK(!are_all_direct || report_variable("gpudt_launches") == launches + 1);
        CHECK(!are_all_direct || report_variable("gpudt_copies") == copies);
    }
    /* A get of something else than a put, and one operation alone, which is launched at once */
    if (rank == 0) {
        run(s, types[0], types[0], false, FULL / 2, 1);
        run(s, types[1], types[0], true, FULL / 2, 5);
        CHECK_MPI(MPI_Win_flush_all(s->win));
        run(s, types[1], types[0], false, 1, 1);
        CHECK_MPI(MPI_Win_flush(1, s->win));
        launches = report_variable("gpudt_launches") + report_variable("gpudt_copies");
        run(s, types[1], types[0], false, 1, 1);
        CHECK(!are_all_direct || report_variable("gpudt_launches") +
              report_variable("gpudt_copies") == launches + 1);
    }
    CHECK_MPI(MPI_Win_unlock_all(s->win));
    scene_check(s, "operations that wait for others");
}

static void under_others(struct scene *s, const MPI_Datatype * types)
{
    const int all[MAX_RANKS] = { 0, 1, 2, 3 };
    MPI_Group world, origin, targets;

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, all, &origin);
    MPI_Group_incl(world, nranks - 1, all + 1, &targets);
    for (int i = 0; i < 12; i++) {
        const bool is_fence = i % 3 == 0, is_lock = i % 3 == 1;

        if (is_fence)
            CHECK_MPI(MPI_Win_fence(0, s->win));
        else if (!is_lock && rank == 0)
            CHECK_MPI(MPI_Win_start(targets, 0, s->win));
        else if (!is_lock)
            CHECK_MPI(MPI_Win_post(origin, 0, s->win));
        else if (rank == 0)
            CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, s->win));
        if (rank == 0) {
            opener(s, 1, i % 2);
            run(s, types[i % 5], types[(i + 1) % 5], i % 2, 20 + i, 1);
        }
        if (is_fence)
            CHECK_MPI(MPI_Win_fence(0, s->win));
        else if (!is_lock && rank == 0)
            CHECK_MPI(MPI_Win_complete(s->win));
        else if (!is_lock)
            CHECK_MPI(MPI_Win_wait(s->win));
        else if (rank == 0)
            CHECK_MPI(MPI_Win_unlock(1, s->win));
        scene_check(s, "other synchronizations");
    }
    MPI_Group_free(&world);
    MPI_Group_free(&origin);
    MPI_Group_free(&targets);
}

static void alike(void)
{
    MPI_Datatype types[NTYPES];
    struct scene s;

    types_make(types);
    scene_make(&s, WINDOW);
    under_locks(&s, types);
    first_waits(&s, types);
    under_others(&s, types);
    scene_free(&s);
    for (int i = 0; i < NTYPES; i++)
        MPI_Type_free(&types[i]);
}

/* ---- threads ---- */

static void *thread_run(void *arg)
{
    struct scene *s = arg;

    gpu_set_current(0);
    for (int i = 0; i < 60; i++) {
        opener(s, 1, i % 2);
        run(s, MPI_DOUBLE, MPI_DOUBLE, i % 2, 10 + i, 1);
        CHECK_MPI(MPI_Win_flush(1, s->win));
    }
    return NULL;
}

static void threads(void)
{
    static struct scene s[NTHREADS];
    pthread_t thread[NTHREADS];

    if (!report_may_thread(NULL))
        return;
    for (int i = 0; i < NTHREADS; i++) {
        scene_make(&s[i], WINDOW);
        locks_get(&s[i]);
    }
    for (int i = 0; rank == 0 && i < NTHREADS; i++)
        pthread_create(&thread[i], NULL, thread_run, &s[i]);
    for (int i = 0; rank == 0 && i < NTHREADS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < NTHREADS; i++) {
        CHECK_MPI(MPI_Win_unlock_all(s[i].win));
        scene_check(&s[i], "a thread's window");
        scene_free(&s[i]);
    }
}

int main(int argc, char **argv)
{
    static const struct report_case tests[] = {
        {"alike", alike}, {"changes", changes}, {"errors", errors}, {"threads", threads}
    };
    int provided;

    report_time_limit(120);
    MPI_Init_thread(NULL, NULL, argc > 1 && strcmp(argv[1], "threads") == 0 ?
                    MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    if (gpu_open() == 0 || nranks > MAX_RANKS)
        return 1;
    are_all_direct = mem_exists(MEM__OTHER_DEVICE) && nranks == 2;
    if (rank % 2 && mem_exists(MEM__OTHER_DEVICE))
        kind = MEM__OTHER_DEVICE;
    gpu_set_current(kind == MEM__OTHER_DEVICE);
    report_case_run(tests, sizeof(tests) / sizeof(tests[0]), argc > 1 ? argv[1] : NULL);
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
