/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Loads the kernels' image, once for each engine, and finds functions in it by kernel id. Knows
 * neither datatypes nor launches. */

#include "mpiimpl.h"
#include "gpudt_module.h"
#include "gpudt_error.h"
#include "tuning/gpudt_tuning.h"
#include "plan/gpudt_plan.h"

/* The image: machine code for the architectures that were built, and PTX for later ones. Made from
 * gpudt_kernels.cu, see embed-fatbin. */
extern const unsigned char MPII_Gpudt_fatbin[];

/* Kernels that are asked for in vain before the driver is asked again whether there is memory for the image.
 * Each time it may wait for all kernels that run. */
#define REFUSED_LOOKS 1000

static MPL_initlock_t module_lock = MPL_INITLOCK_INITIALIZER;

static int module_load(MPII_Gpudt_engine_t * engine);

static enum MPII_Gpudt_module_e state_of(MPII_Gpudt_engine_t * engine)
{
    return (enum MPII_Gpudt_module_e) MPL_atomic_acquire_load_int(&engine->module_state);
}

/* The driver's error codes for an image that can never run on this device. */
static bool means_no_image(CUresult res)
{
    switch (res) {
        case CUDA_ERROR_NO_BINARY_FOR_GPU:
        case CUDA_ERROR_INVALID_IMAGE:
        case CUDA_ERROR_INVALID_PTX:
        case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
        case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
        case CUDA_ERROR_JIT_COMPILATION_DISABLED:
            return true;
        default:
            return false;
    }
}

/* Look up a function in the image. Caller holds module_lock. A driver with lazy loading looks for
 * machine code only now. */
static int function_find(MPII_Gpudt_engine_t * engine, int kernel, CUfunction * function)
{
    int mpi_errno = MPI_SUCCESS;
    CUresult res;

    res = engine->drv->cuModuleGetFunction(function, engine->module,
                                           MPII_Gpudt_plan_kernel_name(kernel));
    if (means_no_image(res)) {
        *function = NULL;
        for (int i = 0; i < MPII_GPUDT_NKERNELS; i++)
            MPL_atomic_release_store_ptr(&engine->kernels[i], NULL);
        engine->drv->cuModuleUnload(engine->module);
        MPL_atomic_release_store_int(&engine->module_state, MPII_GPUDT_MODULE__NONE);
    } else if (res == CUDA_ERROR_OUT_OF_MEMORY) {
        *function = NULL;
    } else if (res != CUDA_SUCCESS) {
        mpi_errno = MPII_Gpudt_driver_error(engine->drv, res, "cuModuleGetFunction", __func__,
                                            __LINE__);
        goto fn_fail;
    } else {
        MPL_atomic_release_store_int(&engine->is_modest[kernel], false);
        MPL_atomic_release_store_ptr(&engine->kernels[kernel], *function);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPII_Gpudt_module_kernel(MPII_Gpudt_engine_t * engine, int kernel, CUfunction * function)
{
    int mpi_errno = MPI_SUCCESS;

    *function = MPL_atomic_acquire_load_ptr(&engine->kernels[kernel]);
    if (likely(*function))
        return mpi_errno;

    MPL_initlock_lock(&module_lock);
    mpi_errno = module_load(engine);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    *function = MPL_atomic_acquire_load_ptr(&engine->kernels[kernel]);
    if (*function == NULL && state_of(engine) == MPII_GPUDT_MODULE__LOADED) {
        mpi_errno = function_find(engine, kernel, function);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    MPL_initlock_unlock(&module_lock);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPII_Gpudt_module_modest(MPII_Gpudt_engine_t * engine, int kernel, CUfunction function,
                              bool is_modest)
{
    const MPII_Gpudt_driver_t *drv = engine->drv;

    if (drv->cuFuncSetAttribute == NULL ||
        likely(MPL_atomic_acquire_load_int(&engine->is_modest[kernel]) == is_modest))
        return;
    MPL_initlock_lock(&module_lock);
    /* A failure only costs speed */
    drv->cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                            is_modest ? MPII_GPUDT_MODEST_CARVEOUT : CU_SHAREDMEM_CARVEOUT_DEFAULT);
    MPL_atomic_release_store_int(&engine->is_modest[kernel], is_modest);
    MPL_initlock_unlock(&module_lock);
}

int MPII_Gpudt_module_usable(MPII_Gpudt_engine_t * engine, bool * usable)
{
    int mpi_errno = MPI_SUCCESS;

    *usable = state_of(engine) == MPII_GPUDT_MODULE__LOADED;
    if (likely(*usable))
        return mpi_errno;
    MPL_initlock_lock(&module_lock);
    mpi_errno = module_load(engine);
    *usable = state_of(engine) == MPII_GPUDT_MODULE__LOADED;
    MPL_initlock_unlock(&module_lock);
    return mpi_errno;
}

/* Caller holds module_lock. After a temporary failure the next operation tries again; without memory
 * operations do without kernels, and a later one tries again. */
static int module_load(MPII_Gpudt_engine_t * engine)
{
    int mpi_errno = MPI_SUCCESS;
    CUresult res;

    if (likely(state_of(engine) != MPII_GPUDT_MODULE__NEW))
        goto fn_exit;
    if (engine->refused_looks > 0) {
        engine->refused_looks--;
        goto fn_exit;
    }

    res = engine->drv->cuModuleLoadData(&engine->module, MPII_Gpudt_fatbin);
    if (res == CUDA_SUCCESS) {
        MPL_atomic_release_store_int(&engine->module_state, MPII_GPUDT_MODULE__LOADED);
    } else if (means_no_image(res)) {
        MPL_atomic_release_store_int(&engine->module_state, MPII_GPUDT_MODULE__NONE);
    } else if (res == CUDA_ERROR_OUT_OF_MEMORY) {
        engine->refused_looks = REFUSED_LOOKS;
    } else {
        mpi_errno = MPII_Gpudt_driver_error(engine->drv, res, "cuModuleLoadData", __func__,
                                            __LINE__);
        goto fn_fail;
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPII_Gpudt_module_free(MPII_Gpudt_engine_t * engine, bool is_alive)
{
    if (is_alive && state_of(engine) == MPII_GPUDT_MODULE__LOADED)
        engine->drv->cuModuleUnload(engine->module);
}
