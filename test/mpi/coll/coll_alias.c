/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The buffers of a process for itself, in collectives that gather or scatter elements with gaps: a
 * buffer may lie in the gaps of the other one, and may not be that process's own part of it. In all
 * forms of MPI_Gather, MPI_Gatherv, MPI_Allgather, MPI_Allgatherv, MPI_Scatter and MPI_Scatterv.
 * For any number of processes. */

#include "mpi.h"
#include "mpitest.h"

#include <stdio.h>
#include <stdlib.h>

#define STRIDE 4                /* ints from one element to the next one */
#define ROOT 1

enum what { GATHER, GATHERV, ALLGATHER, ALLGATHERV, SCATTER, SCATTERV, NWHAT };
enum mode { BLOCKING, NONBLOCKING, PERSISTENT, NMODES };

static const char *const what_names[] = {
    "Gather", "Gatherv", "Allgather", "Allgatherv", "Scatter", "Scatterv"
};
static const char *const mode_names[] = { "blocking", "nonblocking", "persistent" };

static int rank, size;
static int *counts, *displs;
static MPI_Datatype type;       /* an int and a gap */

static int blocking(enum what what, void *one, void *all)
{
    switch (what) {
        case GATHER:
            return MPI_Gather(one, 1, type, all, 1, type, ROOT, MPI_COMM_WORLD);
        case GATHERV:
            return MPI_Gatherv(one, 1, type, all, counts, displs, type, ROOT, MPI_COMM_WORLD);
        case ALLGATHER:
            return MPI_Allgather(one, 1, type, all, 1, type, MPI_COMM_WORLD);
        case ALLGATHERV:
            return MPI_Allgatherv(one, 1, type, all, counts, displs, type, MPI_COMM_WORLD);
        case SCATTER:
            return MPI_Scatter(all, 1, type, one, 1, type, ROOT, MPI_COMM_WORLD);
        default:
            return MPI_Scatterv(all, counts, displs, type, one, 1, type, ROOT, MPI_COMM_WORLD);
    }
}

static int nonblocking(enum what what, void *one, void *all, MPI_Request * req)
{
    switch (what) {
        case GATHER:
            return MPI_Igather(one, 1, type, all, 1, type, ROOT, MPI_COMM_WORLD, req);
        case GATHERV:
            return MPI_Igatherv(one, 1, type, all, counts, displs, type, ROOT, MPI_COMM_WORLD,
                                req);
        case ALLGATHER:
            return MPI_Iallgather(one, 1, type, all, 1, type, MPI_COMM_WORLD, req);
        case ALLGATHERV:
            return MPI_Iallgatherv(one, 1, type, all, counts, displs, type, MPI_COMM_WORLD, req);
        case SCATTER:
            return MPI_Iscatter(all, 1, type, one, 1, type, ROOT, MPI_COMM_WORLD, req);
        default:
            return MPI_Iscatterv(all, counts, displs, type, one, 1, type, ROOT, MPI_COMM_WORLD,
                                 req);
    }
}

static int persistent(enum what what, void *one, void *all, MPI_Request * req)
{
    const MPI_Info info = MPI_INFO_NULL;

    switch (what) {
        case GATHER:
            return MPI_Gather_init(one, 1, type, all, 1, type, ROOT, MPI_COMM_WORLD, info, req);
        case GATHERV:
            return MPI_Gatherv_init(one, 1, type, all, counts, displs, type, ROOT, MPI_COMM_WORLD,
                                    info, req);
        case ALLGATHER:
            return MPI_Allgather_init(one, 1, type, all, 1, type, MPI_COMM_WORLD, info, req);
        case ALLGATHERV:
            return MPI_Allgatherv_init(one, 1, type, all, counts, displs, type, MPI_COMM_WORLD,
                                       info, req);
        case SCATTER:
            return MPI_Scatter_init(all, 1, type, one, 1, type, ROOT, MPI_COMM_WORLD, info, req);
        default:
            return MPI_Scatterv_init(all, counts, displs, type, one, 1, type, ROOT, MPI_COMM_WORLD,
                                     info, req);
    }
}

