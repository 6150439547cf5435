/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* One-sided operations that fail. Each driver call fails, in the origin or in the target, of an
 * epoch with one operation, and of what makes the window and frees it. Either process may get an
 * error: from the operation, from its request, from the end of the epoch or from MPI_Win_free,
 * which frees the window all the same. All is right if none gets one. Neither waits for ever or
 * ends, a new window works, and no memory is left. Or the memory of a window has been freed. Two
 * processes.
 *
 *     rma_faults once|on [SEED [ONE_IN]]   one call fails, or all from it on until the end of its
 *                             part of the window's life; of these runs one in so many. With an odd
 *                             seed each process has a GPU of its own. Emulated driver only
 *     rma_faults freed        the window's memory is freed while it is in use */

#include "scene.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CALLS 120
#define CODE 999                /* CUDA_ERROR_UNKNOWN */
#define LONG 70000              /* ints that do not fit into one buffer of ch3's */

void freed(void);

/* In which part of a window's life a call fails. */
enum phase { MAKE, EPOCH, FREE, NPHASES };

static const char *const phases[] = { "making", "an epoch", "freeing" };

static long times;
static unsigned seed = 1, one_in = 1;
static long nfired[NPHASES], nerrors, nruns, nlong;

/* ---- one run ---- */

/* The fault of a run. */
struct fault {
    int victim;                 /* the process */
    enum phase phase;
    long at;                    /* number of the call; 0: none */
};

static void arm(const struct fault *f, enum phase phase)
{
    if (f->at && rank == f->victim && f->phase == phase)
        gpu.emu_fail_set(NULL, f->at, CODE, times);
}

/* Adds up in which phase the call has failed. */
static void disarm(const struct fault *f, enum phase phase, int *fired)
{
    if (f->at && rank == f->victim && f->phase == phase) {
        *fired = gpu.emu_failed_count() > 0;
        gpu.emu_fail_set(NULL, 0, 0, 1);
    }
    /* what a failing driver could not wait for; it is freed soon */
    if (times == 0)
        CU(CtxSynchronize());
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Whether the text of an error names the driver's, unless that is too long for the text. */
static bool names_driver(int err)
{
    const char *text = report_mpi_text(err);

    return strstr(text, "CUDA") || strlen(text) > MPI_MAX_ERROR_STRING - 4;
}

/* An error is for the process whose call has failed. Only those of making a window are for all, and where
 * the data is a message, its other end learns that it does not come. */
static void error_check(const struct plan *plan, const struct fault *f, enum phase phase, int err)
{
    const bool is_all = phase == MAKE;
    const bool may_be_message = plan->kind != FETCH_AND_OP && plan->kind != COMPARE_AND_SWAP;

    if (err == MPI_SUCCESS)
        return;
    if (f->at == 0)
        report_fail("an error without a fault: %s", report_mpi_text(err));
    else if (rank != f->victim && !is_all &&
             !(may_be_message && strstr(report_mpi_text(err), "other process of a message")))
        report_fail("an error of the other process: %s", report_mpi_text(err));
    else if (rank == f->victim && !names_driver(err))
        report_fail("the error does not name the driver's: %s", report_mpi_text(err));
}

/* Make a window, use it and free it. Returns whether the call has failed. */
static int run(const struct plan *plan, const struct fault *f)
{
    int errs[NPHASES] = { 0 }, fired = 0, sums[2], before = report_failures;
    const long orphaned = gpu.emu_ipc_count("orphaned");
    const char *base = NULL;    /* of memory that MPI allocates */
    bool is_after = true;
    struct scene s;

    arm(f, MAKE);
    errs[MAKE] = scene_make(&s, plan);
    disarm(f, MAKE, &fired);
    sums[0] = errs[MAKE] != MPI_SUCCESS;
    MPI_Allreduce(MPI_IN_PLACE, sums, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    /* memory is attached by each process alone */
    if (sums[0] == 1 && plan->flavor != DYNAMIC)
        report_fail("only one process has a window: %s",
                    errs[MAKE] ? report_mpi_text(errs[MAKE]) : "this one");
    if (sums[0] == 0) {
        base = s.window.addr ? NULL : s.base;
        scene_fill(&s);
        arm(f, EPOCH);
        errs[EPOCH] = scene_epoch(&s);
        disarm(f, EPOCH, &fired);
        is_after = scene_check(&s);
    }
    arm(f, FREE);
    errs[FREE] = scene_free(&s);
    disarm(f, FREE, &fired);

    for (int phase = 0; phase < NPHASES; phase++)
        error_check(plan, f, phase, errs[phase]);
    sums[0] = errs[MAKE] || errs[EPOCH] || errs[FREE];
    sums[1] = fired;
    nerrors += sums[0];
    MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (sums[0] && !sums[1])
        report_fail("an error without a fault");
    if (sums[0] == 0 && !is_after)
        report_fail("wrong values without an error");
    /* a driver that goes on to fail frees nothing; of the program's memory, nobody tells the others */
    if (sums[0] == 0 && times && base && gpu.emu_ipc_count("orphaned") > orphaned)
        report_fail("memory that MPI has freed is mapped, without an error");
    if (sums[0] == 0 && times && base && gpu.emu_peek(base, 1))
        report_fail("MPI has not freed the window's memory, without an error");
    if (report_failures != before)
        fprintf(stderr,
                "... rank %d: %s window, %s, %s of %d elements; call %ld of %s fails in rank %d\n",
                rank, flavors[plan->flavor], syncs[plan->sync], kinds[plan->kind], plan->count,
                f->at, phases[f->phase], f->victim);
    nruns++;
    return sums[1];
}

/* ---- all runs ---- */

/* Each call of a phase fails, in one of so many runs, each with one after it on a new window. */
static void all_calls(const struct plan *plan, enum phase phase)
{
    static const struct fault none = {.at = 0 };
    static unsigned nth = 0;

    for (int victim = 0; victim < 2; victim++) {
        struct fault f = {.victim = victim,.phase = phase,.at = 1 };
        int fired = 1;

        for (nth++; fired && f.at <= MAX_CALLS; f.at++) {
            if (((unsigned) f.at + seed + nth) % one_in)
                continue;
            fired = run(plan, &f);
            nfired[phase] += fired;
            if (fired)
                run(plan, &none);
        }
        nlong += fired;
        if (fired && nlong == 1 && rank == 0)
            printf("more than %d calls of %s, %s window, %s, %s of %d elements, rank %d\n",
                   MAX_CALLS, phases[phase], flavors[plan->flavor], syncs[plan->sync],
                   kinds[plan->kind], plan->count, victim);
    }
}

/* How many objects of the driver the library may keep for later, at most: of memory four, and two for
 * accumulates by messages, of either length. */
static void kept_check(void)
{
    static const struct {
        const char *what;
        long most;
    } kept[] = {{"memory", 4 + 2 * 2}, {"host", 4}, {"event", 4}, {"stream", 8}, {"registration", 4}};

    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        if ((times || i > 0) && gpu.emu_live(kept[i].what) > kept[i].most)
            report_fail("%ld objects are left that are a %s", gpu.emu_live(kept[i].what),
                        kept[i].what);
    }
}

static void all_of_flavor(enum flavor flavor, MPI_Datatype type, int count)
{
    struct plan plan = {
        .flavor = flavor,.sync = LOCK_ALL,.kind = RPUT,.type = type,.count = count
    };
    static const struct fault none = {.at = 0 };

    /* a driver that cannot be initialized is not tried again */
    run(&plan, &none);
    all_calls(&plan, MAKE);
    all_calls(&plan, FREE);
    for (int sync = 0; sync < NSYNCS; sync++) {
        for (int kind = 0; kind < (sync < LOCK ? RPUT : NKINDS); kind++) {
            plan.sync = sync;
            plan.kind = kind;
            all_calls(&plan, EPOCH);
        }
    }
}

static bool is_one_node(void)
{
    MPI_Comm node;
    int n;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &n);
    MPI_Comm_free(&node);
    return n == 2;
}

