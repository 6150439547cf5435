/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Emulated copies and fills. All of them are boxes of rows. A call blocks only as long as CUDA
 * guarantees: a copy from pageable memory until it is read, one to pageable memory until it is
 * written. Copies from pageable memory to a device, copies between devices and fills return at once
 * even in their synchronous form, unless an attribute of the memory or the context makes them
 * synchronous. */

#include <stdlib.h>
#include <string.h>

#include "emu.h"

struct side {
    uintptr_t addr;
    size_t row_pitch;           /* bytes between rows */
    size_t plane_rows;          /* rows between planes */
};

struct box {
    struct side dst, src;
    size_t width, height, depth;        /* bytes, rows, planes */
    int fill;                   /* byte to store instead of a copy, or -1 */
    void *staging;              /* copy of a pageable source, owned, or NULL */
};

enum place { PLACE__PAGEABLE, PLACE__PINNED, PLACE__DEVICE, PLACE__BAD };

static size_t side_span(const struct side *side, const struct box *box)
{
    size_t rows = (box->depth - 1) * side->plane_rows + box->height;

    return (rows - 1) * side->row_pitch + box->width;
}

/* Pools and mapped ranges have their own access rights; no other device may access a pool. */
static bool is_forbidden(const struct emu_range *range, CUstream stream)
{
    if (range->kind == EMU_KIND__VMM || range->kind == EMU_KIND__IMPORTED)
        return !((range->access >> stream->ctx->device) & 1);
    return range->kind == EMU_KIND__POOL && range->device != stream->ctx->device;
}

/* Whether n bytes at an address of a range are within it and mapped ranges that adjoin it, to which
 * the stream's device has access. */
static bool is_within(const struct emu_range *range, uintptr_t addr, size_t n, CUstream stream)
{
    while (range && n > range->size - (addr - range->base)) {
        if (range->kind != EMU_KIND__VMM)
            return false;
        n -= range->size - (addr - range->base);
        addr = range->base + range->size;
        range = emu_range_find(addr);
        if (range && (range->kind != EMU_KIND__VMM || is_forbidden(range, stream)))
            return false;
    }
    return range != NULL;
}

/* The place of a side. *sync becomes true if the memory's attribute requires synchronous copies;
 * memory of pools has the attribute for fills only. */
static enum place side_place(const struct side *side, const struct box *box, CUstream stream,
                             bool * sync)
{
    struct emu_range *range;
    enum place place = PLACE__PAGEABLE;
    size_t span = side_span(side, box);

    emu_lock_take();
    range = emu_range_find(side->addr);
    if (range) {
        *sync |= range->sync_memops && (range->kind != EMU_KIND__POOL || box->fill >= 0);
        if (!is_within(range, side->addr, span, stream))
            place = range->kind == EMU_KIND__REGISTERED ? PLACE__PAGEABLE : PLACE__BAD;
        else if (is_forbidden(range, stream))
            place = PLACE__BAD;
        else if (emu_window_device(side->addr) >= 0)
            place = PLACE__DEVICE;
        else
            place = PLACE__PINNED;
    } else if (emu_window_device(side->addr) >= 0) {
        emu_stale_missed(side->addr);
        place = PLACE__BAD;     /* freed, or past the end */
    }
    emu_lock_give();
    return place;
}

static char *row_of(const struct side *side, size_t row, size_t plane)
{
    return (char *) emu_alias(side->addr) + (plane * side->plane_rows + row) * side->row_pitch;
}

static void box_move(void *arg)
{
    const struct box *box = arg;

    for (size_t plane = 0; plane < box->depth; plane++) {
        for (size_t row = 0; row < box->height; row++) {
            if (box->fill >= 0)
                memset(row_of(&box->dst, row, plane), box->fill, box->width);
            else
                memmove(row_of(&box->dst, row, plane), row_of(&box->src, row, plane), box->width);
        }
    }
}

static void box_check(const struct box *box)
{
    emu_stale_check(box->dst.addr);
    if (box->fill < 0)
        emu_stale_check(box->src.addr);
}

static void box_run(struct emu_op *op)
{
    CUresult res;

    /* Memory of another process must be live from the beginning of a copy to its end. */
    box_check(op->args);
    res = emu_fault_guard(box_move, op->args);
    box_check(op->args);
    if (res != CUDA_SUCCESS)
        emu_break(op->stream->ctx, res);
}

static void box_drop(struct emu_op *op)
{
    struct box *box = op->args;

    free(box->staging);
    free(box);
}

