/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests MPI_BOTTOM with absolute addresses: blocks of one datatype in two kinds of memory, for each
 * pair of kinds, packed to and unpacked from a third one. Either the result is right, or there is
 * an MPI error and nothing outside the data was written. With "must-work" an error is a failure. */

#include "gpu.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEM_SZ 4096
#define NBLOCKS 12              /* the even ones in the first memory, the odd ones in the second */
#define STRIDE 100              /* bytes from block to block */
#define MARGIN 128

static int must_work;
static int nerrors;             /* transfers that returned an MPI error */

struct image {
    struct mem mem;
    unsigned char before[MEM_SZ], after[MEM_SZ];
};
static struct image user[2][MEM__NKINDS], packed[MEM__NKINDS];

static int block_len(int i)
{
    return 4 * (1 + i % 5);
}

static MPI_Datatype type_make(struct image *const in[2])
{
    int lens[NBLOCKS];
    MPI_Aint displs[NBLOCKS];
    MPI_Datatype type;

    for (int i = 0; i < NBLOCKS; i++) {
        lens[i] = block_len(i);
        MPI_Get_address(in[i % 2]->mem.addr + MARGIN + i * STRIDE, &displs[i]);
    }
    MPI_Type_create_hindexed(NBLOCKS, lens, displs, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

static void image_fill(struct image *im)
{
    for (int i = 0; i < MEM_SZ; i++)
        im->before[i] = (unsigned char) rand();
    memcpy(im->after, im->before, MEM_SZ);
    mem_write(&im->mem, 0, im->before, MEM_SZ);
}

/* After a failure each byte has its old or its new value. */
static void image_check(const struct image *im, int has_failed)
{
    unsigned char seen[MEM_SZ];

    mem_read(&im->mem, 0, seen, MEM_SZ);
    for (int i = 0; i < MEM_SZ; i++) {
        if (seen[i] == im->after[i] || (has_failed && seen[i] == im->before[i]))
            continue;
        report_fail("byte %d of %s memory is 0x%02x, was 0x%02x, expected 0x%02x", i - MARGIN,
                    mem_name(im->mem.kind), seen[i], im->before[i], im->after[i]);
        return;
    }
}

static void transfer(struct image *const in[2], struct image *out, int is_unpack)
{
    MPI_Datatype type = type_make(in);
    int position = 0, size, at = MARGIN, err;
    int before = report_failures;

    for (int i = 0; i < 2; i++)
        image_fill(in[i]);
    image_fill(out);
    for (int i = 0; i < NBLOCKS; i++) {
        struct image *from = in[i % 2];

        if (is_unpack)
            memcpy(from->after + MARGIN + i * STRIDE, out->before + at, block_len(i));
        else
            memcpy(out->after + at, from->before + MARGIN + i * STRIDE, block_len(i));
        at += block_len(i);
    }
    MPI_Type_size(type, &size);
    if (is_unpack)
        err = MPI_Unpack(out->mem.addr + MARGIN, size, &position, MPI_BOTTOM, 1, type,
                         MPI_COMM_SELF);
    else
        err = MPI_Pack(MPI_BOTTOM, 1, type, out->mem.addr + MARGIN, size, &position, MPI_COMM_SELF);
    if (err && must_work)
        report_fail("%s", report_mpi_text(err));
    nerrors += err != MPI_SUCCESS;
    image_check(in[0], err != MPI_SUCCESS);
    image_check(in[1], err != MPI_SUCCESS);
    image_check(out, err != MPI_SUCCESS);
    if (report_failures != before)
        fprintf(stderr, "... %s %s and %s memory, packed in %s memory\n",
                is_unpack ? "unpacking to" : "packing from", mem_name(in[0]->mem.kind),
                mem_name(in[1]->mem.kind), mem_name(out->mem.kind));
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    must_work = argc > 1 && strcmp(argv[1], "must-work") == 0;
    report_time_limit(300);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    for (int kind = 0; kind < MEM__NKINDS; kind++) {
        if (mem_exists(kind)) {
            mem_alloc(&user[0][kind].mem, kind, MEM_SZ);
            mem_alloc(&user[1][kind].mem, kind, MEM_SZ);
            mem_alloc(&packed[kind].mem, kind, MEM_SZ);
        }
    }

    for (int a = 0; a < MEM__NKINDS; a++) {
        for (int b = 0; b < MEM__NKINDS; b++) {
            for (int p = 0; p < MEM__NKINDS; p++) {
                if (!mem_exists(a) || !mem_exists(b) || !mem_exists(p))
                    continue;
                struct image *const in[2] = { &user[0][a], &user[1][b] };
                transfer(in, &packed[p], 0);
                transfer(in, &packed[p], 1);
            }
        }
    }

    for (int kind = 0; kind < MEM__NKINDS; kind++) {
        mem_free(&user[0][kind].mem);
        mem_free(&user[1][kind].mem);
        mem_free(&packed[kind].mem);
    }
    MPI_Finalize();
    if (nerrors)
        printf("%d transfers ended with an MPI error\n", nerrors);
    return report_done();
}
