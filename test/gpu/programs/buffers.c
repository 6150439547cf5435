/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that a buffer described once is moved in parts without further queries of the driver, with
 * a relative datatype or one of absolute addresses, and that memory registered by the library is
 * never queried. The description stays valid when the datatype is freed. A move after the program
 * has destroyed the context is an error, and its registered memory is then queried again. Emulated
 * driver only, which counts calls. */

#include "mpiimpl.h"
#include "gpudt.h"
#include "gpudt_host.h"

#include "gpu.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BLOCKS 2000             /* of 4 bytes, each in a page of its own */
#define STEP 4096
#define PARTS 10
#define N ((MPI_Aint) BLOCKS * 4)
#define PINNED_SZ ((size_t) 1 << 16)

static char *pinned;

static int value(int i, int salt)
{
    return i * 7 + salt;
}

/* Position of a block: not a regular stride, of which only the ends would be queried. */
static MPI_Aint place(int i)
{
    return (MPI_Aint) i * STEP + i * i % 7 * 4;
}

static MPI_Datatype type_make(const char *origin)
{
    static MPI_Aint displs[BLOCKS];
    MPI_Datatype type;

    for (int i = 0; i < BLOCKS; i++)
        displs[i] = (MPI_Aint) (intptr_t) origin + place(i);
    MPI_Type_create_hindexed_block(BLOCKS, 1, displs, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

/* All blocks to registered memory and back, in parts. */
static void move_parts(const struct mem *mem, int is_absolute, long most)
{
    static int image[BLOCKS * (STEP / 4)];
    MPI_Datatype type = type_make(is_absolute ? mem->addr : NULL);
    MPIR_Gpudt_buffer *buffer;
    MPIR_Gpudt_op *op[PARTS];
    int *packed = (int *) (void *) pinned;

    for (int i = 0; i < BLOCKS; i++)
        image[place(i) / 4] = value(i, 1);
    mem_write(mem, 0, image, sizeof(image));
    gpu.emu_fail_set("cuPointerGetAttributes", 0, 0, 0);        /* count these */
    CHECK_MPI(MPIR_Gpudt_buffer_make(is_absolute ? MPI_BOTTOM : mem->addr, 1, type, &buffer));
    CHECK(buffer != NULL);
    MPI_Type_free(&type);
    for (int unpack = 0; unpack < 2; unpack++) {
        for (int i = 0; i < PARTS; i++)
            CHECK_MPI(MPIR_Gpudt_buffer_move(buffer, i * (N / PARTS), N / PARTS,
                                             pinned + i * (N / PARTS), unpack, &op[i]));
        for (int i = 0; i < PARTS; i++)
            CHECK_MPI(MPIR_Gpudt_wait(op[i]));
        for (int i = 0; i < BLOCKS && !unpack; i++) {
            CHECK(packed[i] == value(i, 1));
            packed[i] = value(i, 2);
        }
    }
    if (gpu.emu_call_count() > most || gpu.emu_call_count() == 0)
        report_fail("%ld queries for a buffer of %d blocks in %d parts", gpu.emu_call_count(),
                    BLOCKS, 2 * PARTS);
    MPIR_Gpudt_buffer_free(buffer);
    mem_read(mem, 0, image, sizeof(image));
    for (int i = 0; i < BLOCKS; i++)
        CHECK(image[place(i) / 4] == value(i, 2));
}

static void context_ended(void)
{
    MPIR_Gpudt_buffer *buffer;
    MPIR_Gpudt_op *op = NULL;
    CUdeviceptr user;
    CUdevice device;
    CUcontext ctx, popped;

    CU(DeviceGet(&device, 0));
    CU(CtxCreate(&ctx, NULL, 0, device));
    CU(MemAlloc(&user, PINNED_SZ));
    CU(CtxPopCurrent(&popped));
    CHECK(MPIR_Gpudt_host_register((void *) user, pinned, PINNED_SZ, false));
    CHECK(MPIR_Gpudt_host_is_registered(pinned, PINNED_SZ));
    CHECK_MPI(MPIR_Gpudt_buffer_make((void *) user, 100, MPI_INT, &buffer));
    CHECK_MPI(MPIR_Gpudt_buffer_move(buffer, 0, 400, pinned, false, &op));
    CHECK_MPI(MPIR_Gpudt_wait(op));
    CU(CtxDestroy(ctx));
    CHECK(!MPIR_Gpudt_host_is_registered(pinned, PINNED_SZ));
    CHECK(MPIR_Gpudt_buffer_move(buffer, 0, 400, pinned, false, &op) != MPI_SUCCESS);
    CHECK(op == NULL);
    MPIR_Gpudt_buffer_free(buffer);
    MPIR_Gpudt_host_unregister(pinned, PINNED_SZ);
}

int main(void)
{
    struct mem mem, pool;

    report_time_limit(60);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    mem_alloc(&mem, MEM__DEVICE, (size_t) BLOCKS * STEP);
    mem_alloc(&pool, MEM__POOL, (size_t) BLOCKS * STEP);
    pinned = mmap(NULL, PINNED_SZ, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(pinned != MAP_FAILED);
    context_ended();

    CHECK(MPIR_Gpudt_host_register(mem.addr, pinned, PINNED_SZ, false));
    CHECK(MPIR_Gpudt_host_is_registered(pinned, PINNED_SZ));
    move_parts(&mem, 0, 1);
    move_parts(&mem, 1, 2);
    move_parts(&pool, 1, BLOCKS);       /* of these the driver must be queried about each, once */
    MPIR_Gpudt_host_unregister(pinned, PINNED_SZ);
    CHECK(!MPIR_Gpudt_host_is_registered(pinned, PINNED_SZ));
    munmap(pinned, PINNED_SZ);
    mem_free(&mem);
    mem_free(&pool);
    CHECK_MPI(MPI_Finalize());
    return report_done();
}
