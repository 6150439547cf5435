/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Compares what the ways of messages between two GPUs cost (plan/gpudt_across.h) with what they
 * were measured to take: the cheapest way takes at most a tenth longer than the fastest one. And
 * checks what changes if there are other messages.
 *
 * Usage: gpudt_across FILE ..., the output of bench_ways with each way forced; of other types, only vectors
 * are looked at. */

#include "unit.h"
#include "plan/gpudt_across.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOLERANCE 1.1
#define SEGMENT (8 << 20)       /* MPIR_CVAR_GPUDT_DEVICE_CHUNK; twice that among others */
#define MAX_CASES 1000
#define SURE 1.3                /* ways that differ by this factor are in the right order */

enum { PULL, STAGED, PUSH, NWAYS };     /* in the order of gpudt_way.c: the first of equals */

static const char *const names[NWAYS] = { "pull", "staged", "push" };

/* One message. */
static struct message {
    char ends[16];
    int block, stride;
    long bytes;
    double us[NWAYS];           /* 0: not measured */
} messages[MAX_CASES];
static int nmessages;

static struct message *message_find(const char *ends, int block, int stride, long bytes)
{
    struct message *m;

    for (int i = 0; i < nmessages; i++) {
        m = &messages[i];
        if (strcmp(m->ends, ends) == 0 && m->block == block && m->stride == stride &&
            m->bytes == bytes)
            return m;
    }
    if (nmessages == MAX_CASES)
        abort();
    m = &messages[nmessages++];
    snprintf(m->ends, sizeof(m->ends), "%s", ends);
    m->block = block;
    m->stride = stride;
    m->bytes = bytes;
    return m;
}

static void file_read(const char *name)
{
    FILE *f = fopen(name, "r");
    char line[256], ends[16], way[16];
    int block, stride;
    long bytes;
    double us;

    UNIT_CHECK(f != NULL);
    while (f && fgets(line, sizeof(line), f)) {
        if (sscanf(line, "%15[^:]:alloc:%15[^:]:vector_%d_%d,%ld,%lf", ends, way, &block, &stride,
                   &bytes, &us) != 6 || block % 8 || stride % 8)
            continue;
        for (int w = 0; w < NWAYS; w++) {
            if (strcmp(way, names[w]) == 0)
                message_find(ends, block, stride, bytes)->us[w] = us;
        }
    }
    if (f)
        fclose(f);
}

/* What it costs to access one end, as gpudt_stage.c asks. */
static void end_find(const struct message *m, int is_typed, struct MPII_Gpudt_access *access)
{
    const int rows = (int) (m->bytes / m->block);
    struct MPII_Gpudt_serial serial;
    MPI_Datatype type;

    MPII_Gpudt_access_find(NULL, NULL, m->bytes, m->bytes, m->bytes, access);
    if (!is_typed)
        return;
    MPI_Type_vector(rows, m->block / 8, m->stride / 8, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    if (unit_serial(type, &serial)) {
        MPII_Gpudt_access_find(&serial, &serial.records[0], serial.true_extent, m->bytes, m->bytes,
                               access);
        MPII_Gpudt_serial_free(&serial);
    }
    MPI_Type_free(&type);
}

static void message_check(const struct message *m)
{
    struct MPII_Gpudt_access from, to;
    int64_t cost[NWAYS];
    int chosen = 0, fastest = 0;

    end_find(m, strncmp(m->ends, "typed-", 6) == 0, &from);
    end_find(m, strstr(m->ends, "-typed") != NULL, &to);
    cost[PULL] = MPII_Gpudt_pull_cost(from.read_across, &to);
    cost[STAGED] = MPII_Gpudt_stage_cost(m->bytes, SEGMENT, from.pack,
                                         strncmp(m->ends, "typed-", 6) == 0, 0);
    cost[STAGED] = MPII_Gpudt_stage_whole_cost(cost[STAGED], &to);
    cost[PUSH] = MPII_Gpudt_push_cost(from.read, &to);
    for (int w = 0; w < NWAYS; w++) {
        UNIT_CHECK(m->us[w] > 0);
        if (cost[w] < cost[chosen])
            chosen = w;
        if (m->us[w] < m->us[fastest])
            fastest = w;
    }
    if (m->us[chosen] > TOLERANCE * m->us[fastest])
        unit_fail("%s of vector %d/%d, %ld bytes: %s takes %.1f us, %s %.1f", m->ends, m->block,
                  m->stride, m->bytes, names[chosen], m->us[chosen], names[fastest],
                  m->us[fastest]);
    for (int w = 0; w < NWAYS; w++) {
        for (int v = 0; v < NWAYS; v++) {
            if (m->us[v] > SURE * m->us[w] && cost[v] <= cost[w])
                unit_fail("%s of vector %d/%d, %ld bytes: %s (%.1f us) costs less than %s (%.1f)",
                          m->ends, m->block, m->stride, m->bytes, names[v], m->us[v], names[w],
                          m->us[w]);
        }
    }
}

/* Bytes of a message from which on staging costs less than reading across.
 *   wasted  (IN)  what is read besides the message, as a multiple of it */
static int64_t stage_begin(double wasted, int nothers)
{
    int64_t n = 1 << 10;

    while (n < 1 << 30 && MPII_Gpudt_stage_cost(n, nothers ? 2 * SEGMENT : SEGMENT, 0, 1, nothers) >
           (int64_t) (wasted * n))
        n += n / 64;
    return n;
}

/* Among many messages staging pays off earlier than among few, but each keeps the processors busy. */
static void among_others(void)
{
    for (int wasted = 1; wasted <= 5; wasted += 2) {
        UNIT_CHECK(stage_begin(wasted, 63) <= stage_begin(wasted, 1));
        UNIT_CHECK(stage_begin(wasted, 63) * (1 + wasted) > 3 << 20);
    }
    UNIT_CHECK(stage_begin(1, 63) < 2 << 20);
    UNIT_CHECK(stage_begin(0.4, 0) > 16 << 20);
    UNIT_CHECK(stage_begin(0.4, 63) < 4 << 20);
    UNIT_CHECK(stage_begin(0, 63) > 512 << 20);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (int file = 1; file < argc; file++) {
        nmessages = 0;
        file_read(argv[file]);
        UNIT_CHECK(nmessages >= 35);
        for (int i = 0; i < nmessages; i++)
            message_check(&messages[i]);
    }
    UNIT_CHECK(argc > 2);
    among_others();
    MPI_Finalize();
    return unit_done();
}
