/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Emulated modules and functions. Whichever image is loaded, its kernels are those of the shared
 * object that EMU_KERNELS names: the same source compiled for the CPU. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu.h"

#define SHARED_MAX ((size_t) 227 << 10)

static struct CUmod_st *modules;

bool emu_module_valid(CUmodule module)
{
    return module && module->magic == EMU_MODULE_MAGIC && module->is_alive;
}

void emu_modules_close(CUcontext ctx)
{
    for (struct CUmod_st * m = modules; m; m = m->next) {
        if (m->ctx == ctx)
            m->is_alive = false;
    }
}

void emu_module_report(void)
{
    for (struct CUmod_st * m = modules; m; m = m->next) {
        if (m->is_alive && !m->quiet && emu_broken(m->ctx) == CUDA_SUCCESS)
            emu_leak("module", m->caller, "loaded");
    }
}

/* Whether an image has a format that a driver loads: a fat binary, one wrapped by nvcc, an ELF
 * image, or PTX. */
static bool image_known(const void *image)
{
    static const unsigned char magics[][4] = {
        {0x50, 0xed, 0x55, 0xba}, {0xb1, 0x43, 0x62, 0x46}, {0x7f, 'E', 'L', 'F'}
    };

    for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++) {
        if (memcmp(image, magics[i], 4) == 0)
            return true;
    }
    return strncmp(image, ".version", 8) == 0 || strncmp(image, "//", 2) == 0;
}

static CUresult module_load(CUmodule * module, const void *image)
{
    struct CUmod_st *m;
    void *object;

    if (module == NULL || image == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (!image_known(image))
        return CUDA_ERROR_INVALID_IMAGE;
    if (emu_config.kernels == NULL)
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    object = dlopen(emu_config.kernels, RTLD_NOW | RTLD_LOCAL);
    if (object == NULL) {
        fprintf(stderr, "emulated GPU: %s\n", dlerror());
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    m = calloc(1, sizeof(*m));
    if (m == NULL) {
        dlclose(object);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    m->magic = EMU_MODULE_MAGIC;
    m->ctx = emu_current();
    m->is_alive = true;
    m->quiet = emu_is_quiet();
    m->caller = emu_caller();
    m->object = object;
    emu_lock_take();
    m->next = modules;
    modules = m;
    emu_lock_give();
    *module = m;
    return CUDA_SUCCESS;
}

EMU_EXPORT CUresult CUDAAPI cuModuleLoadData(CUmodule * module, const void *image)
{
    EMU_ENTER(EMU_NEED__CTX | EMU_NEED__SAFE);
    return emu_leave(module_load(module, image));
}

EMU_EXPORT CUresult CUDAAPI cuModuleLoadDataEx(CUmodule * module, const void *image, unsigned int n,
                                               CUjit_option * options, void **values)
{
    (void) n;
    (void) options;
    (void) values;
    EMU_ENTER(EMU_NEED__CTX | EMU_NEED__SAFE);
    return emu_leave(module_load(module, image));
}

EMU_EXPORT CUresult CUDAAPI cuModuleUnload(CUmodule module)
{
    EMU_ENTER(EMU_NEED__CTX | EMU_NEED__DO_IT | EMU_NEED__SAFE);
    EMU_CHECK(emu_module_valid(module), CUDA_ERROR_INVALID_HANDLE);
    emu_ctx_wait(module->ctx);
    emu_lock_take();
    module->is_alive = false;
    emu_lock_give();
    /* The object stays mapped, since that costs little. */
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuModuleGetFunction(CUfunction * function, CUmodule module,
                                                const char *name)
{
    char symbol[256];
    const struct emu_kernel *kernel;
    struct CUfunc_st *f;

    EMU_ENTER(EMU_NEED__CTX);
    EMU_CHECK(function && name, CUDA_ERROR_INVALID_VALUE);
    EMU_CHECK(emu_module_valid(module), CUDA_ERROR_INVALID_HANDLE);
    snprintf(symbol, sizeof(symbol), "emu_kernel_%s", name);
    kernel = dlsym(module->object, symbol);
    EMU_CHECK(kernel, CUDA_ERROR_NOT_FOUND);

    f = calloc(1, sizeof(*f));
    EMU_CHECK(f, CUDA_ERROR_OUT_OF_MEMORY);
    f->kernel = kernel;
    f->module = module;
    f->shared_max = EMU_SHARED_DEFAULT;
    emu_lock_take();
    f->next = module->functions;
    module->functions = f;
    emu_lock_give();
    *function = f;
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute,
                                               int value)
{
    EMU_ENTER(EMU_NEED__CTX);
    EMU_CHECK(function && emu_module_valid(function->module), CUDA_ERROR_INVALID_HANDLE);
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
        EMU_CHECK(value >= 0 && (size_t) value <= SHARED_MAX, CUDA_ERROR_INVALID_VALUE);
        function->shared_max = (size_t) value;
    }
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuFuncGetAttribute(int *value, CUfunction_attribute attribute,
                                               CUfunction function)
{
    EMU_ENTER(EMU_NEED__CTX);
    EMU_CHECK(function && emu_module_valid(function->module), CUDA_ERROR_INVALID_HANDLE);
    switch (attribute) {
        case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
            *value = 1024;
            break;
        case CU_FUNC_ATTRIBUTE_NUM_REGS:
            *value = 32;
            break;
        case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
            *value = (int) function->shared_max;
            break;
        default:
            *value = 0;
            break;
    }
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                                        CUfunction function,
                                                                        int block_size,
                                                                        size_t shared_sz)
{
    EMU_ENTER(EMU_NEED__CTX);
    EMU_CHECK(function && emu_module_valid(function->module), CUDA_ERROR_INVALID_HANDLE);
    EMU_CHECK(block_size > 0 && shared_sz <= SHARED_MAX, CUDA_ERROR_INVALID_VALUE);
    *blocks = block_size > 1024 ? 0 : 2048 / block_size;
    if (shared_sz > 0 && (size_t) *blocks > SHARED_MAX / shared_sz)
        *blocks = (int) (SHARED_MAX / shared_sz);
    return emu_leave(CUDA_SUCCESS);
}
