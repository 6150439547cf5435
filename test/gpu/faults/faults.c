/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Fault injection: lets every driver call of a transfer fail, one after the other. Each attempt is
 * a process of its own, so that a crash, a hang or a leak belongs to one attempt. Emulated driver
 * only. Expected: an MPI error with the driver's text, or the right bytes; no other bytes written;
 * no leaks; the next transfer works, unless the context is broken.
 *
 *   --only TEXT   scenarios with this in their name
 *   --at N        the Nth call only, and show it
 *   --kind N      this kind of fault only (number in the table of kinds below)
 *   --jobs N      processes at a time (2)
 *   --one-in N    one call in N, the seed tells which ones (1: all)
 *   --seed S */

#include "faults.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRY_SECONDS 30
#define MAX_JOBS 16

/* Kinds of failing calls, and the state before. */
static const struct kind {
    const char *name;
    const char *error;          /* the driver's name of it */
    int code;
    long times;                 /* number of failing calls; 0: all from the Nth on */
    int is_sticky;              /* the context becomes unusable */
    int is_warm;                /* a transfer has succeeded before */
} kinds[] = {
    {"first use, unknown error", "CUDA_ERROR_UNKNOWN", CUDA_ERROR_UNKNOWN, 1, 0, 0},
    {"first use, out of memory", "CUDA_ERROR_OUT_OF_MEMORY", CUDA_ERROR_OUT_OF_MEMORY, 1, 0, 0},
    {"first use, all calls fail", "CUDA_ERROR_UNKNOWN", CUDA_ERROR_UNKNOWN, 0, 0, 0},
    {"first use, context breaks", "CUDA_ERROR_ILLEGAL_ADDRESS", CUDA_ERROR_ILLEGAL_ADDRESS, 1, 1,
     0},
    {"later, unknown error", "CUDA_ERROR_UNKNOWN", CUDA_ERROR_UNKNOWN, 1, 0, 1},
    {"later, out of memory", "CUDA_ERROR_OUT_OF_MEMORY", CUDA_ERROR_OUT_OF_MEMORY, 1, 0, 1},
    {"later, all calls fail", "CUDA_ERROR_UNKNOWN", CUDA_ERROR_UNKNOWN, 0, 0, 1},
    {"later, context breaks", "CUDA_ERROR_ILLEGAL_ADDRESS", CUDA_ERROR_ILLEGAL_ADDRESS, 1, 1, 1}
};
#define NKINDS ((int) (sizeof(kinds) / sizeof(kinds[0])))

struct job {
    pid_t pid;                  /* 0: free */
    const struct scenario *scenario;
    const struct kind *kind;
    long at;
};

static struct job jobs[MAX_JOBS];
static int max_jobs = 2, only_kind = -1;
static long only_at, one_in = 1, seed;
static const char *only_name = "";
static long ntries, nwrong;

/* Written by the attempt without a fault: calls of the transfer. */
static long *calls_total;

/* ---- in the process of an attempt ---- */

static void environment_set(const struct scenario *scenario, const struct kind *kind)
{
    for (int i = 0; i < SCENARIO_MAX_ENV && scenario->env[i]; i++)
        putenv((char *) scenario->env[i]);
    setenv("EMU_DEVICES", "2", 1);
    setenv("EMU_DELAY_US", "20", 1);
    setenv("EMU_FAIL_STICKY", kind->is_sticky ? "1" : "0", 1);
}

/* Check the result of a transfer during which a call may have failed. */
static void outcome_check(struct transfer *t, int err, const struct kind *kind)
{
    long nfailed = gpu.emu_failed_count();

    if (only_at)
        fprintf(stderr, "call %ld of %ld: %s\n", only_at, gpu.emu_call_count(),
                err ? report_mpi_text(err) : nfailed ? "worked all the same" : "no such call yet");
    if (err && nfailed == 0)
        report_fail("no call failed, but: %s", report_mpi_text(err));
    if (err && strstr(report_mpi_text(err), kind->error) == NULL)
        report_fail("the message lacks %s: %s", kind->error, report_mpi_text(err));
    transfer_check(t, err != MPI_SUCCESS);
}

/* One attempt in a process of its own; at 0 lets nothing fail, and counts. */
static int try_run(const struct scenario *scenario, const struct kind *kind, long at)
{
    struct transfer t;
    int err;
    long ncalls, nfailed;

    report_time_limit(TRY_SECONDS);
    environment_set(scenario, kind);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (gpu_open() != 2 || !gpu.is_emulated) {
        fprintf(stderr, "faults needs the emulated driver\n");
        return 3;
    }
    gpu_peers_enable();
    gpu_set_current(0);
    transfer_make(&t, scenario);
    if (kind->is_warm) {
        transfer_fill(&t, 1);
        CHECK_MPI(transfer_run(&t));
        transfer_check(&t, 0);
    }

    transfer_fill(&t, 2);
    gpu.emu_fail_set(NULL, at, kind->code, kind->times);
    err = transfer_run(&t);
    ncalls = gpu.emu_call_count();
    outcome_check(&t, err, kind);
    nfailed = gpu.emu_failed_count();

    gpu.emu_fail_set(NULL, 0, 0, 0);
    if (nfailed > 0) {
        transfer_fill(&t, 3);
        err = transfer_run(&t);
        if (err && !kind->is_sticky)
            report_fail("the next transfer fails: %s", report_mpi_text(err));
        transfer_check(&t, err != MPI_SUCCESS);
    }
    transfer_free(&t);
    MPI_Finalize();
    *calls_total = ncalls;
    if (gpu.emu_live(NULL) != 0)
        report_fail("left over: %ld memory, %ld host, %ld registrations, %ld streams, %ld events, "
                    "%ld modules, %ld contexts", gpu.emu_live("memory"), gpu.emu_live("host"),
                    gpu.emu_live("registration"), gpu.emu_live("stream"), gpu.emu_live("event"),
                    gpu.emu_live("module"), gpu.emu_live("context"));
    return report_failures ? 1 : 0;
}

