/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* What the process and the library hold. Must not know what the test does. */

#include "soak.h"

#include <dirent.h>
#include <stdio.h>

/* What pools and caches may have more at the end than at the beginning. */
#define MORE_PINNED (64 << 20)  /* bytes: MPIR_CVAR_GPUDT_PINNED_MAX */
#define MORE_DEVICE (160 << 20)  /* bytes: staging memory, some work areas, and datatypes */
#define MORE_TYPES 64           /* datatypes of other processes that are kept */
#define MAX_MAPPED 512          /* mapped allocations: MPIR_CVAR_GPUDT_IPC_MAX by default */
#define PER_MAPPED 4            /* shared mappings for each of them */
#define MORE_SHARED 64          /* others: of pools */
#define MORE_FILES 8            /* open files: pools of memory that is exported */
#define MORE_MEMORY 8           /* MiB: what the test itself and the emulated driver keep */

static int files_count(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    CHECK(dir != NULL);
    while (dir && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n;
}

/* Ranges of addresses with memory that others may share: of files, other processes, the driver. */
static int shared_count(void)
{
    char line[512], access[8];
    int n = 0;
    FILE *file = fopen("/proc/self/maps", "r");

    while (file && fgets(line, sizeof(line), file))
        n += sscanf(line, "%*s %7s", access) == 1 && access[3] == 's';
    if (file)
        fclose(file);
    CHECK(n > 0);
    return n;
}

static double memory_get(void)
{
    char line[256];
    long kib = 0;
    FILE *file = fopen("/proc/self/status", "r");

    while (file && fgets(line, sizeof(line), file))
        sscanf(line, "RssAnon: %ld", &kib);
    if (file)
        fclose(file);
    CHECK(kib > 0);
    return kib / 1024.0;
}

void state_get(struct state *state)
{
    state->pinned = report_variable("gpudt_pinned_bytes");
    state->device = report_variable("gpudt_device_bytes");
    state->types = report_variable("gpudt_cached_types");
    state->mapped = report_variable("gpudt_ipc_mapped");
    state->files = files_count();
    state->shared = shared_count();
    state->memory = memory_get();
}

void state_compare(const struct state *before, const struct state *after)
{
    const int mapped = after->mapped > before->mapped ? (int) (after->mapped - before->mapped) : 0;

    if (after->pinned > before->pinned + MORE_PINNED)
        report_fail("%llu bytes are pinned, %llu were", after->pinned, before->pinned);
    if (after->device > before->device + MORE_DEVICE)
        report_fail("%llu bytes of GPU memory are in use, %llu were", after->device,
                    before->device);
    if (after->types > before->types + MORE_TYPES)
        report_fail("%llu datatypes are in GPU memory, %llu were", after->types, before->types);
    if (after->mapped > MAX_MAPPED)
        report_fail("%llu allocations of other processes are mapped", after->mapped);
    if (after->shared > before->shared + PER_MAPPED * mapped + MORE_SHARED)
        report_fail("the process has %d shared mappings, it had %d", after->shared,
                    before->shared);
    if (after->files > before->files + MORE_FILES)
        report_fail("%d files are open, %d were", after->files, before->files);
    if (after->memory > before->memory + MORE_MEMORY)
        report_fail("the process has %.1f MiB of memory, it had %.1f", after->memory,
                    before->memory);
}
