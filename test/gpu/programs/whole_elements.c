/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests reductions of GPU memory by a function of the program that assigns whole elements, structs of which the
 * datatype has one member: it accesses the gaps at both ends, too. AddressSanitizer sees whether these exist. */

#include "gpu.h"
#include "report.h"

#include <stdio.h>
#include <string.h>

#define SIZE 64                 /* bytes of a struct */
#define MOST 5                  /* structs */

static int key_off, begin;      /* where the key is, and where the struct begins, from the buffer's address on */

static int key_of(const char *element)
{
    int key;

    memcpy(&key, element + key_off, sizeof(key));
    return key;
}

static void larger(void *in, void *inout, int *n, MPI_Datatype * type)
{
    (void) type;
    for (int i = 0; i < *n; i++) {
        char *from = (char *) in + i * SIZE, *to = (char *) inout + i * SIZE;

        if (key_of(from) > key_of(to))
            memcpy(to + begin, from + begin, SIZE);
    }
}

/* Buffers whose key i is that of a function. */
static void keys_write(struct mem *mem, int n, int sign)
{
    char image[MOST * SIZE];

    memset(image, 0x55, sizeof(image));
    for (int i = 0; i < n; i++) {
        int key = sign * (i % 2 ? 100 + i : -100 - i);
        memcpy(image + i * SIZE + key_off - begin, &key, sizeof(key));
    }
    mem_write(mem, 0, image, sizeof(image));
}

static void check(MPI_Op op, MPI_Datatype type, enum mem_kind in_kind, enum mem_kind inout_kind, int n)
{
    struct mem in, inout;
    char image[MOST * SIZE];

    mem_alloc(&in, in_kind, sizeof(image));
    mem_alloc(&inout, inout_kind, sizeof(image));
    keys_write(&in, n, 1);
    keys_write(&inout, n, -1);
    CHECK_MPI(MPI_Reduce_local(in.addr - begin, inout.addr - begin, n, type, op));
    mem_read(&inout, 0, image, sizeof(image));
    for (int i = 0; i < n; i++) {
        if (key_of(image + i * SIZE - begin) != 100 + i)
            report_fail("key at %d, from %s to %s memory, %d structs: number %d is %d", key_off,
                        mem_name(in_kind), mem_name(inout_kind), n, i,
                        key_of(image + i * SIZE - begin));
    }
    mem_free(&in);
    mem_free(&inout);
}

int main(int argc, char *argv[])
{
    /* of the key, and of the beginning of the struct */
    static const int places[][2] = { {0, 0}, {48, 0}, {60, 0}, {0, -16}, {24, 24} };
    MPI_Op op;

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    MPI_Op_create(larger, 1, &op);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        MPI_Aint displ = key_off = places[i][0];
        MPI_Datatype at, type;

        begin = places[i][1];
        MPI_Type_create_hindexed_block(1, 1, &displ, MPI_INT, &at);
        MPI_Type_create_resized(at, begin, SIZE, &type);
        MPI_Type_commit(&type);
        for (int n = 1; n <= MOST; n += MOST - 1) {
            check(op, type, MEM__DEVICE, MEM__DEVICE, n);
            check(op, type, MEM__PAGEABLE, MEM__DEVICE, n);
            check(op, type, MEM__DEVICE, MEM__PAGEABLE, n);
        }
        MPI_Type_free(&at);
        MPI_Type_free(&type);
    }
    MPI_Op_free(&op);
    MPI_Finalize();
    return report_done();
}