/* ---- in the parent ---- */

static void job_end(struct job *job, int status)
{
    ntries++;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        nwrong++;
        fprintf(stderr, "FAILED: %s, %s, call %ld: ", job->scenario->name, job->kind->name,
                job->at);
        if (WIFSIGNALED(status))
            fprintf(stderr, "signal %d (%s)\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
        else
            fprintf(stderr, "exit status %d\n", WEXITSTATUS(status));
        fprintf(stderr, "  again: faults --only '%s' --kind %d --at %ld\n", job->scenario->name,
                (int) (job->kind - kinds), job->at);
    }
    job->pid = 0;
}

static void job_wait(void)
{
    int status;
    pid_t pid = wait(&status);

    for (int i = 0; i < max_jobs; i++) {
        if (jobs[i].pid == pid)
            job_end(&jobs[i], status);
    }
}

static int jobs_busy(void)
{
    int n = 0;

    for (int i = 0; i < max_jobs; i++)
        n += jobs[i].pid != 0;
    return n;
}

static void job_start(const struct scenario *scenario, const struct kind *kind, long at)
{
    struct job *job = jobs;

    if (jobs_busy() == max_jobs)
        job_wait();
    while (job->pid)
        job++;
    job->scenario = scenario;
    job->kind = kind;
    job->at = at;
    fflush(NULL);
    job->pid = fork();
    if (job->pid == 0)
        exit(try_run(scenario, kind, at));
    if (job->pid < 0) {
        perror("fork");
        exit(3);
    }
}

static void scenario_try(const struct scenario *scenario, const struct kind *kind)
{
    long before = nwrong;

    /* processes with a fault make the same calls up to it */
    *calls_total = 0;
    job_start(scenario, kind, 0);
    while (jobs_busy())
        job_wait();
    if (nwrong == before && *calls_total == 0) {
        fprintf(stderr, "FAILED: %s makes no driver call\n", scenario->name);
        nwrong++;
    }
    for (long at = 1, last = *calls_total; at <= last; at++) {
        if (only_at ? only_at == at : (at + seed + (kind - kinds)) % one_in == 0)
            job_start(scenario, kind, at);
    }
    while (jobs_busy())
        job_wait();
}

static void options_read(int argc, char **argv)
{
    static const struct option options[] = {
        {"only", required_argument, NULL, 'o'}, {"at", required_argument, NULL, 'a'},
        {"kind", required_argument, NULL, 'k'}, {"jobs", required_argument, NULL, 'j'},
        {"one-in", required_argument, NULL, 'i'}, {"seed", required_argument, NULL, 's'},
        {NULL, 0, NULL, 0}
    };

    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 'o')
            only_name = optarg;
        else if (option == 'a')
            only_at = atol(optarg);
        else if (option == 'k')
            only_kind = atoi(optarg);
        else if (option == 'j')
            max_jobs = atoi(optarg);
        else if (option == 'i')
            one_in = atol(optarg);
        else if (option == 's')
            seed = atol(optarg);
        else
            optind = argc + 1;
    }
    if (optind != argc || max_jobs < 1 || max_jobs > MAX_JOBS || only_kind >= NKINDS ||
        one_in < 1 || seed < 0) {
        fprintf(stderr, "usage: faults [--only TEXT] [--at N] [--kind N] [--jobs N] "
                "[--one-in N] [--seed S]\n");
        exit(2);
    }
}

int main(int argc, char **argv)
{
    const struct scenario *scenario;

    options_read(argc, argv);
    calls_total = mmap(NULL, sizeof(*calls_total), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (calls_total == MAP_FAILED) {
        perror("mmap");
        return 3;
    }
    for (int i = 0; (scenario = scenario_get(i)) != NULL; i++) {
        if (strstr(scenario->name, only_name) == NULL)
            continue;
        for (int k = 0; k < NKINDS; k++) {
            if (only_kind < 0 || only_kind == k)
                scenario_try(scenario, &kinds[k]);
        }
    }
    printf("%ld tries, %ld of them wrong\n", ntries, nwrong);
    if (nwrong == 0 && ntries > 0)
        printf(" No Errors\n");
    return nwrong > 0 || ntries == 0;
}
