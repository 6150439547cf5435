/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that gaps of a destination are not written, not even with their own value: the program
 * changes them while MPI unpacks around them, and no change may be lost. Slots of 8 bytes, of which
 * MPI writes some bytes and the program the others. */

#include "gpu.h"
#include "report.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOT 8
#define NSLOTS 4000
#define BUF_SZ (NSLOTS * SLOT)

static struct mem user, packed, source;
static unsigned char image[BUF_SZ], seen[BUF_SZ], data[BUF_SZ];
static CUstream stream;

/* The program's part of each slot: bytes [len, SLOT), set to value. */
static int gap_off;
static unsigned char gap_value;

static void gaps_write_by_gpu(void)
{
    CUDA_MEMCPY2D copy;

    memset(&copy, 0, sizeof(copy));
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    copy.srcDevice = (CUdeviceptr) source.addr;
    copy.srcPitch = SLOT;
    copy.dstDevice = (CUdeviceptr) (user.addr + gap_off);
    copy.dstPitch = SLOT;
    copy.WidthInBytes = (size_t) (SLOT - gap_off);
    copy.Height = NSLOTS;
    CU(Memcpy2DAsync(&copy, stream));
}

static void *gaps_write_by_cpu(void *unused)
{
    (void) unused;
    for (int i = 0; i < NSLOTS; i++)
        memset(user.addr + i * SLOT + gap_off, gap_value, (size_t) (SLOT - gap_off));
    return NULL;
}

/* One round: MPI and the program write at the same time. */
static void round_run(MPI_Datatype type, int by_gpu)
{
    int position = 0, n = NSLOTS * gap_off;
    pthread_t thread;

    gap_value++;
    for (int i = 0; i < n; i++)
        data[i] = (unsigned char) rand();
    mem_write(&packed, 0, data, n);
    for (int i = 0; i < BUF_SZ; i++)
        image[i] = i % SLOT < gap_off ? data[i / SLOT * gap_off + i % SLOT] : gap_value;
    if (by_gpu) {
        memset(seen, gap_value, BUF_SZ);
        mem_write(&source, 0, seen, BUF_SZ);
        gaps_write_by_gpu();
    } else {
        pthread_create(&thread, NULL, gaps_write_by_cpu, NULL);
    }
    CHECK_MPI(MPI_Unpack(packed.addr, n, &position, user.addr, 1, type, MPI_COMM_SELF));
    if (by_gpu)
        CU(StreamSynchronize(stream));
    else
        pthread_join(thread, NULL);
    mem_read(&user, 0, seen, BUF_SZ);
    report_compare("slots", seen, image, BUF_SZ);
}

static void rounds_run(enum mem_kind user_kind, enum mem_kind packed_kind, int rounds)
{
    int before = report_failures;

    mem_alloc(&user, user_kind, BUF_SZ);
    mem_alloc(&packed, packed_kind, BUF_SZ);
    for (gap_off = 1; gap_off < SLOT; gap_off++) {
        MPI_Datatype type;

        MPI_Type_create_hvector(NSLOTS, gap_off, SLOT, MPI_BYTE, &type);
        MPI_Type_commit(&type);
        for (int i = 0; i < rounds; i++)
            round_run(type, mem_is_gpu(user_kind));
        MPI_Type_free(&type);
    }
    mem_free(&user);
    mem_free(&packed);
    if (report_failures != before)
        fprintf(stderr, "... from %s to %s memory\n", mem_name(packed_kind), mem_name(user_kind));
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 5;

    report_time_limit(300);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    CU(StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    mem_alloc(&source, MEM__DEVICE, BUF_SZ);
    rounds_run(MEM__DEVICE, MEM__DEVICE, rounds);
    rounds_run(MEM__DEVICE, MEM__PINNED, rounds);
    rounds_run(MEM__DEVICE, MEM__PAGEABLE, rounds);
    rounds_run(MEM__PINNED, MEM__DEVICE, rounds);
    rounds_run(MEM__REGISTERED, MEM__DEVICE, rounds);
    rounds_run(MEM__PAGEABLE, MEM__DEVICE, rounds);
    mem_free(&source);
    CU(StreamDestroy(stream));
    MPI_Finalize();
    return report_done();
}
