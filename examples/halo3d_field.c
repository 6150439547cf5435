/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/*
 * The field of the halo3d example in host memory: made, filled, checked. These functions alone
 * touch its values or know what memory it is in; they must not know of MPI.
 */

#include "halo3d.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define POISON (-1.0)           /* the field's values are positive */

double *field_alloc(const struct block *block)
{
    return malloc((block->n_values + 2 * GUARD_COUNT) * sizeof(double));
}

void field_free(double *field)
{
    free(field);
}

double *field_array(double *field)
{
    return field + GUARD_COUNT;
}

/* A point's number in the whole domain, which wraps around; equal for a halo point and for the
 * point that it mirrors. */
static long long point_number(const struct block *block, const int point[N_DIMS])
{
    long long number = 0;
    int d;

    for (d = 0; d < N_DIMS; d++) {
        long long place = block->origin[d] + point[d] - block->radius + block->whole[d];
        number = number * block->whole[d] + place % block->whole[d];
    }
    return number;
}

/* The value of a point's element: differs for every point, element and pass. */
static double value_of(const struct block *block, long long number, int element, int pass)
{
    return (double) (2 * (number * block->elements + element) + pass + 1);
}

int point_is_interior(const struct block *block, const int point[N_DIMS])
{
    int d, inside = 1;

    for (d = 0; d < N_DIMS; d++)
        inside &= point[d] >= block->radius && point[d] < block->radius + block->inner[d];
    return inside;
}

void field_fill(const struct block *block, double *field, int pass)
{
    double *value = field + GUARD_COUNT;
    int point[N_DIMS], e;

    for (e = 0; e < GUARD_COUNT; e++)
        field[e] = field[GUARD_COUNT + block->n_values + e] = POISON;
    for (point[0] = 0; point[0] < block->outer[0]; point[0]++)
        for (point[1] = 0; point[1] < block->outer[1]; point[1]++)
            for (point[2] = 0; point[2] < block->outer[2]; point[2]++) {
                int inside = point_is_interior(block, point);
                long long number = point_number(block, point);

                for (e = 0; e < block->elements; e++)
                    *value++ = inside ? value_of(block, number, e, pass) : POISON;
            }
}

/* Compares one value; keeps the first MAX_REPORTED wrong ones and counts all. */
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

long long field_check(const struct block *block, const double *field, int pass,
                      struct mismatch *list)
{
    const double *array = field + GUARD_COUNT;
    long long where, n_wrong = 0, n_values = (long long) block->n_values;
    int point[N_DIMS], e;

    for (where = -GUARD_COUNT; where < 0; where++)
        value_check(where, array[where], POISON, list, &n_wrong);
    for (point[0] = 0; point[0] < block->outer[0]; point[0]++)
        for (point[1] = 0; point[1] < block->outer[1]; point[1]++)
            for (point[2] = 0; point[2] < block->outer[2]; point[2]++) {
                long long number = point_number(block, point);

                for (e = 0; e < block->elements; e++, where++)
                    value_check(where, array[where], value_of(block, number, e, pass), list,
                                &n_wrong);
            }
    for (; where < n_values + GUARD_COUNT; where++)
        value_check(where, array[where], POISON, list, &n_wrong);
    return n_wrong;
}

void field_corrupt(const struct block *block, double *field, int corrupt)
{
    size_t where = 0;           /* CORRUPT__GUARD */
    uint64_t bits;

    if (corrupt == CORRUPT__NONE)
        return;
    if (corrupt == CORRUPT__HALO) {
        where = GUARD_COUNT + block->n_values - 1;
    } else if (corrupt == CORRUPT__INTERIOR) {
        size_t r = (size_t) block->radius;
        size_t point = (r * block->outer[1] + r) * block->outer[2] + r;
        where = GUARD_COUNT + point * block->elements;
    }
    memcpy(&bits, &field[where], sizeof(bits));
    bits ^= 1;
    memcpy(&field[where], &bits, sizeof(bits));
}
