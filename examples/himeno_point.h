/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The computation of the himeno example at one point, and initial values: for the host (C) and for
 * the GPU's kernels (CUDA C). Must not know where the arrays are. */

#ifndef HIMENO_POINT_H_INCLUDED
#define HIMENO_POINT_H_INCLUDED

#include "himeno.h"
#include <math.h>

#ifdef __CUDACC__
#define FOR_BOTH __host__ __device__ static inline
#else
#define FOR_BOTH static inline
#endif

#define OMEGA 0.8f              /* relaxation factor */

/* Assigns the arrays to the allocation that starts at base. */
FOR_BOTH void grid_place(const struct part *part, float *base, struct grid *grid)
{
    size_t n = part->n_points;
    int m;

    for (m = 0; m < 4; m++)
        grid->a[m] = base + n * (size_t) m;
    for (m = 0; m < 3; m++) {
        grid->b[m] = base + n * (size_t) (4 + m);
        grid->c[m] = base + n * (size_t) (7 + m);
    }
    grid->bound = base + n * 10;
    grid->work = base + n * 11;
    grid->pressure = base + n * 12;
    grid->next = base + n * 13;
}

/* A number from 0 to 1 that differs from point to point and from array to array. */
FOR_BOTH float varied(size_t point, int array)
{
    unsigned int mix = (unsigned int) point * 2654435761u + (unsigned int) array * 2246822519u;

    mix ^= mix >> 15;
    mix *= 2654435761u;
    return (float) (mix >> 16) / 65536.0f;
}

/* Writes all arrays at a local point; j and k count from the halo. */
FOR_BOTH void point_fill(const struct part *part, const struct grid *grid, int values, int i, int j,
                         int k)
{
    size_t at = (size_t) i * (size_t) part->plane + (size_t) (j * part->row + k);
    size_t point = ((size_t) i * (size_t) part->whole[1] + (size_t) (part->first[0] + j)) *
        (size_t) part->whole[2] + (size_t) (part->first[1] + k);
    float scale = values == VALUES__VARIED ? 0.1f : 0.0f;
    float p = (float) i * (float) i / (float) (part->whole[0] - 1) / (float) (part->whole[0] - 1);
    int is_halo = j == 0 || j > part->owned[0] || k == 0 || k > part->owned[1];
    int m;

    for (m = 0; m < 3; m++) {
        grid->a[m][at] = 1.0f + scale * varied(point, m);
        grid->b[m][at] = scale * varied(point, 4 + m);
        grid->c[m][at] = 1.0f - scale * varied(point, 7 + m);
    }
    grid->a[3][at] = (1.0f + scale * varied(point, 3)) / 6.0f;
    grid->bound[at] = 1.0f - scale * varied(point, 10);
    grid->work[at] = scale * varied(point, 11);
    grid->pressure[at] = grid->next[at] = is_halo ? NAN : p + scale * varied(point, 12);
}

/* Jacobi's change of the pressure at a point, by the 19-point stencil of the Himeno benchmark. */
FOR_BOTH float point_change(const struct part *part, const struct grid *grid, size_t at)
{
    const size_t i = (size_t) part->plane, j = (size_t) part->row, k = 1;
    float sum = grid->work[at];

    sum += grid->a[0][at] * grid->pressure[at + i] + grid->c[0][at] * grid->pressure[at - i];
    sum += grid->a[1][at] * grid->pressure[at + j] + grid->c[1][at] * grid->pressure[at - j];
    sum += grid->a[2][at] * grid->pressure[at + k] + grid->c[2][at] * grid->pressure[at - k];
    sum += grid->b[0][at] * (grid->pressure[at + i + j] - grid->pressure[at + i - j] -
                             grid->pressure[at - i + j] + grid->pressure[at - i - j]);
    sum += grid->b[1][at] * (grid->pressure[at + j + k] - grid->pressure[at - j + k] -
                             grid->pressure[at + j - k] + grid->pressure[at - j - k]);
    sum += grid->b[2][at] * (grid->pressure[at + i + k] - grid->pressure[at - i + k] -
                             grid->pressure[at + i - k] + grid->pressure[at - i - k]);
    return (sum * grid->a[3][at] - grid->pressure[at]) * grid->bound[at];
}

/* The points of a part from first to last, both included, in j and in k. */
struct box {
    int first[N_CUT], last[N_CUT];
};

/* Interior, and a strip beside each of four neighbours. */
#define N_BOXES 5

FOR_BOTH int box_is_empty(const struct box *box)
{
    return box->first[0] > box->last[0] || box->first[1] > box->last[1];
}

/* All owned points. */
FOR_BOTH struct box box_whole(const struct part *part)
{
    struct box box = { {1, 1}, {part->owned[0], part->owned[1]} };

    return box;
}

/* Divides the owned points into the interior, box[0], which may be empty, and the strips that
 * neighbours need. Returns the number of boxes. */
FOR_BOTH int boxes_split(const struct part *part, struct box box[N_BOXES])
{
    struct box rest = box_whole(part);
    int n = 1, d;

    for (d = 0; d < N_CUT; d++) {
        if (part->first[d] > 0 && !box_is_empty(&rest)) {
            box[n] = rest;
            box[n++].last[d] = rest.first[d]++;
        }
        if (part->first[d] + part->owned[d] < part->whole[d + 1] && !box_is_empty(&rest)) {
            box[n] = rest;
            box[n++].first[d] = rest.last[d]--;
        }
    }
    box[0] = rest;
    return n;
}

/* Whether a local point is computed: the outermost points of the domain keep their values. */
FOR_BOTH int point_is_computed(const struct part *part, int j, int k)
{
    int in_j = part->first[0] + j - 1, in_k = part->first[1] + k - 1;

    return in_j > 0 && in_j < part->whole[1] - 1 && in_k > 0 && in_k < part->whole[2] - 1;
}

/* Computes one point; returns its part of the residual. */
FOR_BOTH double point_step(const struct part *part, const struct grid *grid, int i, int j, int k)
{
    size_t at = (size_t) i * (size_t) part->plane + (size_t) (j * part->row + k);
    float change = point_change(part, grid, at);

    grid->next[at] = grid->pressure[at] + OMEGA * change;
    return (double) change * (double) change;
}

#endif /* HIMENO_POINT_H_INCLUDED */