/* Runs an operation to its end, and returns its error class.
 *   one, all  (IN)  the buffers of one element, and of one for each process */
static int class_of(enum what what, enum mode mode, int *one, int *all)
{
    MPI_Request req = MPI_REQUEST_NULL;
    int err, class = MPI_SUCCESS;

    if (mode == BLOCKING)
        err = blocking(what, one, all);
    else if (mode == NONBLOCKING)
        err = nonblocking(what, one, all, &req);
    else
        err = persistent(what, one, all, &req);
    if (err == MPI_SUCCESS && mode == PERSISTENT)
        err = MPI_Start(&req);
    if (err == MPI_SUCCESS && mode != BLOCKING)
        err = MPI_Wait(&req, MPI_STATUS_IGNORE);
    if (req != MPI_REQUEST_NULL)
        MPI_Request_free(&req);
    if (err)
        MPI_Error_class(err, &class);
    return class;
}

/* A legal call: the buffer of one element lies in a gap, for most processes as many bytes behind the
 * beginning of the other one as the elements before have without their gaps. Returns the number of
 * errors. */
static int errors_of_legal(enum what what, enum mode mode, int *mem)
{
    int errs = 0, class, *one = mem + (rank % STRIDE ? rank : 1);
    int has_all = rank == ROOT || what == ALLGATHER || what == ALLGATHERV;

    for (int i = 0; i < (size + 1) * STRIDE; i++)
        mem[i] = -1;
    for (int i = 0; i < size && (what == SCATTER || what == SCATTERV); i++)
        mem[i * STRIDE] = 100 + i;
    if (what != SCATTER && what != SCATTERV)
        *one = 100 + rank;
    class = class_of(what, mode, one, mem);
    if (class != MPI_SUCCESS) {
        fprintf(stderr, "%s, %s: a legal call is refused with class %d\n", what_names[what],
                mode_names[mode], class);
        return 1;
    }
    errs += *one != 100 + rank;
    for (int i = 0; i < size && has_all; i++)
        errs += mem[i * STRIDE] != 100 + i;
    if (errs)
        fprintf(stderr, "%s, %s: %d elements are wrong\n", what_names[what], mode_names[mode],
                errs);
    return errs;
}

/* Two buffers that are the same memory: processes that have both do not wait for others, as they
 * return the error at once. */
static void alias_check(enum what what, enum mode mode, int *mem)
{
    int class;

    if (rank != ROOT && what != ALLGATHER && what != ALLGATHERV)
        return;
    class = class_of(what, mode, mem + rank * STRIDE, mem);
    if (class != MPI_ERR_BUFFER) {
        fprintf(stderr, "%s, %s: the same memory is accepted, with class %d\n", what_names[what],
                mode_names[mode], class);
        /* The other processes may not take part */
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv)
{
    int errs = 0, *mem;
    MPI_Datatype element;

    MTest_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    counts = malloc(size * sizeof(counts[0]));
    displs = malloc(size * sizeof(displs[0]));
    mem = malloc((size + 1) * STRIDE * sizeof(mem[0]));
    if (counts == NULL || displs == NULL || mem == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < size; i++) {
        counts[i] = 1;
        displs[i] = i;
    }
    MPI_Type_contiguous(1, MPI_INT, &element);
    MPI_Type_create_resized(element, 0, STRIDE * sizeof(int), &type);
    MPI_Type_commit(&type);
    for (enum what what = 0; what < NWHAT; what++) {
        for (enum mode mode = 0; mode < NMODES; mode++) {
            errs += errors_of_legal(what, mode, mem);
            alias_check(what, mode, mem);
        }
    }
    MPI_Type_free(&type);
    MPI_Type_free(&element);
    free(mem);
    free(displs);
    free(counts);
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