/* Read a pageable source now, since the program may change it after the call. */
static bool box_stage(struct box *box)
{
    struct box copy = *box;

    box->staging = malloc(box->width * box->height * box->depth);
    if (box->staging == NULL)
        return false;
    copy.dst.addr = (uintptr_t) box->staging;
    copy.dst.row_pitch = box->width;
    copy.dst.plane_rows = box->height;
    box_move(&copy);
    box->src = copy.dst;
    return true;
}

/* Enqueue a box; wait: the call is a synchronous one. */
static CUresult box_start(const struct box *form, CUstream stream, bool wait)
{
    bool sync = stream->ctx->flags & CU_CTX_SYNC_MEMOPS;
    enum place from, to;
    struct box *box;
    CUresult res;

    if (form->width == 0 || form->height == 0 || form->depth == 0)
        return CUDA_SUCCESS;
    to = side_place(&form->dst, form, stream, &sync);
    from = form->fill >= 0 ? PLACE__DEVICE : side_place(&form->src, form, stream, &sync);
    if (to == PLACE__BAD || from == PLACE__BAD)
        return CUDA_ERROR_INVALID_VALUE;
    if (form->fill >= 0 && to == PLACE__PAGEABLE)
        return CUDA_ERROR_INVALID_VALUE;

    box = malloc(sizeof(*box));
    if (box == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *box = *form;
    box->staging = NULL;
    if (from == PLACE__PAGEABLE && !box_stage(box)) {
        free(box);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }

    res = emu_enqueue(stream, box_run, box_drop, box, NULL);
    if (res != CUDA_SUCCESS)
        return res;
    if (to == PLACE__PAGEABLE ||
        (wait && (sync || to == PLACE__PINNED || from == PLACE__PINNED)))
        return emu_stream_wait(stream);
    return CUDA_SUCCESS;
}

CUresult emu_copy(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream stream, bool wait)
{
    struct box box = {.width = n,.height = 1,.depth = 1,.fill = -1 };

    box.dst.addr = dst;
    box.src.addr = src;
    return box_start(&box, stream, wait);
}

/* The unified and the directed forms are the same here: the address tells the kind of memory. */
#define COPY_ASYNC(dst_, src_, n_, handle_)                                     \
    CUstream stream;                                                            \
    EMU_ENTER(EMU_NEED__CTX);                                                   \
    stream = emu_stream_get(handle_);                                           \
    EMU_CHECK(stream, CUDA_ERROR_INVALID_HANDLE);                               \
    return emu_leave(emu_copy((CUdeviceptr) (dst_), (CUdeviceptr) (src_), n_, stream, false))

#define COPY_SYNC(dst_, src_, n_)                                               \
    EMU_ENTER(EMU_NEED__CTX | EMU_NEED__SAFE);                                  \
    return emu_leave(emu_copy((CUdeviceptr) (dst_), (CUdeviceptr) (src_), n_,   \
                              emu_current()->legacy, true))

EMU_EXPORT CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t n,
                                          CUstream handle)
{
    COPY_ASYNC(dst, src, n, handle);
}

EMU_EXPORT CUresult CUDAAPI cuMemcpyHtoDAsync(CUdeviceptr dst, const void *src, size_t n,
                                              CUstream handle)
{
    COPY_ASYNC(dst, src, n, handle);
}

EMU_EXPORT CUresult CUDAAPI cuMemcpyDtoHAsync(void *dst, CUdeviceptr src, size_t n,
                                              CUstream handle)
{
    COPY_ASYNC(dst, src, n, handle);
}

EMU_EXPORT CUresult CUDAAPI cuMemcpyDtoDAsync(CUdeviceptr dst, CUdeviceptr src, size_t n,
                                              CUstream handle)
{
    COPY_ASYNC(dst, src, n, handle);
}

EMU_EXPORT CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src,
                                              CUcontext src_ctx, size_t n, CUstream handle)
{
    CUstream stream;

    EMU_ENTER(EMU_NEED__CTX);
    EMU_CHECK(emu_ctx_valid(dst_ctx) && emu_ctx_valid(src_ctx), CUDA_ERROR_INVALID_CONTEXT);
    stream = emu_stream_get(handle);
    EMU_CHECK(stream, CUDA_ERROR_INVALID_HANDLE);
    return emu_leave(emu_copy(dst, src, n, stream, false));
}

EMU_EXPORT CUresult CUDAAPI cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t n)
{
    COPY_SYNC(dst, src, n);
}

EMU_EXPORT CUresult CUDAAPI cuMemcpyHtoD(CUdeviceptr dst, const void *src, size_t n)
{
    COPY_SYNC(dst, src, n);
}

