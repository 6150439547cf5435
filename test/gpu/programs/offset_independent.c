/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that packing 1 MiB from the middle of a 1 GiB message takes as long as packing a 1 MiB
 * message. Measures time, so it is for real GPUs. The two alternate, and medians are compared. */

#include "mpiimpl.h"
#include "gpudt.h"

#include "gpu.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PIECE ((MPI_Aint) 1 << 20)
#define MESSAGE ((MPI_Aint) 1 << 30)
#define ROUNDS 301
#define MOST 1.10               /* maximum ratio */

static struct mem user, packed[2];

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

static double pack_time(MPI_Datatype type, MPI_Aint count, MPI_Aint first, const struct mem *to)
{
    MPI_Aint actual;
    bool handled;
    double begin = now();

    CHECK_MPI(MPIR_Gpudt_ipack(user.addr, count, type, first, to->addr, PIECE, &actual, NULL,
                               &handled));
    CHECK(handled && actual == PIECE);
    return now() - begin;
}

/* large: a type of MESSAGE bytes; small: a similar one of PIECE bytes. */
static void compare_types(const char *name, MPI_Datatype large, MPI_Datatype small)
{
    static double piece[ROUNDS], whole[ROUNDS];

    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 10; i++) {
            pack_time(small, 1, 0, &packed[k]);
            pack_time(large, 1, MESSAGE / 2, &packed[k]);
        }
        for (int i = 0; i < ROUNDS; i++) {
            whole[i] = pack_time(small, 1, 0, &packed[k]);
            piece[i] = pack_time(large, 1, MESSAGE / 2, &packed[k]);
        }
        qsort(whole, ROUNDS, sizeof(double), compare);
        qsort(piece, ROUNDS, sizeof(double), compare);
        printf("%s, to %s memory: message %.2f us, piece %.2f us\n", name, mem_name(packed[k].kind),
               1e6 * whole[ROUNDS / 2], 1e6 * piece[ROUNDS / 2]);
        if (piece[ROUNDS / 2] > MOST * whole[ROUNDS / 2])
            report_fail("%s, to %s memory: the piece takes %.2f times as long", name,
                        mem_name(packed[k].kind), piece[ROUNDS / 2] / whole[ROUNDS / 2]);
    }
    MPI_Type_free(&large);
    MPI_Type_free(&small);
}

static MPI_Datatype committed(MPI_Datatype type)
{
    MPI_Type_commit(&type);
    return type;
}

static MPI_Datatype vector_make(MPI_Aint size, int block, int stride)
{
    MPI_Datatype type;

    MPI_Type_create_hvector_c(size / block, block, stride, MPI_BYTE, &type);
    return committed(type);
}

/* Blocks of 8 to 248 bytes, random except for the last, which completes the size. */
static MPI_Datatype list_make(MPI_Aint size)
{
    MPI_Count most = size / 64 + 64, n = 0, *lens = malloc(most * sizeof(MPI_Count));
    MPI_Count *displs = malloc(most * sizeof(MPI_Count)), at = 0, done = 0;
    MPI_Datatype type;

    while (done < size) {
        MPI_Count len = 8 * (1 + rand() % 31);

        lens[n] = len < size - done ? len : size - done;
        displs[n] = at;
        done += lens[n];
        at += lens[n++] + 8 * (1 + rand() % 4);
    }
    MPI_Type_create_hindexed_c(n, lens, displs, MPI_BYTE, &type);
    free(lens);
    free(displs);
    return committed(type);
}

/* {double, int, int, char} with an extent of 24 bytes */
static MPI_Datatype struct_make(MPI_Aint size)
{
    int lens[3] = { 1, 2, 1 };
    MPI_Aint displs[3] = { 0, 8, 16 };
    MPI_Datatype types[3] = { MPI_DOUBLE, MPI_INT, MPI_CHAR }, element, array;

    MPI_Type_create_struct(3, lens, displs, types, &element);
    MPI_Type_contiguous_c(size / 17 + 1, element, &array);
    MPI_Type_free(&element);
    return committed(array);
}

int main(void)
{
    report_time_limit(300);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    mem_alloc(&user, MEM__DEVICE, 4 * (size_t) MESSAGE);
    mem_alloc(&packed[0], MEM__DEVICE, PIECE);
    mem_alloc(&packed[1], MEM__PINNED, PIECE);
    compare_types("vector 8 B / 16 B", vector_make(MESSAGE, 8, 16), vector_make(PIECE, 8, 16));
    compare_types("vector 128 B / 512 B", vector_make(MESSAGE, 128, 512),
                  vector_make(PIECE, 128, 512));
    compare_types("random list", list_make(MESSAGE), list_make(PIECE));
    compare_types("struct", struct_make(MESSAGE), struct_make(PIECE));
    mem_free(&user);
    mem_free(&packed[0]);
    mem_free(&packed[1]);
    MPI_Finalize();
    return report_done();
}
