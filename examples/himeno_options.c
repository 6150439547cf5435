/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The command line of the himeno example. Only rank 0 parses it, so that all ranks use the same
 * options. Must not know of MPI. */

#include "himeno.h"
#include "example_options.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage_text[] =
    "usage: himeno [options], started by mpiexec on one or more ranks\n"
    "  --size SIZE         XS, S, M, L, XL as in the Himeno benchmark, or I,J,K points\n"
    "                      (default M: 128,128,256)\n"
    "  --grid J,K          ranks in j and in k (default: chosen by MPI)\n"
    "  --iterations N      timed iterations (default 100)\n"
    "  --check N           iterations compared with a single-rank run first (default 4; 0: none)\n"
    "  --overlap           exchange the halo while the GPU computes points that do not need it\n"
    "  --halo messages|put exchange by messages, or by MPI_Put into the neighbours' arrays\n"
    "                      (default messages)\n"
    "  --memory host|gpu   where the arrays are (default: on GPUs if every rank has one)\n"
    "  --corrupt           damage one value before it is compared, which must be seen\n"
    "  --help              this text\n"
    "exit status: 0 good, 1 wrong values, 2 cannot run as asked\n";

static const struct {
    const char *name;
    int size[N_DIMS];
} sizes[] = {
    {"XS", {32, 32, 64}},
    {"S", {64, 64, 128}},
    {"M", {128, 128, 256}},
    {"L", {256, 256, 512}},
    {"XL", {512, 512, 1024}}
};

static int size_option(const char *text, int size[N_DIMS])
{
    size_t i;

    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        if (strcmp(text, sizes[i].name) == 0) {
            memcpy(size, sizes[i].size, sizeof(sizes[i].size));
            return 1;
        }
    return list_option(text, 3, N_DIMS, size);
}

/* Parses an option with a value. Returns 1; 0 if the value is bad; -1 if the name is unknown. */
static int option_take(const char *name, const char *value, struct options *opt)
{
    if (strcmp(name, "--size") == 0)
        return size_option(value, opt->size);
    if (strcmp(name, "--grid") == 0)
        return list_option(value, 1, N_CUT, opt->grid);
    if (strcmp(name, "--iterations") == 0)
        return list_option(value, 1, 1, &opt->iterations);
    if (strcmp(name, "--check") == 0)
        return list_option(value, 0, 1, &opt->check);
    if (strcmp(name, "--memory") == 0)
        return memory_option(value, &opt->memory);
    if (strcmp(name, "--halo") == 0)
        return halo_option(value, &opt->halo);
    return -1;
}

/* Whether a domain of this size is possible, even on one rank; prints an error if not. */
static int options_fit(const struct options *opt)
{
    /* points of a plane are counted in an int, bytes of all arrays in a size_t */
    long long plane = (opt->size[1] + 2LL) * (opt->size[2] + 2LL);
    long long floats = PTRDIFF_MAX / (long long) sizeof(float);

    if (plane > INT_MAX || opt->size[0] > floats / N_ARRAYS / plane) {
        fprintf(stderr, "himeno: %d x %d x %d points are too many\n", opt->size[0], opt->size[1],
                opt->size[2]);
        return 0;
    }
    if (opt->corrupt && opt->check == 0) {
        fprintf(stderr, "himeno: --corrupt with --check 0: nobody would see it\n");
        return 0;
    }
    return 1;
}

void options_parse(int argc, char *argv[], struct options *opt)
{
    int i, taken;

    opt->run = 0;
    opt->exit_status = EXIT__CANNOT_RUN;
    for (i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            fputs(usage_text, stdout);
            opt->exit_status = EXIT__GOOD;
            return;
        }
        if (strcmp(argv[i], "--corrupt") == 0) {
            opt->corrupt = 1;
            continue;
        }
        if (strcmp(argv[i], "--overlap") == 0) {
            opt->overlap = 1;
            continue;
        }
        taken = option_take(argv[i], i + 1 < argc ? argv[i + 1] : "", opt);
        if (taken < 0) {
            fprintf(stderr, "himeno: unknown option %s\n%s", argv[i], usage_text);
            return;
        }
        if (taken == 0) {
            fprintf(stderr, "himeno: bad value in '%s %s'; --help tells what is allowed\n", argv[i],
                    i + 1 < argc ? argv[i + 1] : "");
            return;
        }
        i++;
    }
    opt->run = options_fit(opt);
    opt->exit_status = opt->run ? EXIT__GOOD : EXIT__CANNOT_RUN;
}
