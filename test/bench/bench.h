/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Sample statistics and the CSV row that the host benchmarks share and compare-pingpong reads. Must
 * not know what is measured. */

#ifndef BENCH_H_INCLUDED
#define BENCH_H_INCLUDED

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Allocate memory with the same offset in pages in every run, independent of the library's
 * allocations: copies between addresses with similar low 12 bits are up to a half slower.
 *   bytes  (IN)  size
 *   skew   (IN)  offset from a multiple of 2 MiB; different for each buffer
 * Returns NULL on failure; to be freed by bench_free. */
static inline void *bench_alloc(size_t bytes, size_t skew)
{
    void *mem;

    if (posix_memalign(&mem, (size_t) 2 << 20, bytes + skew))
        return NULL;
    memset(mem, 0, bytes + skew);
    return (char *) mem + skew;
}

static inline void bench_free(void *mem, size_t skew)
{
    if (mem)
        free((char *) mem - skew);
}

static inline int bench_compare(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

/* The given quantile (0 to 1) of n sorted samples, interpolated. */
static inline double bench_quantile(const double *sorted, int n, double part)
{
    double place = part * (n - 1);
    int below = (int) place;

    if (below + 1 >= n)
        return sorted[n - 1];
    return sorted[below] + (place - below) * (sorted[below + 1] - sorted[below]);
}

static inline void bench_header(const char *value_name)
{
    printf("type,bytes,%s,min,p90,MB/s\n", value_name);
}

/* Print one case from n samples in seconds (sorted here); bytes 0: no rate. */
static inline void bench_row(const char *type, long long bytes, double *seconds, int n)
{
    double median;

    qsort(seconds, (size_t) n, sizeof(double), bench_compare);
    median = bench_quantile(seconds, n, 0.5);
    printf("%s,%lld,%.4f,%.4f,%.4f,%.1f\n", type, bytes, median * 1e6, seconds[0] * 1e6,
           bench_quantile(seconds, n, 0.9) * 1e6, median > 0 ? (double) bytes / median / 1e6 : 0.0);
    fflush(stdout);
}

/* Parse a positive integer up to limit; returns 0 if text is none. */
static inline long bench_number(const char *text, long limit)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(text, &end, 10);
    if (errno || end == text || *end != '\0' || value < 1 || value > limit)
        return 0;
    return value;
}

/* Parse the options of the benchmarks of host memory: sizes in bytes and the most samples of a case. Returns
 * whether they are right. */
static inline int bench_options(int argc, char **argv, int *min, int *max, int *most)
{
    for (int i = 1; i < argc; i += 2) {
        int *number = strcmp(argv[i], "--min") == 0 ? min : strcmp(argv[i], "--max") == 0 ? max :
            strcmp(argv[i], "--repetitions") == 0 ? most : NULL;

        if (!number || i + 1 == argc || !(*number = (int) bench_number(argv[i + 1], 1 << 26)))
            return 0;
    }
    return 1;
}

#endif /* BENCH_H_INCLUDED */
