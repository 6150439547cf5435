/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Emulated contexts: primary ones, those made by the program, and each thread's context stack. The
 * object of a destroyed context is kept, so that stale handles are detected. */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "emu.h"
#include "emu_control.h"

#define STACK_DEPTH 32

static struct CUctx_st *contexts;
static struct CUctx_st *primary[EMU_MAX_DEVICES];
static unsigned long long next_id = 1;
static bool helper_runs;

/* Number of retains of primary contexts that are not the test's own, and the caller of the last
 * one. */
static int foreign_retains[EMU_MAX_DEVICES];
static const char *foreign_name[EMU_MAX_DEVICES];

static __thread CUcontext stack[STACK_DEPTH];
static __thread int depth;

bool emu_ctx_valid(CUcontext ctx)
{
    return ctx && ctx->magic == EMU_CTX_MAGIC && ctx->is_alive;
}

CUcontext emu_current(void)
{
    return depth > 0 ? stack[depth - 1] : NULL;
}

struct CUctx_st *emu_ctx_first(void)
{
    return contexts;
}

/* A real driver starts threads of its own when a context is created. Programs may rely on that. */
static void *helper_thread(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static void helper_start(void)
{
    if (!helper_runs)
        helper_runs = emu_thread_start(helper_thread, NULL);
}

/* Caller holds emu_lock. */
static struct CUctx_st *ctx_new(int device, bool is_primary)
{
    struct CUctx_st *ctx = calloc(1, sizeof(*ctx));

    if (ctx == NULL)
        return NULL;
    helper_start();
    ctx->magic = EMU_CTX_MAGIC;
    ctx->device = device;
    ctx->is_primary = is_primary;
    ctx->is_alive = true;
    ctx->id = next_id++;
    ctx->caller = emu_is_quiet()? NULL : emu_caller();
    ctx->next = contexts;
    contexts = ctx;
    ctx->legacy = emu_stream_new(ctx, CU_STREAM_DEFAULT, 0);
    return ctx;
}

/* Frees everything in the context. Caller holds emu_lock. */
static void ctx_end(struct CUctx_st *ctx)
{
    for (struct CUstream_st * s = ctx->streams; s; s = s->next)
        emu_stream_close(s);
    emu_events_close(ctx);
    emu_graphs_close(ctx);
    emu_modules_close(ctx);
    emu_ctx_memory_free(ctx);
    ctx->is_alive = false;
    ctx->retain_count = 0;
    ctx->caller = NULL;
}

CUcontext emu_primary(int device)
{
    /* After its end the next one has another handle, and the references that are left hold it */
    if (primary[device] == NULL || !primary[device]->is_alive) {
        const int retained = primary[device] ? primary[device]->retain_count : 0;

        primary[device] = ctx_new(device, true);
        if (primary[device])
            primary[device]->retain_count = retained;
    }
    return primary[device];
}

CUresult emu_broken(CUcontext ctx)
{
    return __atomic_load_n(&ctx->broken, __ATOMIC_ACQUIRE);
}

void emu_break(CUcontext ctx, CUresult why)
{
    CUresult none = CUDA_SUCCESS;

    __atomic_compare_exchange_n(&ctx->broken, &none, why, false, __ATOMIC_ACQ_REL,
                                __ATOMIC_ACQUIRE);
}

EMU_EXPORT void emu_device_lose(int device, int code)
{
    emu_lock_take();
    for (struct CUctx_st * ctx = contexts; ctx; ctx = ctx->next) {
        if (ctx->device == device)
            emu_break(ctx, code);
    }
    emu_lock_give();
}

void emu_ctx_report(void)
{
    char detail[64];

    for (struct CUctx_st * ctx = contexts; ctx; ctx = ctx->next) {
        if (ctx->is_alive && !ctx->is_primary && ctx->caller) {
            snprintf(detail, sizeof(detail), "of device %d", ctx->device);
            emu_leak("context", ctx->caller, detail);
        }
    }
    for (int d = 0; d < EMU_MAX_DEVICES; d++) {
        if (primary[d] && primary[d]->is_alive && foreign_retains[d] > 0) {
            snprintf(detail, sizeof(detail), "primary of device %d, retained %d times", d,
                     foreign_retains[d]);
            emu_leak("context", foreign_name[d], detail);
        }
    }
}

EMU_EXPORT CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext * ctx, CUdevice device)
{
    EMU_ENTER(EMU_NEED__INIT);
    EMU_CHECK(ctx, CUDA_ERROR_INVALID_VALUE);
    EMU_CHECK(device >= 0 && device < emu_config.nvisible, CUDA_ERROR_INVALID_DEVICE);

    emu_lock_take();
    *ctx = emu_primary(device);
    if (*ctx) {
        (*ctx)->retain_count++;
        if (!emu_is_quiet()) {
            foreign_retains[device]++;
            foreign_name[device] = emu_caller();
        }
    }
    emu_lock_give();
    return emu_leave(*ctx ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

EMU_EXPORT CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice device)
{
    CUresult res = CUDA_SUCCESS;

    EMU_ENTER(EMU_NEED__INIT | EMU_NEED__DO_IT);
    EMU_CHECK(device >= 0 && device < emu_config.nvisible, CUDA_ERROR_INVALID_DEVICE);

    emu_lock_take();
    if (primary[device] == NULL || primary[device]->retain_count == 0) {
        res = CUDA_ERROR_INVALID_CONTEXT;
    } else {
        if (!emu_is_quiet() && foreign_retains[device] > 0)
            foreign_retains[device]--;
        if (--primary[device]->retain_count == 0 && primary[device]->is_alive)
            ctx_end(primary[device]);
    }
    emu_lock_give();
    return emu_leave(res);
}

EMU_EXPORT CUresult CUDAAPI cuDevicePrimaryCtxReset(CUdevice device)
{
    EMU_ENTER(EMU_NEED__INIT);
    EMU_CHECK(device >= 0 && device < emu_config.nvisible, CUDA_ERROR_INVALID_DEVICE);

    emu_lock_take();
    if (primary[device] && primary[device]->is_alive) {
        const int retained = primary[device]->retain_count;

        ctx_end(primary[device]);
        primary[device]->retain_count = retained;
    }
    emu_lock_give();
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags,
                                                       int *active)
{
    EMU_ENTER(EMU_NEED__INIT);
    EMU_CHECK(device >= 0 && device < emu_config.nvisible, CUDA_ERROR_INVALID_DEVICE);

    emu_lock_take();
    *flags = 0;
    *active = primary[device] && primary[device]->is_alive;
    emu_lock_give();
    return emu_leave(CUDA_SUCCESS);
}

static CUresult ctx_push(CUcontext ctx)
{
    if (depth == STACK_DEPTH)
        return CUDA_ERROR_OUT_OF_MEMORY;
    stack[depth++] = ctx;
    return CUDA_SUCCESS;
}

EMU_EXPORT CUresult CUDAAPI cuCtxCreate(CUcontext * ctx, CUctxCreateParams * params,
                                        unsigned int flags, CUdevice device)
{
    EMU_ENTER(EMU_NEED__INIT);
    EMU_CHECK(ctx && params == NULL, CUDA_ERROR_INVALID_VALUE);
    EMU_CHECK(device >= 0 && device < emu_config.nvisible, CUDA_ERROR_INVALID_DEVICE);

    emu_lock_take();
    *ctx = ctx_new(device, false);
    if (*ctx)
        (*ctx)->flags = flags;
    emu_lock_give();
    return emu_leave(*ctx ? ctx_push(*ctx) : CUDA_ERROR_OUT_OF_MEMORY);
}

EMU_EXPORT CUresult CUDAAPI cuCtxDestroy(CUcontext ctx)
{
    EMU_ENTER(EMU_NEED__INIT | EMU_NEED__DO_IT);
    EMU_CHECK(emu_ctx_valid(ctx) && !ctx->is_primary, CUDA_ERROR_INVALID_CONTEXT);

    emu_lock_take();
    ctx_end(ctx);
    emu_lock_give();
    if (emu_current() == ctx)
        depth--;
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuCtxPushCurrent(CUcontext ctx)
{
    EMU_ENTER(EMU_NEED__INIT);
    EMU_CHECK(emu_ctx_valid(ctx), CUDA_ERROR_INVALID_CONTEXT);
    return emu_leave(ctx_push(ctx));
}

EMU_EXPORT CUresult CUDAAPI cuCtxPopCurrent(CUcontext * ctx)
{
    EMU_ENTER(EMU_NEED__INIT | EMU_NEED__DO_IT);
    EMU_CHECK(depth > 0, CUDA_ERROR_INVALID_CONTEXT);
    depth--;
    if (ctx)
        *ctx = stack[depth];
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuCtxSetCurrent(CUcontext ctx)
{
    EMU_ENTER(EMU_NEED__INIT);
    EMU_CHECK(ctx == NULL || emu_ctx_valid(ctx), CUDA_ERROR_INVALID_CONTEXT);
    if (depth > 0)
        depth--;
    return emu_leave(ctx ? ctx_push(ctx) : CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuCtxGetCurrent(CUcontext * ctx)
{
    EMU_ENTER(EMU_NEED__INIT);
    *ctx = emu_current();
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuCtxGetDevice(CUdevice * device)
{
    EMU_ENTER(EMU_NEED__CTX);
    *device = emu_current()->device;
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuCtxGetFlags(unsigned int *flags)
{
    EMU_ENTER(EMU_NEED__CTX);
    *flags = emu_current()->flags;
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuCtxSetFlags(unsigned int flags)
{
    EMU_ENTER(EMU_NEED__CTX);
    emu_current()->flags = flags;
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuCtxGetId(CUcontext ctx, unsigned long long *id)
{
    EMU_ENTER(EMU_NEED__INIT);
    if (ctx == NULL)
        ctx = emu_current();
    EMU_CHECK(emu_ctx_valid(ctx), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    *id = ctx->id;
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuCtxSynchronize(void)
{
    EMU_ENTER(EMU_NEED__CTX | EMU_NEED__DO_IT | EMU_NEED__SAFE);
    return emu_leave(emu_ctx_wait(emu_current()));
}

EMU_EXPORT CUresult CUDAAPI cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    EMU_ENTER(EMU_NEED__CTX);
    *least = 0;
    *greatest = -5;
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
    CUcontext ctx;

    EMU_ENTER(EMU_NEED__CTX);
    ctx = emu_current();
    EMU_CHECK(flags == 0 && emu_ctx_valid(peer), CUDA_ERROR_INVALID_VALUE);
    EMU_CHECK(ctx->device != peer->device, CUDA_ERROR_INVALID_DEVICE);
    EMU_CHECK(emu_config.peer, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    EMU_CHECK(!(ctx->peers & (1u << peer->device)), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    ctx->peers |= 1u << peer->device;
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuCtxDisablePeerAccess(CUcontext peer)
{
    CUcontext ctx;

    EMU_ENTER(EMU_NEED__CTX);
    ctx = emu_current();
    EMU_CHECK(emu_ctx_valid(peer), CUDA_ERROR_INVALID_CONTEXT);
    EMU_CHECK(ctx->peers & (1u << peer->device), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    ctx->peers &= ~(1u << peer->device);
    __atomic_fetch_add(&emu_range_changes, 1, __ATOMIC_RELEASE);
    return emu_leave(CUDA_SUCCESS);
}
