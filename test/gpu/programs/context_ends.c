/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that a context that the engine has used ends before MPI does, in each way that a program
 * can cause; later calls must work. The argument selects the way:
 *
 *   destroyed   a context made with the driver API is destroyed, then MPI_Finalize
 *   replaced    the same, but other contexts take its place and are used, with the same datatypes
 *   reset       the primary context is reset, then MPI_Finalize
 *   reused      the primary context is reset and used again, with the same datatypes
 *   types-last  datatypes are freed after their context was destroyed */

#include "gpu.h"
#include "report.h"
#include "strided.h"

#include <stdlib.h>
#include <string.h>

#define BLOCKS 300

struct own_ctx {
    CUcontext ctx;
    CUdeviceptr user, packed;
};

static void own_make(struct own_ctx *own)
{
    CUdevice device;
    CUcontext popped;

    CU(DeviceGet(&device, 0));
    CU(CtxCreate(&own->ctx, NULL, 0, device));
    CU(MemAlloc(&own->user, BLOCKS * 12));
    CU(MemAlloc(&own->packed, BLOCKS * 12));
    CU(CtxPopCurrent(&popped));
}

/* Pack in the context, with a datatype for which the engine keeps a list there. */
static void own_use(struct own_ctx *own, MPI_Datatype type)
{
    int in[BLOCKS * 3], out[BLOCKS], position = 0;
    CUcontext popped;

    for (int i = 0; i < BLOCKS * 3; i++)
        in[i] = rand();
    CU(CtxPushCurrent(own->ctx));
    CU(MemcpyAsync(own->user, (CUdeviceptr) in, sizeof(in), NULL));
    CU(StreamSynchronize(NULL));
    CU(CtxPopCurrent(&popped));

    CHECK_MPI(MPI_Pack((void *) own->user, 1, type, (void *) own->packed, BLOCKS * 4, &position,
                       MPI_COMM_SELF));

    CU(CtxPushCurrent(own->ctx));
    CU(MemcpyAsync((CUdeviceptr) out, own->packed, sizeof(out), NULL));
    CU(StreamSynchronize(NULL));
    CU(CtxPopCurrent(&popped));
    for (int i = 0; i < BLOCKS; i++)
        CHECK(out[i] == in[strided_place(i, 1) / 4]);
}

static void own_destroy(struct own_ctx *own)
{
    CU(CtxDestroy(own->ctx));
}

static void destroyed(struct strided *s)
{
    struct own_ctx own;

    own_make(&own);
    own_use(&own, s->type);
    own_destroy(&own);
    strided_free(s);
}

static void replaced(struct strided *s)
{
    struct own_ctx own[4];

    /* a new context may have the address of a destroyed one */
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 4; i++) {
            own_make(&own[i]);
            own_use(&own[i], s->type);
            strided_both_ways(s);
        }
        for (int i = 0; i < 4; i++)
            own_destroy(&own[i]);
        strided_both_ways(s);
    }
    strided_free(s);
}

static void reset(struct strided *s)
{
    CUdevice device;

    strided_both_ways(s);
    CU(DeviceGet(&device, 0));
    CU(DevicePrimaryCtxReset(device));
    strided_forget(s);
}

static void reused(struct strided *s)
{
    struct own_ctx own;
    CUdevice device;
    CUcontext again;

    own_make(&own);
    for (int round = 0; round < 3; round++) {
        CUdeviceptr user;
        int packed[BLOCKS], position = 0;

        CU(DeviceGet(&device, 0));
        CU(DevicePrimaryCtxRetain(&again, device));
        CU(CtxSetCurrent(again));
        CU(MemAlloc(&user, BLOCKS * 12));
        CU(MemsetD8Async(user, (unsigned char) (round + 1), BLOCKS * 12, NULL));
        CU(StreamSynchronize(NULL));
        CHECK_MPI(MPI_Pack((void *) user, 1, s->type, packed, sizeof(packed), &position,
                           MPI_COMM_SELF));
        for (int i = 0; i < BLOCKS; i++)
            CHECK(packed[i] == 0x01010101 * (round + 1));
        CU(DevicePrimaryCtxReset(device));
        own_use(&own, s->type);
    }
    own_destroy(&own);
    strided_forget(s);
}

static void types_last(struct strided *s)
{
    struct own_ctx own;

    own_make(&own);
    own_use(&own, s->type);
    own_destroy(&own);
    strided_both_ways(s);
    strided_free(s);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run) (struct strided *);
    } ways[] = {
        {"destroyed", destroyed}, {"replaced", replaced}, {"reset", reset}, {"reused", reused},
        {"types-last", types_last}
    };
    struct strided s;
    int found = 0;

    report_time_limit(120);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    for (int i = 0; i < 5; i++) {
        if (argc == 2 && strcmp(argv[1], ways[i].name) == 0) {
            strided_make(&s, MEM__DEVICE, MEM__PAGEABLE, BLOCKS, 1);
            ways[i].run(&s);
            found = 1;
        }
    }
    CHECK(found);
    CHECK_MPI(MPI_Finalize());
    return report_done();
}
