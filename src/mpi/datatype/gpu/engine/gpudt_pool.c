/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The engines' pools of work areas and events. Must not know datatypes or transfers. */

#include "mpiimpl.h"
#include "gpudt_pool.h"
#include "gpudt_direct.h"
#include "gpudt_lock.h"
#include "gpudt_vars.h"

#include <sys/mman.h>

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_GPUDT_PINNED_CHUNK
      category    : GPUDT
      type        : int
      default     : 524288
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Bytes of a pinned work area, the unit in which data between a GPU and pageable host memory
        is passed on. At least 256.

    - name        : MPIR_CVAR_GPUDT_PINNED_MAX
      category    : GPUDT
      type        : int
      default     : 67108864
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Bytes of pinned work areas at most, for each GPU in use. 0: none, slower routes are taken.

    - name        : MPIR_CVAR_GPUDT_DEVICE_CHUNK
      category    : GPUDT
      type        : int
      default     : 8388608
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Bytes of a work area in GPU memory, the unit in which data is passed from one datatype to
        another, or from one process to another, of several messages at a time twice that. At
        least 256.

    - name        : MPIR_CVAR_GPUDT_DEVICE_MAX
      category    : GPUDT
      type        : int
      default     : 134217728
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Bytes of work areas in GPU memory at most, for each GPU in use. 0: none, pinned host memory
        is used instead. If that is room for sixteen, messages to other processes are staged in
        sixteen more.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

#define MIN_AREA_SZ 256         /* bytes; smaller ones would make transfers too slow */

static MPL_initlock_t pool_lock = MPL_INITLOCK_INITIALIZER;

static struct MPII_Gpudt_area *area_make(MPII_Gpudt_engine_t * engine,
                                         enum MPII_Gpudt_area_e kind);
static void area_free(MPII_Gpudt_engine_t * engine, struct MPII_Gpudt_area *area, bool is_alive);

size_t MPII_Gpudt_area_sz(enum MPII_Gpudt_area_e kind)
{
    size_t sz = MPL_MAX(0, kind == MPII_GPUDT_AREA__DEVICE || kind == MPII_GPUDT_AREA__STAGE ?
                        MPIR_CVAR_GPUDT_DEVICE_CHUNK : MPIR_CVAR_GPUDT_PINNED_CHUNK);

    sz = MPL_MAX(sz, MIN_AREA_SZ);
    return kind == MPII_GPUDT_AREA__STAGE ? sz * MPII_GPUDT_STAGE_AREAS : sz;
}

/* Maximum number of areas of a kind that an engine may have. */
static int area_limit(enum MPII_Gpudt_area_e kind)
{
    size_t bytes;

    if (kind == MPII_GPUDT_AREA__HEAP)
        return INT_MAX;
    bytes = MPL_MAX(0, kind == MPII_GPUDT_AREA__PINNED ? MPIR_CVAR_GPUDT_PINNED_MAX :
                    MPIR_CVAR_GPUDT_DEVICE_MAX);
    if (kind == MPII_GPUDT_AREA__STAGE)
        return bytes >= MPII_Gpudt_area_sz(kind);
    return bytes / MPII_Gpudt_area_sz(kind);
}

void MPII_Gpudt_area_get(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_area_e kind,
                         struct MPII_Gpudt_area **area)
{
    bool may_make = false;

    MPII_Gpudt_lock(&pool_lock);
    *area = engine->areas[kind];
    if (*area) {
        engine->areas[kind] = (*area)->next;
    } else if (engine->nareas[kind] < area_limit(kind)) {
        engine->nareas[kind]++;
        may_make = true;
    }
    MPII_Gpudt_unlock(&pool_lock);

    /* Pinning is slow: do it without the lock */
    if (may_make) {
        *area = area_make(engine, kind);
        if (*area == NULL) {
            MPII_Gpudt_lock(&pool_lock);
            engine->nareas[kind]--;
            engine->area_refused[kind] = true;
            MPII_Gpudt_unlock(&pool_lock);
        }
    }
}

void MPII_Gpudt_area_get_spare(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_area_e kind, int nleft,
                               struct MPII_Gpudt_area **area)
{
    int nspare = -nleft;
    bool is_refused;

    *area = NULL;
    MPII_Gpudt_lock(&pool_lock);
    nspare += area_limit(kind) - engine->nareas[kind];
    for (struct MPII_Gpudt_area * a = engine->areas[kind]; a; a = a->next)
        nspare++;
    is_refused = engine->area_refused[kind];
    MPII_Gpudt_unlock(&pool_lock);
    if (nspare > 0 && !is_refused)
        MPII_Gpudt_area_get(engine, kind, area);
}

void MPII_Gpudt_area_put(MPII_Gpudt_engine_t * engine, struct MPII_Gpudt_area *area)
{
    bool is_pooled = area->kind != MPII_GPUDT_AREA__HEAP;

    MPII_Gpudt_lock(&pool_lock);
    if (is_pooled) {
        area->next = engine->areas[area->kind];
        engine->areas[area->kind] = area;
    } else {
        engine->nareas[area->kind]--;
    }
    MPII_Gpudt_unlock(&pool_lock);
    if (!is_pooled)
        area_free(engine, area, true);
}

/* Bytes of device memory of an area. */
static size_t device_sz(const struct MPII_Gpudt_area *area)
{
    return area->sz + (area->kind == MPII_GPUDT_AREA__STAGE ? MPII_GPUDT_SEMAPHORES_SZ : 0);
}

