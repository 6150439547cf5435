/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The command line of the halo3d example. Only rank 0 parses it, so that all ranks use the same
 * options. Must not know of MPI. */

#include "halo3d.h"
#include "example_options.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage_text[] =
    "usage: halo3d [options], started by mpiexec on one or more ranks\n"
    "  --size NX[,NY,NZ]   points of each rank's block (default 128; one number: a cube)\n"
    "  --radius R          points of halo on each side (default 1)\n"
    "  --elements K        doubles of a point (default 1)\n"
    "  --iterations N      timed exchanges (default 50)\n"
    "  --halo messages|put exchange by messages, or by MPI_Put into the neighbours' fields\n"
    "                      (default messages)\n"
    "  --memory host|gpu   where the fields are (default: on GPUs if every rank has one)\n"
    "  --corrupt[=WHAT]    damage one value before the check, which must then fail;\n"
    "                      WHAT is halo (default), interior or guard\n"
    "  --help              this text\n"
    "exit status: 0 all values correct, 1 wrong values, 2 cannot run as asked\n";

static int size_option(const char *text, int size[N_DIMS])
{
    int xyz[N_DIMS];

    if (list_option(text, 1, 1, xyz))
        xyz[1] = xyz[2] = xyz[0];
    else if (!list_option(text, 1, N_DIMS, xyz))
        return 0;
    /* x is first on the command line and last in memory */
    size[0] = xyz[2];
    size[1] = xyz[1];
    size[2] = xyz[0];
    return 1;
}

static int corrupt_option(const char *text, int *corrupt)
{
    if (text == NULL || strcmp(text, "halo") == 0)
        *corrupt = CORRUPT__HALO;
    else if (strcmp(text, "interior") == 0)
        *corrupt = CORRUPT__INTERIOR;
    else if (strcmp(text, "guard") == 0)
        *corrupt = CORRUPT__GUARD;
    else
        return 0;
    return 1;
}

/* Parses one option with its value from arg[0], or from arg[0] and arg[1] (NULL at the end).
 * Returns the number of words used, or 0 after printing an error. */
static int option_take(char *arg[], struct options *opt)
{
    const char *value = strchr(arg[0], '=');
    size_t length = value ? (size_t) (value - arg[0]) : strlen(arg[0]);
    int words = 1, good;

#define NAME_IS(name_) (length == strlen(name_) && strncmp(arg[0], name_, length) == 0)
    if (value)
        value++;
    if (NAME_IS("--corrupt")) {
        good = corrupt_option(value, &opt->corrupt);
    } else if (NAME_IS("--size") || NAME_IS("--radius") || NAME_IS("--elements") ||
               NAME_IS("--iterations") || NAME_IS("--memory") || NAME_IS("--halo")) {
        if (!value) {
            value = arg[1];
            words = 2;
        }
        if (!value) {
            fprintf(stderr, "halo3d: %s needs a value\n", arg[0]);
            return 0;
        }
        good = NAME_IS("--size") ? size_option(value, opt->size) :
            NAME_IS("--radius") ? list_option(value, 1, 1, &opt->radius) :
            NAME_IS("--memory") ? memory_option(value, &opt->memory) :
            NAME_IS("--halo") ? halo_option(value, &opt->halo) :
            NAME_IS("--elements") ? list_option(value, 1, 1, &opt->elements) :
            list_option(value, 1, 1, &opt->iterations);
    } else {
        fprintf(stderr, "halo3d: unknown option %s\n%s", arg[0], usage_text);
        return 0;
    }
#undef NAME_IS
    if (!good) {
        fprintf(stderr, "halo3d: bad value in '%s%s%s'; --help tells what is allowed\n", arg[0],
                words == 2 ? " " : "", words == 2 ? value : "");
        return 0;
    }
    return words;
}

/* Whether blocks of this size are possible; prints an error if not. */
static int options_fit(const struct options *opt)
{
    /* guards and array are one allocation, whose size must also fit into MPI_Aint */
    size_t limit = PTRDIFF_MAX / sizeof(double) - 2 * GUARD_COUNT;
    size_t n_values = (size_t) opt->elements;
    int d;

    for (d = N_DIMS - 1; d >= 0; d--) {
        size_t outer = (size_t) opt->size[d] + 2 * (size_t) opt->radius;

        if (opt->radius > opt->size[d]) {
            fprintf(stderr, "halo3d: radius %d is larger than the block, which has %d points in "
                    "%c\n", opt->radius, opt->size[d], "zyx"[d]);
            return 0;
        }
        if (outer > INT_MAX) {
            fprintf(stderr, "halo3d: %zu points in %c with the halo: a subarray type takes %d\n",
                    outer, "zyx"[d], INT_MAX);
            return 0;
        }
        if (n_values > limit / outer) {
            fprintf(stderr, "halo3d: the block is too large to be addressed\n");
            return 0;
        }
        n_values *= outer;
    }
    return 1;
}

void options_parse(int argc, char *argv[], struct options *opt)
{
    int i, words;

    opt->run = 0;
    for (i = 1; i < argc; i += words) {
        if (strcmp(argv[i], "--help") == 0) {
            fputs(usage_text, stdout);
            opt->exit_status = EXIT__GOOD;
            return;
        }
        words = option_take(&argv[i], opt);
        if (words == 0) {
            opt->exit_status = EXIT__CANNOT_RUN;
            return;
        }
    }
    opt->run = options_fit(opt);
    opt->exit_status = opt->run ? EXIT__GOOD : EXIT__CANNOT_RUN;
}