static void faults(void)
{
    const int nflavors = is_one_node() ? NFLAVORS : SHARED;
    MPI_Datatype vector;

    MPI_Type_vector(3, 1, 2, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    if (seed % 2 && rank == 1 && mem_exists(MEM__OTHER_DEVICE))
        own_kind = MEM__OTHER_DEVICE;
    gpu_set_current(own_kind == MEM__OTHER_DEVICE);
    for (int flavor = 0; flavor < nflavors; flavor++) {
        all_of_flavor(flavor, MPI_INT, 1);
        all_of_flavor(flavor, vector, 4);
        all_of_flavor(flavor, MPI_INT, LONG);
    }
    if (rank == 0)
        printf("%ld runs, in which %ld calls of making, %ld of epochs and %ld of freeing have "
               "failed; %ld times not all calls, as they were more than %d\n", nruns,
               nfired[MAKE], nfired[EPOCH], nfired[FREE], nlong, MAX_CALLS);
    CHECK(nfired[EPOCH] > 0);
    CHECK(one_in > 1 || (nfired[MAKE] > 0 && nfired[FREE] > 0 && nerrors > 0));
    kept_check();
    MPI_Type_free(&vector);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    times = strcmp(argv[1], "on") == 0 ? 0 : 1;
    seed = argc > 2 ? (unsigned) atoi(argv[2]) : 0;
    one_in = argc > 3 ? (unsigned) atoi(argv[3]) : 1;
    report_time_limit(1500);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    if (strcmp(argv[1], "freed") == 0)
        freed();
    else if (gpu.is_emulated && one_in > 0)
        faults();
    else
        return 1;
    MPI_Finalize();
    return report_done();
}
