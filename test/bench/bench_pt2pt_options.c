/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* See bench_pt2pt_options.h. */

#define _POSIX_C_SOURCE 200112L  /* posix_memalign */

#include "bench_pt2pt_options.h"
#include <string.h>
#include "bench.h"

static const char *const measure_name[N_MEASURES] =
    { "pingpong", "bidir", "rate", "overlap", "limit" };
const char *const place_name[N_PLACES] = { "host-host", "host-gpu", "gpu-host", "gpu-gpu" };

static const char usage_text[] =
    "usage: mpiexec -n 2 bench_pt2pt [options]; a LIST has commas between its entries\n"
    "  --measures LIST     of pingpong, bidir, rate, overlap, limit (default: all)\n"
    "  --places LIST       memory of rank 0 and of rank 1: host-host, host-gpu, gpu-host, gpu-gpu\n"
    "                      (default: all but gpu-host; without a GPU: host-host)\n"
    "  --methods LIST      of datatype, kernel, copy2d, contiguous (default: all)\n"
    "  --types LIST        --list prints them (default: all)\n"
    "  --sizes LIST        bytes, also as 4K or 1M (default: 8,64,256,1K,4K,16K,64K,256K,1M,4M,\n"
    "                      16M,64M)\n"
    "  --gpus N            1: both ranks on one GPU, 2: one each (default: 2 where there are two)\n"
    "  --repetitions N     of a case, at most (default 1000)\n"
    "  --milliseconds N    for a case, about (default 40)\n"
    "  --chunk BYTES       how much the user's kernel packs at a time (default: tuned)\n"
    "  --corrupt WHAT      damage a byte of the data or of a guard, which must be seen\n"
    "  --verbose           say on stderr how the user's kernel was tuned\n"
    "exit status: 0 good, 1 wrong data arrived, 2 cannot run as asked\n";

/* Marks the entries of a list of names in taken; returns 0 if a name is unknown. */
static int names_option(const char *text, const char *(*name_of) (int), int n, int *taken)
{
    size_t length;
    int i;

    memset(taken, 0, (size_t) n * sizeof(int));
    for (;; text += length + 1) {
        length = strcspn(text, ",");
        for (i = 0; i < n; i++)
            if (strlen(name_of(i)) == length && strncmp(text, name_of(i), length) == 0)
                break;
        if (i == n)
            return 0;
        taken[i] = 1;
        if (text[length] == '\0')
            return 1;
    }
}

static const char *measure_name_of(int i)
{
    return measure_name[i];
}

static const char *place_name_of(int i)
{
    return place_name[i];
}

static const char *method_name_of(int i)
{
    return method_name[i];
}

/* Messages are below 2 GiB, so that their bytes are an int. */
static int sizes_option(const char *text, struct options *opt)
{
    char *end;

    for (opt->n_sizes = 0; opt->n_sizes < MAX_SIZES; text = end + 1) {
        long value;

        errno = 0;
        value = strtol(text, &end, 10);
        if (errno || end == text || value < 1 || value > 1L << 30)
            return 0;
        if (*end == 'K' || *end == 'M')
            value <<= *end++ == 'K' ? 10 : 20;
        if (value < 8 || value > 1L << 30)
            return 0;
        opt->size[opt->n_sizes++] = value;
        if (*end == '\0')
            return 1;
        if (*end != ',')
            return 0;
    }
    return 0;
}

static int number_option(const char *text, long limit, int *number)
{
    *number = (int) bench_number(text, limit);
    return *number > 0;
}

/* Returns 0 if the value is bad, -1 if the name is unknown. */
static int option_take(const char *name, const char *value, struct options *opt)
{
    if (strcmp(name, "--measures") == 0)
        return names_option(value, measure_name_of, N_MEASURES, opt->measure);
    if (strcmp(name, "--places") == 0)
        return names_option(value, place_name_of, N_PLACES, opt->place);
    if (strcmp(name, "--methods") == 0)
        return names_option(value, method_name_of, N_METHODS, opt->method);
    if (strcmp(name, "--types") == 0)
        return names_option(value, shape_name, shape_count(), opt->type);
    if (strcmp(name, "--sizes") == 0)
        return sizes_option(value, opt);
    if (strcmp(name, "--gpus") == 0)
        return number_option(value, 2, &opt->gpus);
    if (strcmp(name, "--repetitions") == 0)
        return number_option(value, 1000000, &opt->repetitions);
    if (strcmp(name, "--chunk") == 0)
        return number_option(value, 1 << 30, &opt->chunk);
    if (strcmp(name, "--corrupt") == 0) {
        opt->corrupt = strcmp(value, "data") == 0 ? CORRUPT__DATA :
            strcmp(value, "guard") == 0 ? CORRUPT__GUARD : CORRUPT__NONE;
        return opt->corrupt != CORRUPT__NONE;
    }
    if (strcmp(name, "--milliseconds") == 0)
        return number_option(value, 600000, &opt->milliseconds);
    return -1;
}

void options_default(struct options *opt, int n_gpus)
{
    int i;

    memset(opt, 0, sizeof(*opt));
    for (i = 0; i < N_MEASURES; i++)
        opt->measure[i] = i != MEASURE__LIMIT || n_gpus > 0;
    for (i = 0; i < N_PLACES; i++)
        opt->place[i] = i == PLACE__HOST_HOST || (n_gpus > 0 && i != PLACE__GPU_HOST);
    for (i = 0; i < N_METHODS; i++)
        opt->method[i] = 1;
    for (i = 0; i < shape_count(); i++)
        opt->type[i] = 1;
    sizes_option("8,64,256,1K,4K,16K,64K,256K,1M,4M,16M,64M", opt);
    opt->gpus = n_gpus > 1 ? 2 : 1;
    opt->repetitions = 1000;
    opt->milliseconds = 40;
    opt->exit_status = EXIT__CANNOT_RUN;
}

void options_parse(int argc, char *argv[], struct options *opt)
{
    int i, t, taken;

    for (i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "--list") == 0) {
            if (argv[i][2] == 'h')
                fputs(usage_text, stdout);
            for (t = 0; argv[i][2] == 'l' && t < shape_count(); t++)
                puts(shape_name(t));
            opt->exit_status = EXIT__GOOD;
            return;
        }
        if (strcmp(argv[i], "--verbose") == 0) {
            opt->verbose = 1;
            continue;
        }
        taken = option_take(argv[i], i + 1 < argc ? argv[i + 1] : "", opt);
        if (taken <= 0) {
            fprintf(stderr, "bench_pt2pt: %s %s\n%s", taken < 0 ? "unknown option" :
                    "bad value of", argv[i], usage_text);
            return;
        }
        i++;
    }
    opt->run = 1;
    opt->exit_status = EXIT__GOOD;
}
