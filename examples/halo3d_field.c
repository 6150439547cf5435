/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The field of the halo3d example in host memory: allocated, filled, checked. Must not know of
 * MPI. */

#include "halo3d_value.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int field_alloc(const struct block *block, double **field)
{
    *field = malloc((block->n_values + 2 * GUARD_COUNT) * sizeof(double));
    return 0;
}

static void field_free(double *field)
{
    free(field);
}

static int field_fill(const struct block *block, double *field, int pass)
{
    double *value = field_array(field);
    int point[N_DIMS], e;

    for (e = 0; e < GUARD_COUNT; e++)
        field[e] = field[GUARD_COUNT + block->n_values + e] = POISON;
    for (point[0] = 0; point[0] < block->outer[0]; point[0]++)
        for (point[1] = 0; point[1] < block->outer[1]; point[1]++)
            for (point[2] = 0; point[2] < block->outer[2]; point[2]++) {
                int inside = point_is_owned(block, point);
                long long number = point_number(block, point);

                for (e = 0; e < block->elements; e++)
                    *value++ = inside ? value_of(block, number, e, pass) : POISON;
            }
    return 0;
}

/* Compares one value; stores the first MAX_REPORTED wrong ones and counts all. */
static void value_check(long long where, double seen, double expected, struct mismatch *list,
                        long long *n_wrong)
{
    if (seen == expected)
        return;
    if (*n_wrong < MAX_REPORTED) {
        list[*n_wrong].where = where;
        list[*n_wrong].seen = seen;
        list[*n_wrong].expected = expected;
    }
    (*n_wrong)++;
}

static int field_check(const struct block *block, const double *field, int pass,
                       struct mismatch *list, long long *n_wrong)
{
    const double *array = field + GUARD_COUNT;
    long long where, n_values = (long long) block->n_values;
    int point[N_DIMS], e;

    *n_wrong = 0;
    for (where = -GUARD_COUNT; where < 0; where++)
        value_check(where, array[where], POISON, list, n_wrong);
    for (point[0] = 0; point[0] < block->outer[0]; point[0]++)
        for (point[1] = 0; point[1] < block->outer[1]; point[1]++)
            for (point[2] = 0; point[2] < block->outer[2]; point[2]++) {
                long long number = point_number(block, point);

                for (e = 0; e < block->elements; e++, where++)
                    value_check(where, array[where], value_of(block, number, e, pass), list,
                                n_wrong);
            }
    for (; where < n_values + GUARD_COUNT; where++)
        value_check(where, array[where], POISON, list, n_wrong);
    return 0;
}

size_t corrupt_place(const struct block *block, int corrupt)
{
    size_t r = (size_t) block->radius;

    if (corrupt == CORRUPT__GUARD)
        return 0;
    if (corrupt == CORRUPT__HALO)
        return GUARD_COUNT + block->n_values - 1;
    return GUARD_COUNT +
        ((r * block->outer[1] + r) * block->outer[2] + r) * (size_t) block->elements;
}

static int field_corrupt(const struct block *block, double *field, int corrupt)
{
    double *value = &field[corrupt_place(block, corrupt)];
    uint64_t bits;

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
    .corrupt = field_corrupt,
    .check = field_check
};
