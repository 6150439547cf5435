/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The command line of bench_pt2pt. */

#define _POSIX_C_SOURCE 200112L  /* posix_memalign */

#include "bench_pt2pt_options.h"
#include <string.h>
#include "bench.h"

/* Words of a block are numbered in 32 bits. */
#define MAX_POINTS 500
#define MAX_VARIABLES 16

static const char *const measure_name[N_MEASURES] =
    { "pingpong", "bidir", "rate", "overlap", "limit", "window", "isend", "iprobe", "beside",
    "local", "bare", "halo26", "peers", "first"
};
const char *const place_name[N_PLACES] = { "host-host", "host-gpu", "gpu-host", "gpu-gpu" };

static const char usage_text[] =
    "usage: mpiexec -n N bench_pt2pt [options]; a LIST has commas between its entries\n"
    "  --measures LIST     with two ranks, of pingpong, bidir, rate, overlap, limit (default:\n"
    "                      these), window, isend, iprobe, beside, local, bare; with two or more,\n"
    "                      of halo26, peers, first (default with more: these)\n"
    "  --places LIST       memory of rank 0 and of rank 1: host-host, host-gpu, gpu-host, gpu-gpu\n"
    "                      (default: all but gpu-host; without a GPU: host-host)\n"
    "  --methods LIST      of datatype, kernel, kernel-gpu, copy2d, contiguous (default: all)\n"
    "  --label NAME        of the method datatype in the output, to tell runs apart\n"
    "  --types LIST        --list prints them (default: all)\n"
    "  --sizes LIST        bytes, also as 4K or 1M (default: 8,64,256,1K,4K,16K,64K,256K,1M,4M,\n"
    "                      16M,64M)\n"
    "  --gpus N            that the ranks are dealt out to (default: 2 where there are two, or as\n"
    "                      many as ranks)\n"
    "  --outstanding N     messages at once (default: 64 in window and rate, 400 to each peer in\n"
    "                      peers, 1000 in iprobe)\n"
    "  --points LIST       of a side of a rank's block in halo26 (default: 64,256)\n"
    "  --variables LIST    at each of its points (default: 1,3)\n"
    "  --repetitions N     of a case, at most (default 1000)\n"
    "  --milliseconds N    for a case, about (default 40)\n"
    "  --quick             all measures under load, few types, sizes and repetitions; what other\n"
    "                      options say comes after it\n"
    "  --chunk BYTES       how much the user's kernel packs at a time (default: tuned)\n"
    "  --corrupt WHAT      damage a byte of the data or of a guard, which must be seen\n"
    "  --verbose           say on stderr how the user's kernel was tuned\n"
    "exit status: 0 good, 1 wrong data arrived, 2 cannot run as asked\n";

/* Mark the entries of a list of names in taken; returns 0 if a name is unknown. */
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

/* The separators of a row may not be part of it. */
static int label_option(const char *text, struct options *opt)
{
    if (strlen(text) == 0 || strlen(text) >= MAX_LABEL || strpbrk(text, ":, \t"))
        return 0;
    strcpy(opt->label, text);
    return 1;
}

/* Messages are below 2 GiB, so that their bytes fit into an int. */
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

