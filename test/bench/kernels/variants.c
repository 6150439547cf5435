/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

#include <string.h>

#include "variants.h"

CUstream variant_stream;
int variant_nsms;

void variants_open(void)
{
    CUdevice device;
    CUcontext context;

    CU(cuInit(0));
    CU(cuDeviceGet(&device, 0));
    CU(cuDevicePrimaryCtxRetain(&context, device));
    CU(cuCtxSetCurrent(context));
    CU(cuDeviceGetAttribute(&variant_nsms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
    CU(cuStreamCreate(&variant_stream, CU_STREAM_NON_BLOCKING));
}

void variant_load(struct variant *v, const char *path)
{
    v->name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    v->moves = strncmp(v->name, "walk", 4) != 0;
    v->module = bench_load_module(path);
    for (int i = 0; i < MPII_GPUDT_NKERNELS; i++)
        CU(cuModuleGetFunction(&v->function[i], v->module, MPII_Gpudt_plan_kernel_name(i)));
}

static void launch(const struct variant *v, struct MPII_Gpudt_plan *plan)
{
    void *params[1] = { &plan->args };
    CU(cuLaunchKernel(v->function[plan->kernel], plan->grid, 1, 1, MPII_GPUDT_THREADS, 1, 1, 0,
                      variant_stream, params, NULL));
}

void variant_pair(const struct variant *v, struct MPII_Gpudt_plan_pair *plan)
{
    void *params[1] = { &plan->args };
    CU(cuLaunchKernel(v->function[plan->kernel], plan->grid, 1, 1, MPII_GPUDT_THREADS, 1, 1, 0,
                      variant_stream, params, NULL));
}

static void copy_rows(const struct MPII_Gpudt_copy *copy, int unpack)
{
    const size_t pitch = (size_t) copy->pitch, width = (size_t) copy->width;
    CUDA_MEMCPY3D c;
    memset(&c, 0, sizeof(c));
    c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    c.srcDevice = unpack ? copy->packed : copy->user;
    c.dstDevice = unpack ? copy->user : copy->packed;
    c.srcPitch = unpack ? width : pitch;
    c.dstPitch = unpack ? pitch : width;
    c.srcHeight = (size_t) (unpack ? copy->rows : copy->height);
    c.dstHeight = (size_t) (unpack ? copy->height : copy->rows);
    c.WidthInBytes = width;
    c.Height = (size_t) copy->rows;
    c.Depth = (size_t) copy->planes;
    CU(cuMemcpy3DAsync(&c, variant_stream));
}

void variant_carry_out(const struct variant *v, struct MPII_Gpudt_plan *plan, int unpack)
{
    if (plan->strategy == MPII_GPUDT_STRATEGY__COPY1D)
        CU(cuMemcpyAsync(unpack ? plan->copy.user : plan->copy.packed,
                         unpack ? plan->copy.packed : plan->copy.user,
                         (size_t) plan->copy.width, variant_stream));
    else if (plan->strategy == MPII_GPUDT_STRATEGY__COPY2D)
        copy_rows(&plan->copy, unpack);
    else
        launch(v, plan);
}

/* A table under construction, from the blocks of a layout that is one datatype or several. */
struct table {
    int64_t *at, *end;
    int64_t unit;
};

static void table_block(void *state, int64_t displ, int64_t len)
{
    struct table *t = state;

    if (t->at < t->end)
        t->at = MPII_Gpudt_table_add(t->at, t->unit, displ, len);
}

void upload_make(const struct layout *l, struct upload *up)
{
    up->mem = 0;
    MPII_Gpudt_image_measure(&l->serial, &up->image);
    if (up->image.sz > 0) {
        char *mem = bench_memory((size_t) up->image.sz);
        struct table t = { (int64_t *) (void *) (mem + up->image.index),
            (int64_t *) (void *) (mem + up->image.sz), MPII_Gpudt_table_unit(&l->serial)
        };
        MPII_Gpudt_image_make(&l->serial, &up->image, mem);
        if (up->image.kind == MPII_GPUDT_INDEX__TABLE)
            l->blocks(l, table_block, &t);
        CU(cuMemAlloc(&up->mem, (size_t) up->image.sz));
        CU(cuMemcpyHtoD(up->mem, mem, (size_t) up->image.sz));
        CU(cuCtxSynchronize());
        free(mem);
    }
}

void upload_free(struct upload *up)
{
    if (up->mem != 0)
        CU(cuMemFree(up->mem));
}

void plan_in_set(struct MPII_Gpudt_plan_in *in, const struct layout *l, const struct upload *up)
{
    memset(in, 0, sizeof(*in));
    in->serial = &l->serial;
    in->top = &l->top;
    in->last = l->size;
    in->nsms = variant_nsms;
    MPII_Gpudt_image_place(&up->image, up->mem, &in->image);
    in->allowed = MPII_GPUDT_ALLOW_ALL;
}
