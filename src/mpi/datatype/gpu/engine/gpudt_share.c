/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Maps memory of gpudt_alloc.c in other processes, for the program's own kernels: see gpudt_alloc.h.
 * Unlike an import (gpudt_import.h), which is kept to save time, such a mapping exists from one call
 * to another. Then imports of the same memory end as well. Must not know windows. */

#include "mpiimpl.h"
#include "gpudt_alloc.h"
#include "gpudt_contexts.h"
#include "gpudt_error.h"
#include "gpudt_import.h"
#include "driver/gpudt_ptr.h"
#include "type/gpudt_record.h"

struct handle {
    CUipcMemHandle ipc;
    uint64_t process;           /* as in an export */
    unsigned long long id;
};
MPII_GPUDT_STATIC_ASSERT(sizeof(struct handle) <= MPIR_GPUDT_HANDLE_SZ, "it has room");

struct MPIR_Gpudt_share {
    MPII_Gpudt_engine_t *engine;
    CUdeviceptr mem;
    struct handle handle;
};

/* Whether the driver has the functions. */
static bool has_functions(const MPII_Gpudt_driver_t * drv)
{
    return drv->cuIpcGetMemHandle && drv->cuIpcOpenMemHandle && drv->cuIpcCloseMemHandle;
}

int MPIR_Gpudt_share_name(void *mem, void *handle)
{
    int mpi_errno = MPI_SUCCESS;
    const MPII_Gpudt_driver_t *drv = MPII_Gpudt_driver_get();
    MPII_Gpudt_ctx_t entered = {.ctx = NULL };
    MPII_Gpudt_engine_t *engine;
    MPIR_Gpudt_ptr_t ptr;
    struct handle h = {.process = MPII_Gpudt_export_process() };

    MPIR_ERR_CHKANDJUMP1(!drv || !has_functions(drv), mpi_errno, MPI_ERR_OTHER, "**gpudt_win_share",
                         "**gpudt_win_share %s", MPIR_Gpudt_kind_name(MPIR_GPUDT_KIND__DEVICE));
    mpi_errno = MPIR_Gpudt_query_ptr(mem, &ptr);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    mpi_errno = MPII_Gpudt_engine_enter(drv, ptr.device, ptr.ctx, &engine, &entered);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPII_GPUDT_CHECK(drv, cuIpcGetMemHandle(&h.ipc, (CUdeviceptr) (uintptr_t) mem), mpi_errno);
    MPII_GPUDT_CHECK(drv, cuPointerGetAttribute(&h.id, CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                                (CUdeviceptr) (uintptr_t) mem), mpi_errno);
    memcpy(handle, &h, sizeof(h));

  fn_exit:
    if (entered.ctx)
        MPII_Gpudt_ctx_leave(drv, &entered);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The driver lets only one context of a device map memory of a device of another process, and refuses
 * memory in the place of some that was freed and is still mapped. Driver 580.159 has also called the
 * handle of good memory invalid, and taken it after that. What messages and other windows have
 * mapped may be the reason, and can be mapped again. */
static CUresult handle_open(const MPII_Gpudt_driver_t * drv, const struct handle *h,
                            CUdeviceptr * mem)
{
    CUresult res = drv->cuIpcOpenMemHandle(mem, h->ipc, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);

    if ((res == CUDA_ERROR_INVALID_CONTEXT || res == CUDA_ERROR_ALREADY_MAPPED ||
         res == CUDA_ERROR_INVALID_HANDLE) && MPII_Gpudt_engines_are_idle()) {
        MPII_Gpudt_import_drop(h->process);
        res = drv->cuIpcOpenMemHandle(mem, h->ipc, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    }
    return res;
}

int MPIR_Gpudt_share_open(const void *handle, MPIR_Gpudt_share_t ** share, void **addr)
{
    int mpi_errno = MPI_SUCCESS;
    const char *reason = "MPIR_CVAR_ENABLE_GPU is 0";
    const MPII_Gpudt_driver_t *drv = MPIR_CVAR_ENABLE_GPU ? MPII_Gpudt_driver_init(&reason) : NULL;
    MPII_Gpudt_ctx_t entered = {.ctx = NULL };
    MPIR_Gpudt_share_t *s = NULL;
    CUresult res;

    MPIR_ERR_CHKANDJUMP1(!drv, mpi_errno, MPI_ERR_OTHER, "**gpudt_none", "**gpudt_none %s", reason);
    MPIR_ERR_CHKANDJUMP1(!has_functions(drv), mpi_errno, MPI_ERR_OTHER, "**gpudt_win_share",
                         "**gpudt_win_share %s", MPIR_Gpudt_kind_name(MPIR_GPUDT_KIND__DEVICE));
    s = MPL_calloc(1, sizeof(*s), MPL_MEM_RMA);
    MPII_GPUDT_ERR_NOMEM(!s, mpi_errno, "GPU window");
    mpi_errno = MPII_Gpudt_engine_current(drv, &s->engine, &entered);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    memcpy(&s->handle, handle, sizeof(s->handle));
    res = handle_open(drv, &s->handle, &s->mem);
    if (unlikely(res != CUDA_SUCCESS)) {
        mpi_errno = MPII_Gpudt_driver_error(drv, res, "cuIpcOpenMemHandle", __func__, __LINE__);
        goto fn_fail;
    }
    *share = s;
    *addr = (void *) (uintptr_t) s->mem;

  fn_exit:
    if (entered.ctx)
        MPII_Gpudt_ctx_leave(drv, &entered);
    return mpi_errno;
  fn_fail:
    MPL_free(s);
    goto fn_exit;
}

/* A mapping ends with its context. If the driver fails to unmap, nothing can be done. */
void MPIR_Gpudt_share_close(MPIR_Gpudt_share_t * share)
{
    MPII_Gpudt_ctx_t entered;

    if (share && MPII_Gpudt_engine_reenter_twice(share->engine, &entered) == MPI_SUCCESS) {
        share->engine->drv->cuIpcCloseMemHandle(share->mem);
        MPII_Gpudt_ctx_leave(share->engine->drv, &entered);
    }
    if (share)
        MPII_Gpudt_import_close(share->handle.process, share->handle.id);
    MPL_free(share);
}