EMU_EXPORT CUresult CUDAAPI cuMemcpyDtoH(void *dst, CUdeviceptr src, size_t n)
{
    COPY_SYNC(dst, src, n);
}

EMU_EXPORT CUresult CUDAAPI cuMemcpyDtoD(CUdeviceptr dst, CUdeviceptr src, size_t n)
{
    COPY_SYNC(dst, src, n);
}

/* Base address of one side of a 2-D or 3-D copy; 0 for a CUDA array, which is not emulated. */
static uintptr_t side_base(CUmemorytype type, const void *host, CUdeviceptr device)
{
    switch (type) {
        case CU_MEMORYTYPE_HOST:
            return (uintptr_t) host;
        case CU_MEMORYTYPE_DEVICE:
        case CU_MEMORYTYPE_UNIFIED:
            return device;
        default:
            return 0;
    }
}

static bool side_set(struct side *side, uintptr_t base, size_t x, size_t y, size_t z,
                     size_t pitch, size_t rows)
{
    side->row_pitch = pitch;
    side->plane_rows = rows;
    side->addr = base + (z * rows + y) * pitch + x;
    return base != 0;
}

EMU_EXPORT CUresult CUDAAPI cuMemcpy2DAsync(const CUDA_MEMCPY2D * c, CUstream handle)
{
    struct box box = {.width = c->WidthInBytes,.height = c->Height,.depth = 1,.fill = -1 };
    CUstream stream;

    EMU_ENTER(EMU_NEED__CTX);
    stream = emu_stream_get(handle);
    EMU_CHECK(stream, CUDA_ERROR_INVALID_HANDLE);
    EMU_CHECK(side_set(&box.src, side_base(c->srcMemoryType, c->srcHost, c->srcDevice),
                       c->srcXInBytes, c->srcY, 0, c->srcPitch, 0) &&
              side_set(&box.dst, side_base(c->dstMemoryType, c->dstHost, c->dstDevice),
                       c->dstXInBytes, c->dstY, 0, c->dstPitch, 0), CUDA_ERROR_INVALID_VALUE);
    EMU_CHECK(c->Height <= 1 || (c->srcPitch >= c->srcXInBytes + c->WidthInBytes &&
                                 c->dstPitch >= c->dstXInBytes + c->WidthInBytes),
              CUDA_ERROR_INVALID_VALUE);
    return emu_leave(box_start(&box, stream, false));
}

EMU_EXPORT CUresult CUDAAPI cuMemcpy3DAsync(const CUDA_MEMCPY3D * c, CUstream handle)
{
    struct box box = {.width = c->WidthInBytes,.height = c->Height,.depth = c->Depth,.fill = -1 };
    CUstream stream;

    EMU_ENTER(EMU_NEED__CTX);
    stream = emu_stream_get(handle);
    EMU_CHECK(stream, CUDA_ERROR_INVALID_HANDLE);
    EMU_CHECK(side_set(&box.src, side_base(c->srcMemoryType, c->srcHost, c->srcDevice),
                       c->srcXInBytes, c->srcY, c->srcZ, c->srcPitch, c->srcHeight) &&
              side_set(&box.dst, side_base(c->dstMemoryType, c->dstHost, c->dstDevice),
                       c->dstXInBytes, c->dstY, c->dstZ, c->dstPitch, c->dstHeight),
              CUDA_ERROR_INVALID_VALUE);
    EMU_CHECK(c->srcPitch >= c->srcXInBytes + c->WidthInBytes &&
              c->dstPitch >= c->dstXInBytes + c->WidthInBytes &&
              c->srcHeight >= c->srcY + c->Height && c->dstHeight >= c->dstY + c->Height,
              CUDA_ERROR_INVALID_VALUE);
    return emu_leave(box_start(&box, stream, false));
}

static CUresult fill(CUdeviceptr dst, unsigned char value, size_t n, CUstream stream, bool wait)
{
    struct box box = {.width = n,.height = 1,.depth = 1,.fill = value };

    box.dst.addr = dst;
    return box_start(&box, stream, wait);
}

EMU_EXPORT CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t n,
                                            CUstream handle)
{
    CUstream stream;

    EMU_ENTER(EMU_NEED__CTX);
    stream = emu_stream_get(handle);
    EMU_CHECK(stream, CUDA_ERROR_INVALID_HANDLE);
    return emu_leave(fill(dst, value, n, stream, false));
}

EMU_EXPORT CUresult CUDAAPI cuMemsetD8(CUdeviceptr dst, unsigned char value, size_t n)
{
    EMU_ENTER(EMU_NEED__CTX | EMU_NEED__SAFE);
    return emu_leave(fill(dst, value, n, emu_current()->legacy, true));
}
