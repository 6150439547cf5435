/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* MPI_Accumulate, MPI_Get_accumulate and MPI_Fetch_and_op on pair types that have a gap: to the own
 * process and to another one, in shared memory or not, from and to derived types, and with more data
 * than one packet of a stream takes. */

#include "mpi.h"
#include "mpitest.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOCATION = 1000000, LEAST = 25, VALUES = 50 };

static int errs, rank;

/* A pair type whose value is a short, long or double, at offset 0. */
struct pair {
    MPI_Datatype type;
    const char *name;
    size_t at, extent;          /* of the location */
};

static void put(const struct pair *p, char *to, int value, int location)
{
    short s = (short) value;
    long l = value;
    double d = value;

    memcpy(to, p->type == MPI_SHORT_INT ? (void *) &s : p->type == MPI_LONG_INT ? (void *) &l :
           (void *) &d, p->type == MPI_SHORT_INT ? sizeof(s) : 8);
    memcpy(to + p->at, &location, sizeof(location));
}

/* The maximum with its location after element i of the origin was combined with the target's. */
static void put_result(const struct pair *p, char *to, int i)
{
    int value = i % VALUES;

    put(p, to, value > LEAST ? value : LEAST, value >= LEAST ? 7 : LOCATION + i);
}

static void check(const struct pair *p, const char *seen, const char *expected, int n,
                  const char *what, int target, int form)
{
    for (int i = 0; i < n; i++, seen += p->extent, expected += p->extent) {
        if (memcmp(seen, expected, p->type == MPI_SHORT_INT ? 2 : 8) ||
            memcmp(seen + p->at, expected + p->at, 4)) {
            if (errs++ < 10)
                fprintf(stderr, "%s: wrong element %d of %d %s, target %d, form %d\n", what, i, n,
                        p->name, target, form);
            return;
        }
    }
}

/* form: which of origin and target is a derived type. */
static void run(const struct pair *p, int n, int target, int is_shared, int form)
{
    MPI_Datatype all, from, to;
    MPI_Win win;
    char *mem, *origin, *result, *old, *expected;
    MPI_Aint sz = n * p->extent;

    MPI_Type_contiguous(n, p->type, &all);
    MPI_Type_commit(&all);
    from = form & 1 ? all : p->type;
    to = form & 2 ? all : p->type;
    if (is_shared)
        MPI_Win_allocate(sz, p->extent, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
    else {
        mem = malloc(sz);
        MPI_Win_create(mem, sz, p->extent, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    }
    origin = calloc(4, sz);
    result = origin + sz;
    old = result + sz;
    expected = old + sz;
    for (int i = 0; i < n; i++) {
        put(p, mem + i * p->extent, i % VALUES, 7);
        put(p, origin + i * p->extent, LEAST, LOCATION + i);
        put_result(p, expected + i * p->extent, i);
    }
    memcpy(old, mem, sz);

    for (int call = 0; call < 3; call++) {
        MPI_Win_fence(0, win);
        if (rank == 0 && call == 0)
            MPI_Get_accumulate(origin, form & 1 ? 1 : n, from, result, n, p->type, target, 0,
                               form & 2 ? 1 : n, to, MPI_MAXLOC, win);
        else if (rank == 0 && call == 1)
            MPI_Accumulate(origin, form & 1 ? 1 : n, from, target, 0, form & 2 ? 1 : n, to,
                           MPI_MAXLOC, win);
        else if (rank == 0)
            MPI_Fetch_and_op(origin, result, p->type, target, 0, MPI_MAXLOC, win);
        MPI_Win_fence(0, win);
        if (rank == target)
            check(p, mem, expected, n, "window", target, form);
        if (rank == 0 && call == 0)
            check(p, result, old, n, "result", target, form);
        else if (rank == 0 && call == 2)
            check(p, result, expected, 1, "fetched", target, form);
    }
    MPI_Win_free(&win);
    if (!is_shared)
        free(mem);
    free(origin);
    MPI_Type_free(&all);
}

int main(int argc, char **argv)
{
    const struct pair pairs[] = {
        {MPI_SHORT_INT, "MPI_SHORT_INT", 4, 8},
        {MPI_LONG_INT, "MPI_LONG_INT", 8, 16},
        {MPI_DOUBLE_INT, "MPI_DOUBLE_INT", 8, 16}
    };

    MTest_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 3; i++) {
        for (int way = 0; way < 16; way++) {
            run(&pairs[i], 5, way & 1, way >> 1 & 1, way >> 2);
            run(&pairs[i], 70000, way & 1, way >> 1 & 1, way >> 2);
        }
    }
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
