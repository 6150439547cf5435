/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Allocates memory for the program, see gpudt_alloc.h, and knows it again when it is freed. An
 * allocation belongs to the engine of its context: it ends with it, and MPI_Finalize frees what the
 * program has left. Must not know windows. */

#include "mpiimpl.h"
#include "gpudt_alloc.h"
#include "gpudt_contexts.h"
#include "gpudt_error.h"

struct alloc {
    struct alloc *next, *prev;
    MPII_Gpudt_engine_t *engine;
    enum MPIR_Gpudt_kind_e kind;
    void *mem;
};

MPL_atomic_int_t MPIR_Gpudt_nallocs = MPL_ATOMIC_INT_T_INITIALIZER(0);

static struct alloc *allocs = NULL;     /* the last one first */
static MPL_initlock_t alloc_lock = MPL_INITLOCK_INITIALIZER;    /* guards it */

/* ---- the driver's calls, in the memory's context ---- */

static int mem_get(const MPII_Gpudt_driver_t * drv, enum MPIR_Gpudt_kind_e kind, size_t sz,
                   void **mem)
{
    int mpi_errno = MPI_SUCCESS;
    CUdeviceptr addr = 0;

    switch (kind) {
        case MPIR_GPUDT_KIND__HOST:
            MPII_GPUDT_CHECK(drv, cuMemHostAlloc(mem, sz, CU_MEMHOSTALLOC_PORTABLE |
                                                 CU_MEMHOSTALLOC_DEVICEMAP), mpi_errno);
            goto fn_exit;
        case MPIR_GPUDT_KIND__MANAGED:
            MPII_GPUDT_CHECK(drv, cuMemAllocManaged(&addr, sz, CU_MEM_ATTACH_GLOBAL), mpi_errno);
            break;
        default:
            MPII_GPUDT_CHECK(drv, cuMemAlloc(&addr, sz), mpi_errno);
            break;
    }
    *mem = (void *) (uintptr_t) addr;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int mem_put(const MPII_Gpudt_driver_t * drv, const struct alloc *a)
{
    int mpi_errno = MPI_SUCCESS;

    if (a->kind == MPIR_GPUDT_KIND__HOST)
        MPII_GPUDT_CHECK(drv, cuMemFreeHost(a->mem), mpi_errno);
    else
        MPII_GPUDT_CHECK(drv, cuMemFree((CUdeviceptr) (uintptr_t) a->mem), mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- the list ---- */

static void list_add(struct alloc *a)
{
    MPL_initlock_lock(&alloc_lock);
    DL_PREPEND(allocs, a);
    MPL_atomic_fetch_add_int(&MPIR_Gpudt_nallocs, 1);
    MPL_initlock_unlock(&alloc_lock);
}

/* Take an allocation from the list: by its address, or if that is NULL the next one of an engine. NULL:
 * there is none. */
static struct alloc *list_take(const void *mem, const MPII_Gpudt_engine_t * engine)
{
    struct alloc *a;

    MPL_initlock_lock(&alloc_lock);
    DL_FOREACH(allocs, a) {
        if (mem ? a->mem == mem : a->engine == engine)
            break;
    }
    if (a) {
        DL_DELETE(allocs, a);
        MPL_atomic_fetch_sub_int(&MPIR_Gpudt_nallocs, 1);
    }
    MPL_initlock_unlock(&alloc_lock);
    return a;
}

/* Callback of MPII_Gpudt_engine_at_end. */
static void engine_ends(MPII_Gpudt_engine_t * engine, bool is_alive)
{
    struct alloc *a;

    while ((a = list_take(NULL, engine)) != NULL) {
        if (is_alive)
            (void) mem_put(engine->drv, a);
        MPL_free(a);
    }
}

/* ---- allocating and freeing ---- */

int MPIR_Gpudt_mem_alloc(MPI_Aint size, enum MPIR_Gpudt_kind_e kind, void **mem)
{
    int mpi_errno = MPI_SUCCESS;
    const char *reason = "MPIR_CVAR_ENABLE_GPU is 0";
    const MPII_Gpudt_driver_t *drv = MPIR_CVAR_ENABLE_GPU ? MPII_Gpudt_driver_init(&reason) : NULL;
    MPII_Gpudt_ctx_t entered = {.ctx = NULL };
    struct alloc *a = NULL;

    MPIR_FUNC_ENTER;

    MPIR_ERR_CHKANDJUMP1(!drv, mpi_errno, MPI_ERR_NO_MEM, "**gpudt_none", "**gpudt_none %s",
                         reason);
    a = MPL_calloc(1, sizeof(*a), MPL_MEM_USER);
    MPII_GPUDT_ERR_NOMEM(!a, mpi_errno, "GPU memory");
    a->kind = kind;
    mpi_errno = MPII_Gpudt_engine_current(drv, &a->engine, &entered);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    mpi_errno = mem_get(drv, kind, MPL_MAX((size_t) size, 1), &a->mem);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPII_Gpudt_engine_at_end(a->engine, engine_ends);
    list_add(a);
    *mem = a->mem;

  fn_exit:
    if (entered.ctx)
        MPII_Gpudt_ctx_leave(drv, &entered);
    MPIR_FUNC_EXIT;
    return mpi_errno;
  fn_fail:
    MPL_free(a);
    mpi_errno = MPIR_Err_create_code(mpi_errno, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                     MPI_ERR_OTHER, "**gpudt_alloc", "**gpudt_alloc %L %s",
                                     (long long) size, MPIR_Gpudt_kind_name(kind));
    goto fn_exit;
}

bool MPIR_Gpudt_mem_free(void *mem, int *mpi_errno_ptr)
{
    int mpi_errno = MPI_SUCCESS;
    struct alloc *a = mem ? list_take(mem, NULL) : NULL;
    MPII_Gpudt_ctx_t entered;

    if (a == NULL)
        return false;
    if (!MPII_Gpudt_engine_is_alive(a->engine))
        goto fn_exit;
    mpi_errno = MPII_Gpudt_engine_reenter_twice(a->engine, &entered);
    if (unlikely(mpi_errno)) {
        list_add(a);
        goto fn_fail;
    }
    /* If this fails, it is not known whether the memory was freed: to try again might free what was
     * allocated in its place */
    mpi_errno = mem_put(a->engine->drv, a);
    MPII_Gpudt_ctx_leave(a->engine->drv, &entered);

  fn_exit:
    MPL_free(a);
  fn_fail:
    *mpi_errno_ptr = mpi_errno;
    return true;
}
