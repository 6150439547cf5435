/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Fuzz test: random datatypes, counts, byte ranges, alignments and kinds of memory, packed,
 * unpacked and copied, compared with the oracle. Must not know what a case is.
 *
 *   --seed N          seed of the cases (1)
 *   --first N         number of the first case (0)
 *   --cases N         how many (1000)
 *   --from KIND       memory of sources; see gpu.c for the names (any)
 *   --to KIND         memory of destinations (any)
 *   --without KIND    never use such memory; may be repeated
 *   --way N           enum way (any)
 *   --keep-strategy   leave the engine's control variables alone, instead of drawing them
 *   --devices N       fail if there are fewer GPUs (1)
 *   --seconds S       start no further case after so many seconds (no limit) */

#include "fuzz.h"

#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHECK_ARENAS 1000       /* interval of cases after which whole arenas are compared */
#define CASE_SECONDS 60         /* time limit of a case, under any tool */
#define MAX_WRONG 5             /* wrong cases after which the test stops */

struct fuzz_opts fuzz_opts = { {-1, -1}, -1, 0 };

static uint64_t seed = 1, first_case = 0, ncases = 1000, ndone;
static double max_seconds = 1e9;
static struct timespec begin;
static int devices_needed = 1;
static struct fuzz_case now;

/* Print the case in progress; no clean exit is attempted. */
static void on_signal(int number)
{
    fprintf(stderr, "signal %d (%s) in\n", number, strsignal(number));
    case_print(&now);
    signal(number, SIG_DFL);
    raise(number);
}

static void usage(void)
{
    fprintf(stderr, "usage: fuzz [--seed N] [--first N] [--cases N] [--from KIND] [--to KIND] "
            "[--without KIND] [--way N] [--keep-strategy] [--devices N] [--seconds N]\n");
    exit(2);
}

static int kind_read(const char *name)
{
    enum mem_kind kind = mem_named(name);

    if (kind == MEM__NKINDS)
        usage();
    return kind;
}

static void options_read(int argc, char **argv)
{
    static const struct option options[] = {
        {"seed", required_argument, NULL, 's'}, {"first", required_argument, NULL, 'f'},
        {"cases", required_argument, NULL, 'c'}, {"from", required_argument, NULL, 'F'},
        {"to", required_argument, NULL, 'T'}, {"way", required_argument, NULL, 'w'},
        {"without", required_argument, NULL, 'W'},
        {"keep-strategy", no_argument, NULL, 'k'}, {"devices", required_argument, NULL, 'd'},
        {"seconds", required_argument, NULL, 'S'}, {NULL, 0, NULL, 0}
    };

    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (option) {
            case 's':
                seed = strtoull(optarg, NULL, 0);
                break;
            case 'f':
                first_case = strtoull(optarg, NULL, 0);
                break;
            case 'c':
                ncases = strtoull(optarg, NULL, 0);
                break;
            case 'F':
                fuzz_opts.only_kind[0] = kind_read(optarg);
                break;
            case 'T':
                fuzz_opts.only_kind[1] = kind_read(optarg);
                break;
            case 'W':
                mem_without(kind_read(optarg));
                break;
            case 'w':
                fuzz_opts.only_way = atoi(optarg);
                break;
            case 'k':
                fuzz_opts.keep_strategy = 1;
                break;
            case 'd':
                devices_needed = atoi(optarg);
                break;
            case 'S':
                max_seconds = atof(optarg);
                break;
            default:
                usage();
        }
    }
    if (optind != argc)
        usage();
}

static double seconds(void)
{
    struct timespec now_is;

    clock_gettime(CLOCK_MONOTONIC, &now_is);
    return (double) (now_is.tv_sec - begin.tv_sec) +
        1e-9 * (double) (now_is.tv_nsec - begin.tv_nsec);
}

static void cases_run(void)
{
    int nwrong = 0;

    while (ndone < ncases && nwrong < MAX_WRONG && seconds() < max_seconds) {
        alarm(CASE_SECONDS);
        case_draw(&now, seed, first_case + ndone);
        if (!case_run(&now)) {
            nwrong++;
            case_print(&now);
        }
        case_free(&now);
        if (++ndone % CHECK_ARENAS == 0)
            arenas_check();
    }
    alarm(CASE_SECONDS);
    arenas_check();
    if (ndone == 0)
        report_fail("no case was run");
}

int main(int argc, char **argv)
{
    static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM };
    int ndevices;

    options_read(argc, argv);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        signal(signals[i], on_signal);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    ndevices = gpu_open();
    if (ndevices < devices_needed) {
        fprintf(stderr, "%d GPUs, %d are needed\n", ndevices, devices_needed);
        return 1;
    }

    clock_gettime(CLOCK_MONOTONIC, &begin);
    gpu_peers_enable();
    gpu_set_current(0);
    arenas_make();
    cases_run();
    gpu_set_current(0);
    arenas_free();
    MPI_Finalize();
    printf("%lu cases from seed %lu, first %lu, in %.0f s\n", (unsigned long) ndone,
           (unsigned long) seed, (unsigned long) first_case, seconds());
    return report_done();
}