/* Returns NULL if the memory cannot be allocated. */
static struct MPII_Gpudt_area *area_make(MPII_Gpudt_engine_t * engine,
                                         enum MPII_Gpudt_area_e kind)
{
    const MPII_Gpudt_driver_t *drv = engine->drv;
    struct MPII_Gpudt_area *area = MPL_malloc(sizeof(*area), MPL_MEM_BUFFER);
    void *mem = NULL;
    CUdeviceptr device_mem;

    if (area == NULL)
        goto fn_fail;
    area->kind = kind;
    area->sz = MPII_Gpudt_area_sz(kind);

    switch (kind) {
        case MPII_GPUDT_AREA__DEVICE:
        case MPII_GPUDT_AREA__STAGE:
            if (drv->cuMemAlloc(&device_mem, device_sz(area)) != CUDA_SUCCESS)
                goto fn_fail;
            mem = (void *) device_mem;
            MPII_GPUDT_COUNT(device_bytes, device_sz(area));
            break;
        case MPII_GPUDT_AREA__PINNED:
            /* Unlike registered memory, this has one address for the CPU and all GPUs */
            if (drv->cuMemHostAlloc(&mem, area->sz, CU_MEMHOSTALLOC_PORTABLE |
                                    CU_MEMHOSTALLOC_DEVICEMAP) != CUDA_SUCCESS)
                goto fn_fail;
            MPII_GPUDT_COUNT(pinned_bytes, area->sz);
            break;
        default:
            mem = MPL_malloc(area->sz, MPL_MEM_BUFFER);
            if (mem == NULL)
                goto fn_fail;
            break;
    }
    area->mem = mem;

  fn_exit:
    return area;
  fn_fail:
    MPL_free(area);
    area = NULL;
    goto fn_exit;
}

static void area_free(MPII_Gpudt_engine_t * engine, struct MPII_Gpudt_area *area, bool is_alive)
{
    switch (area->kind) {
        case MPII_GPUDT_AREA__DEVICE:
        case MPII_GPUDT_AREA__STAGE:
            if (is_alive)
                engine->drv->cuMemFree((CUdeviceptr) area->mem);
            MPII_GPUDT_UNCOUNT(device_bytes, device_sz(area));
            break;
        case MPII_GPUDT_AREA__PINNED:
            if (is_alive)
                engine->drv->cuMemFreeHost(area->mem);
            MPII_GPUDT_UNCOUNT(pinned_bytes, area->sz);
            break;
        default:
            MPL_free(area->mem);
            break;
    }
    MPL_free(area);
}

int MPII_Gpudt_event_get(MPII_Gpudt_engine_t * engine, CUevent * event)
{
    int mpi_errno = MPI_SUCCESS;
    CUevent found = NULL;

    MPII_Gpudt_lock(&pool_lock);
    if (engine->nevents > 0)
        found = engine->events[--engine->nevents];
    MPII_Gpudt_unlock(&pool_lock);

    if (found == NULL)
        MPII_GPUDT_CHECK(engine->drv, cuEventCreate(&found, CU_EVENT_DISABLE_TIMING), mpi_errno);
    *event = found;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPII_Gpudt_event_put(MPII_Gpudt_engine_t * engine, CUevent event)
{
    bool is_kept = true;

    MPII_Gpudt_lock(&pool_lock);
    if (engine->nevents == engine->max_events) {
        int room = engine->max_events ? 2 * engine->max_events : 16;
        CUevent *events = MPL_realloc(engine->events, room * sizeof(*events), MPL_MEM_BUFFER);
        if (events) {
            engine->events = events;
            engine->max_events = room;
        }
        is_kept = events != NULL;
    }
    if (is_kept)
        engine->events[engine->nevents++] = event;
    MPII_Gpudt_unlock(&pool_lock);

    if (!is_kept)
        engine->drv->cuEventDestroy(event);
}

char *MPII_Gpudt_pinned_map(MPII_Gpudt_engine_t * engine, size_t sz, CUdeviceptr * addr)
{
    const MPII_Gpudt_driver_t *drv = engine->drv;
    void *mem = mmap(NULL, sz, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (mem == MAP_FAILED)
        return NULL;
    if (drv->cuMemHostRegister(mem, sz, CU_MEMHOSTREGISTER_PORTABLE |
                               CU_MEMHOSTREGISTER_DEVICEMAP) != CUDA_SUCCESS)
        goto fn_unmap;
    if (drv->cuMemHostGetDevicePointer(addr, mem, 0) != CUDA_SUCCESS)
        goto fn_unregister;
    return mem;

  fn_unregister:
    drv->cuMemHostUnregister(mem);
  fn_unmap:
    munmap(mem, sz);
    return NULL;
}

void MPII_Gpudt_pinned_unmap(MPII_Gpudt_engine_t * engine, char *mem, size_t sz, bool is_alive)
{
    if (mem == NULL)
        return;
    if (is_alive)
        engine->drv->cuMemHostUnregister(mem);
    munmap(mem, sz);
}

void MPII_Gpudt_pools_free(MPII_Gpudt_engine_t * engine, bool is_alive)
{
    if (engine->stage)
        MPII_Gpudt_area_put(engine, engine->stage);
    for (int kind = 0; kind < MPII_GPUDT_NAREAS; kind++) {
        while (engine->areas[kind]) {
            struct MPII_Gpudt_area *area = engine->areas[kind];
            engine->areas[kind] = area->next;
            area_free(engine, area, is_alive);
        }
    }
    for (int i = 0; is_alive && i < engine->nevents; i++)
        engine->drv->cuEventDestroy(engine->events[i]);
    MPL_free(engine->events);
}