/* Parse a list of at most MAX_BLOCKS_LISTED small numbers. */
static int numbers_option(const char *text, int limit, int *number, int *n)
{
    char *end;

    for (*n = 0; *n < MAX_BLOCKS_LISTED; text = end + 1) {
        long value = strtol(text, &end, 10);

        if (end == text || value < 1 || value > limit)
            return 0;
        number[(*n)++] = (int) value;
        if (*end == '\0')
            return 1;
        if (*end != ',')
            return 0;
    }
    return 0;
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
    if (strcmp(name, "--label") == 0)
        return label_option(value, opt);
    if (strcmp(name, "--types") == 0)
        return names_option(value, shape_name, shape_count(), opt->type);
    if (strcmp(name, "--sizes") == 0)
        return sizes_option(value, opt);
    if (strcmp(name, "--gpus") == 0)
        return number_option(value, 64, &opt->gpus);
    if (strcmp(name, "--outstanding") == 0)
        return number_option(value, MAX_IMAGES, &opt->outstanding);
    if (strcmp(name, "--points") == 0)
        return numbers_option(value, MAX_POINTS, opt->points, &opt->n_points);
    if (strcmp(name, "--variables") == 0)
        return numbers_option(value, MAX_VARIABLES, opt->variables, &opt->n_variables);
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

/* Options for a short run of the measures under load. */
static void quick_take(struct options *opt, int n_ranks)
{
    int i;

    for (i = 0; i < N_MEASURES; i++)
        opt->measure[i] = (n_ranks == 2 || i >= MEASURES_OF_TWO) &&
            i != MEASURE__OVERLAP && i != MEASURE__LOCAL;
    opt->place[PLACE__GPU_HOST] = opt->place[PLACE__GPU_GPU];
    opt->place[PLACE__HOST_HOST] = !opt->place[PLACE__GPU_GPU];
    for (i = 0; i < N_METHODS; i++)
        opt->method[i] = i == METHOD__DATATYPE;
    names_option("contiguous,vector_8_16", shape_name, shape_count(), opt->type);
    sizes_option("8,64,1K,8K,64K,1M,4M,16M,64M", opt);
    opt->repetitions = 200;
    opt->milliseconds = 5;
    opt->least = 2;
}

void options_default(struct options *opt, int n_gpus, int n_ranks)
{
    int i;

    memset(opt, 0, sizeof(*opt));
    for (i = 0; i < N_MEASURES; i++)
        opt->measure[i] = n_ranks == 2 ? i <= MEASURE__LIMIT : i >= MEASURES_OF_TWO;
    opt->measure[MEASURE__LIMIT] = n_ranks == 2 && n_gpus > 0;
    for (i = 0; i < N_PLACES; i++)
        opt->place[i] = i == PLACE__HOST_HOST || (n_gpus > 0 && i != PLACE__GPU_HOST);
    for (i = 0; i < N_METHODS; i++)
        opt->method[i] = 1;
    for (i = 0; i < shape_count(); i++)
        opt->type[i] = 1;
    sizes_option("8,64,256,1K,4K,16K,64K,256K,1M,4M,16M,64M", opt);
    numbers_option("64,256", MAX_POINTS, opt->points, &opt->n_points);
    numbers_option("1,3", MAX_VARIABLES, opt->variables, &opt->n_variables);
    opt->gpus = n_gpus < 1 ? 1 : n_gpus < n_ranks ? n_gpus : n_ranks;
    opt->repetitions = 1000;
    opt->milliseconds = 40;
    opt->least = 5;
    strcpy(opt->label, method_name[METHOD__DATATYPE]);
    opt->exit_status = EXIT__CANNOT_RUN;
}

int options_outstanding(const struct options *opt, int otherwise)
{
    return opt->outstanding ? opt->outstanding : otherwise;
}

/* Whether there are enough ranks for the requested measures. */
static int ranks_suffice(const struct options *opt, int n_ranks)
{
    int i;

    for (i = 0; i < N_MEASURES; i++)
        if (opt->measure[i] && (n_ranks < 2 || (n_ranks > 2 && i < MEASURES_OF_TWO))) {
            fprintf(stderr, "bench_pt2pt: %d ranks; %s takes 2%s\n", n_ranks, measure_name[i],
                    i < MEASURES_OF_TWO ? "" : " or more");
            return 0;
        }
    return 1;
}

void options_parse(int argc, char *argv[], struct options *opt, int n_ranks)
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
        if (strcmp(argv[i], "--quick") == 0) {
            quick_take(opt, n_ranks);
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
    opt->run = ranks_suffice(opt, n_ranks);
    opt->exit_status = opt->run ? EXIT__GOOD : EXIT__CANNOT_RUN;
}
