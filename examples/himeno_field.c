/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The grid of the himeno example in host memory, and Jacobi's loop on the CPU. Must not know of
 * MPI. */

#include "himeno_point.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int field_alloc(const struct part *part, int iterations, struct grid *grid)
{
    float *base = malloc(part->n_points * N_ARRAYS * sizeof(float));

    grid->partial = NULL;
    grid->residual = malloc((size_t) iterations * sizeof(double));
    if (!base || !grid->residual) {
        free(base);
        free(grid->residual);
        grid->a[0] = NULL;
        return 0;
    }
    grid_place(part, base, grid);
    return 0;
}

static void field_free(struct grid *grid)
{
    free(grid->a[0]);
    free(grid->residual);
}

static int field_fill(const struct part *part, const struct grid *grid, int values)
{
    int i, j, k;

    for (i = 0; i < part->whole[0]; i++)
        for (j = 0; j < part->owned[0] + 2; j++)
            for (k = 0; k < part->owned[1] + 2; k++)
                point_fill(part, grid, values, i, j, k);
    return 0;
}

/* Computes the points of a box; returns their part of the residual. */
static double box_step(const struct part *part, const struct grid *grid, const struct box *box)
{
    double residual = 0.0;
    int i, j, k;

    for (i = 1; i < part->whole[0] - 1; i++)
        for (j = box->first[0]; j <= box->last[0]; j++)
            for (k = box->first[1]; k <= box->last[1]; k++)
                if (point_is_computed(part, j, k))
                    residual += point_step(part, grid, i, j, k);
    return residual;
}

static int field_step(const struct part *part, const struct grid *grid, int iteration)
{
    struct box whole = box_whole(part);

    grid->residual[iteration] = box_step(part, grid, &whole);
    return 0;
}

static int field_begin(const struct part *part, const struct grid *grid, int iteration)
{
    struct box box[N_BOXES];
    int n = boxes_split(part, box);

    grid->residual[iteration] = 0.0;
    while (--n > 0)
        grid->residual[iteration] += box_step(part, grid, &box[n]);
    return 0;
}

static int field_end(const struct part *part, const struct grid *grid, int iteration)
{
    struct box box[N_BOXES];

    boxes_split(part, box);
    grid->residual[iteration] += box_step(part, grid, &box[0]);
    return 0;
}

/* Everything is complete already. */
static int field_wait(const struct grid *grid)
{
    (void) grid;
    return 0;
}

static int field_residuals(const struct grid *grid, int n, double *to)
{
    memcpy(to, grid->residual, (size_t) n * sizeof(double));
    return 0;
}

static int field_pressure(const struct part *part, const struct grid *grid, float *to)
{
    memcpy(to, grid->pressure, part->n_points * sizeof(float));
    return 0;
}

static int field_corrupt(const struct part *part, const struct grid *grid)
{
    float *value = grid->pressure + part->row + 1;
    uint32_t bits;

    memcpy(&bits, value, sizeof(bits));
    bits ^= 1;
    memcpy(value, &bits, sizeof(bits));
    return 0;
}

const struct memory host_memory = {
    .name = "host memory",
    .alloc = field_alloc,
    .free = field_free,
    .fill = field_fill,
    .step = field_step,
    .step_begin = field_begin,
    .step_end = field_end,
    .wait = field_wait,
    .residuals = field_residuals,
    .pressure = field_pressure,
    .corrupt = field_corrupt
};
