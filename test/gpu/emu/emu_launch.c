/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Emulated launches: a kernel is an operation of its stream and runs in the stream's thread. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu.h"
#include "emu_control.h"

#define PARAMS_MAX ((size_t) 32764)

struct launch {
    const struct emu_kernel *kernel;
    struct emu_launch form;
    CUcontext ctx;
    void **params;              /* point into data */
    char *data;
};

static __thread struct launch *running; /* in a stream's thread: the launch it runs */

static void *kernel_translate(const void *addr, size_t n, size_t align)
{
    static __thread unsigned naccesses;
    void *alias = emu_translate(running->ctx, addr, n);

    if (alias == NULL) {
        fprintf(stderr, "emulated GPU: kernel %s: illegal access to %zu bytes at %p\n",
                running->kernel->name, n, addr);
        emu_fault_raise(CUDA_ERROR_ILLEGAL_ADDRESS);
    }
    if ((uintptr_t) addr % align != 0) {
        fprintf(stderr, "emulated GPU: kernel %s: access to %p needs alignment %zu\n",
                running->kernel->name, addr, align);
        emu_fault_raise(CUDA_ERROR_MISALIGNED_ADDRESS);
    }
    if (emu_config.pause_every && ++naccesses % emu_config.pause_every == 0)
        usleep(1);
    return alias;
}

static void kernel_fail(const char *why)
{
    fprintf(stderr, "emulated GPU: kernel %s: %s\n", running->kernel->name, why);
    emu_fault_raise(CUDA_ERROR_LAUNCH_FAILED);
}

static void launch_body(void *arg)
{
    struct launch *l = arg;

    l->kernel->run(&l->form, l->params);
}

static void launch_run(struct emu_op *op)
{
    CUresult res;

    running = op->args;
    res = emu_fault_guard(launch_body, op->args);
    if (res != CUDA_SUCCESS)
        emu_break(op->stream->ctx, res);
}

static void launch_drop(struct emu_op *op)
{
    struct launch *l = op->args;

    free(l->params);
    free(l->data);
    free(l);
}

bool emu_params_copy(const struct emu_kernel *kernel, void **params, void ***copy, char **data)
{
    size_t total = 0, at = 0;

    for (int i = 0; i < kernel->nparams; i++)
        total += (kernel->param_sz[i] + 15) / 16 * 16;
    if (total > PARAMS_MAX)
        return false;
    *copy = calloc((size_t) kernel->nparams + 1, sizeof(**copy));
    *data = aligned_alloc(16, total + 16);
    if (*copy == NULL || *data == NULL) {
        free(*copy);
        free(*data);
        return false;
    }
    for (int i = 0; i < kernel->nparams; i++) {
        (*copy)[i] = *data + at;
        memcpy((*copy)[i], params[i], kernel->param_sz[i]);
        at += (kernel->param_sz[i] + 15) / 16 * 16;
    }
    return true;
}

static bool shape_valid(const struct emu_launch *form)
{
    size_t threads = (size_t) form->block[0] * form->block[1] * form->block[2];

    for (int i = 0; i < 3; i++) {
        if (form->grid[i] == 0 || form->block[i] == 0 ||
            form->grid[i] > (i == 0 ? 0x7fffffffu : 65535u))
            return false;
    }
    return threads <= 1024 && form->block[2] <= 64;
}

bool emu_launch_valid(CUfunction function, const struct emu_launch *form)
{
    return shape_valid(form) && form->shared_sz <= function->shared_max;
}

CUresult emu_launch_make(const struct emu_kernel *kernel, CUstream stream,
                         const struct emu_launch *form, void **params)
{
    struct launch *l = calloc(1, sizeof(*l));

    if (l == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    l->kernel = kernel;
    l->ctx = stream->ctx;
    l->form = *form;
    l->form.translate = kernel_translate;
    l->form.fail = kernel_fail;
    l->form.seed = emu_random();
    /* Parameters are copied, since the program may reuse its variables at once */
    if (!shape_valid(&l->form) || !emu_params_copy(kernel, params, &l->params, &l->data)) {
        free(l);
        return CUDA_ERROR_INVALID_VALUE;
    }
    return emu_enqueue(stream, launch_run, launch_drop, l, NULL);
}

EMU_EXPORT CUresult CUDAAPI cuLaunchKernel(CUfunction function, unsigned int gx, unsigned int gy,
                                           unsigned int gz, unsigned int bx, unsigned int by,
                                           unsigned int bz, unsigned int shared_sz,
                                           CUstream handle, void **params, void **extra)
{
    struct emu_launch form = { {gx, gy, gz}, {bx, by, bz}, shared_sz };
    CUstream stream;

    EMU_ENTER(EMU_NEED__CTX);
    EMU_CHECK(function && emu_module_valid(function->module), CUDA_ERROR_INVALID_HANDLE);
    stream = emu_stream_get(handle);
    EMU_CHECK(stream && stream->ctx == function->module->ctx, CUDA_ERROR_INVALID_HANDLE);
    EMU_CHECK(extra == NULL && shared_sz <= function->shared_max, CUDA_ERROR_INVALID_VALUE);
    return emu_leave(emu_launch_make(function->kernel, stream, &form, params));
}

EMU_EXPORT int emu_kernel_launch(const struct emu_kernel *kernel, const unsigned grid[3],
                                 const unsigned block[3], size_t shared_sz, void *handle,
                                 void **params)
{
    struct emu_launch form = { {grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]},
    shared_sz
    };
    CUstream stream;

    EMU_ENTER(EMU_NEED__CTX);
    EMU_CHECK(kernel, CUDA_ERROR_INVALID_HANDLE);
    stream = emu_stream_get(handle);
    EMU_CHECK(stream && stream->ctx == emu_current(), CUDA_ERROR_INVALID_HANDLE);
    EMU_CHECK(shared_sz <= EMU_SHARED_DEFAULT, CUDA_ERROR_INVALID_VALUE);
    return (int) emu_leave(emu_launch_make(kernel, stream, &form, params));
}
