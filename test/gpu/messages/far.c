/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests messages longer than 2 and 4 GiB, with large counts. Two processes; the second needs 5 GiB.
 *
 *     far gpu       from host memory to a GPU, and the same bytes back, 4.2 GiB
 *     far host      between host memories, many blocks at the receiver, 2.2 GiB */

#include "report.h"
#include "side.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE ((MPI_Aint) 1 << 20)
#define STEP 64                 /* bytes from one piece to the next */
#define MOST 4300               /* pieces */

static int rank, other;
static unsigned char data[PIECE + MOST * STEP];

static const unsigned char *piece(MPI_Aint i)
{
    return data + i * STEP;
}

/* A message of n pieces that overlap: it may be sent, not received. */
static MPI_Datatype repeated_make(MPI_Aint n)
{
    MPI_Datatype type;

    MPI_Type_create_hvector((int) n, (int) PIECE, STEP, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

static void gpu_and_back(MPI_Count n)
{
    struct mem mem;
    MPI_Datatype repeated;
    MPI_Count got;
    MPI_Status status;
    unsigned char *seen = malloc(PIECE);

    if (rank == 0) {
        repeated = repeated_make(n);
        CHECK_MPI(MPI_Send(data, 1, repeated, other, 1, MPI_COMM_WORLD));
        MPI_Type_free(&repeated);
        /* Three parts of it are sent back */
        for (int i = 0; i < 3; i++) {
            CHECK_MPI(MPI_Recv(seen, (int) PIECE, MPI_BYTE, other, 2, MPI_COMM_WORLD,
                               MPI_STATUS_IGNORE));
            report_compare("a piece that came back", seen,
                           piece(i == 0 ? 0 : i == 1 ? n / 2 : n - 1), PIECE);
        }
    } else {
        mem_alloc(&mem, MEM__DEVICE, (size_t) (n * PIECE));
        CHECK_MPI(MPI_Recv_c(mem.addr, n * PIECE, MPI_BYTE, other, 1, MPI_COMM_WORLD, &status));
        CHECK_MPI(MPI_Get_elements_x(&status, MPI_BYTE, &got));
        CHECK(got == n * PIECE);
        /* All of some, and the beginning of each, by which they differ */
        for (MPI_Count i = 0; i < n && report_failures < 3; i++) {
            const MPI_Aint part = i % 64 ? 4096 : PIECE;
            mem_read(&mem, (size_t) (i * PIECE), seen, part);
            report_compare("a received piece", seen, piece(i), part);
        }
        CHECK_MPI(MPI_Send_c(mem.addr, PIECE, MPI_BYTE, other, 2, MPI_COMM_WORLD));
        CHECK_MPI(MPI_Send_c(mem.addr + (n / 2) * PIECE, PIECE, MPI_BYTE, other, 2,
                             MPI_COMM_WORLD));
        CHECK_MPI(MPI_Send_c(mem.addr + (n - 1) * PIECE, PIECE, MPI_BYTE, other, 2,
                             MPI_COMM_WORLD));
        mem_free(&mem);
    }
    free(seen);
}

static void many_blocks(MPI_Aint n)
{
    const int block = 64, stride = 72;
    MPI_Datatype repeated, blocks;
    MPI_Aint count = n * PIECE / block;
    unsigned char *buf;

    if (rank == 0) {
        repeated = repeated_make(n);
        CHECK_MPI(MPI_Send(data, 1, repeated, other, 1, MPI_COMM_WORLD));
        MPI_Type_free(&repeated);
        return;
    }
    buf = calloc(count, stride);
    MPI_Type_create_hvector((int) count, block, stride, MPI_BYTE, &blocks);
    MPI_Type_commit(&blocks);
    CHECK_MPI(MPI_Recv(buf, 1, blocks, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (MPI_Aint i = 0; i < count && report_failures < 3; i++) {
        static const unsigned char gap[8] = { 0 };
        report_compare("a block", buf + i * stride,
                       piece(i * block / PIECE) + i * block % PIECE, block);
        report_compare("a gap", buf + i * stride + block, gap, sizeof(gap));
    }
    MPI_Type_free(&blocks);
    free(buf);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    report_time_limit(600);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    for (MPI_Aint i = 0; i < (MPI_Aint) sizeof(data); i++)
        data[i] = side_byte(1, i);
    if (strcmp(argv[1], "gpu") == 0) {
        if (gpu_open() == 0)
            return 1;
        gpu_set_current(0);
        gpu_and_back(MOST);
    } else {
        many_blocks(2200);
    }
    MPI_Finalize();
    return report_done();
}
