/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Temporary buffers of collectives in GPU memory, see gpudt_temp.h. Allocating and freeing GPU
 * memory waits for the GPU, and other processes would have to map it anew: buffers that are free
 * are kept for others of nearly the same size. Must not know collectives. */

#include "mpiimpl.h"
#include "gpudt_temp.h"
#include "gpudt_reduce_impl.h"
#include "gpudt_vars.h"
#include "driver/gpudt_ctx.h"
#include "driver/gpudt_driver.h"
#include "driver/gpudt_ptr.h"
#include "engine/gpudt_contexts.h"
#include "engine/gpudt_engine.h"
#include "engine/gpudt_module.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_GPUDT_TEMP_MIB
      category    : GPUDT
      type        : int
      default     : 512
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Mebibytes of GPU memory for temporary buffers of MPICH's algorithms of collectives, and of
        accumulates by messages, in all. They are kept for later ones. Those that do not fit are in
        host memory; 0: all of them.

    - name        : MPIR_CVAR_GPUDT_TEMP_MIN
      category    : GPUDT
      type        : int
      default     : 65536
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Bytes of the shortest temporary buffers in GPU memory of collectives that move data, if the data
        is there. Shorter ones are in host memory. Those of reductions are in GPU memory in any case.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

#define MIN_SZ (64 << 10)       /* bytes of the smallest buffer */
#define NO_KERNEL (-1)
#define PARTS 4                 /* sizes between two powers of two: a quarter is wasted at most */

struct temp {
    struct temp *next, *prev;
    MPII_Gpudt_engine_t *engine;        /* NULL: its context has ended while this was in use */
    char *mem;
    size_t sz;
    bool is_free;
};

static struct temp *temps = NULL;       /* all buffers, the last one freed at the end */
static size_t total_sz = 0;     /* their bytes */
static MPL_initlock_t temp_lock = MPL_INITLOCK_INITIALIZER;     /* guards both */

/* Buffers in use. A thread that has one sees that. */
static MPL_atomic_int_t nused = MPL_ATOMIC_INT_T_INITIALIZER(0);

/* Round up, so that a buffer can be used again for similar sizes. */
static size_t size_round(MPI_Aint n)
{
    size_t sz = MIN_SZ, part;

    while (sz < (size_t) n)
        sz *= 2;
    part = sz / 2 / PARTS;
    return sz == MIN_SZ ? sz : ((size_t) n + part - 1) / part * part;
}

/* Take a free buffer, the one that was used last. */
static struct temp *temp_take(const MPII_Gpudt_engine_t * engine, size_t sz)
{
    struct temp *t, *found = NULL;

    MPL_initlock_lock(&temp_lock);
    DL_FOREACH(temps, t) {
        if (t->is_free && t->engine == engine && t->sz == sz)
            found = t;
    }
    if (found)
        found->is_free = false;
    MPL_initlock_unlock(&temp_lock);
    return found;
}

/* Whether a buffer can be freed, while its engine's context lives, without waiting for kernels of the program. */
static bool may_free(const struct temp *t)
{
    return !MPII_Gpudt_engine_is_alive(t->engine) || MPII_Gpudt_engine_is_idle(t->engine);
}

/* Remove free buffers from the list, those of `engine` or of any if it is NULL, until all buffers
 * have at most `most` bytes. Caller holds temp_lock. Returns the list of what was removed.
 *   may_wait  (IN)  also those whose engine is busy */
static struct temp *temps_cut(const MPII_Gpudt_engine_t * engine, size_t most, bool may_wait)
{
    struct temp *t, *next, *cut = NULL;

    DL_FOREACH_SAFE(temps, t, next) {
        if (total_sz <= most)
            break;
        if (t->is_free && (engine == NULL || t->engine == engine) && (may_wait || may_free(t))) {
            total_sz -= t->sz;
            DL_DELETE(temps, t);
            DL_APPEND(cut, t);
        }
    }
    return cut;
}

/* Free buffers that are no longer in the list.
 *   is_alive  (IN)  false: the memory is gone with its context */
static void temps_free(struct temp *cut, bool is_alive)
{
    struct temp *t, *next;
    MPII_Gpudt_ctx_t entered;

    DL_FOREACH_SAFE(cut, t, next) {
        if (is_alive && MPII_Gpudt_engine_reenter(t->engine, &entered) == MPI_SUCCESS) {
            t->engine->drv->cuMemFree((CUdeviceptr) t->mem);
            MPII_Gpudt_ctx_leave(t->engine->drv, &entered);
        }
        MPL_free(t);
    }
}

/* Callback of MPII_Gpudt_engine_at_end. */
static void engine_ends(MPII_Gpudt_engine_t * engine, bool is_alive)
{
    struct temp *t, *cut;

    MPL_initlock_lock(&temp_lock);
    cut = temps_cut(engine, 0, true);
    DL_FOREACH(temps, t) {
        if (t->engine == engine)
            t->engine = NULL;
    }
    MPL_initlock_unlock(&temp_lock);
    temps_free(cut, is_alive);
}

/* Free buffers that are not in use, of one engine or of any, until all buffers have at most `most`
 * bytes. Returns whether they have: not if too many are on GPUs that are busy with kernels of the program, which
 * may wait for the call that needs the memory. */
static bool temps_shrink(const MPII_Gpudt_engine_t * engine, size_t most)
{
    struct temp *cut;
    bool is_enough;

    MPL_initlock_lock(&temp_lock);
    cut = temps_cut(engine, most, false);
    is_enough = total_sz <= most;
    MPL_initlock_unlock(&temp_lock);
    temps_free(cut, true);
    return is_enough;
}

/* Allocate a buffer in the current context, which is the engine's; NULL: there is no memory. */
static struct temp *temp_make(MPII_Gpudt_engine_t * engine, size_t sz)
{
    const size_t most = (size_t) MPL_MAX(MPIR_CVAR_GPUDT_TEMP_MIB, 0) << 20;
    struct temp *t;
    CUdeviceptr addr = 0;
    CUresult res;

    if (sz > most || !temps_shrink(NULL, most - sz))
        return NULL;
    t = MPL_calloc(1, sizeof(*t), MPL_MEM_BUFFER);
    if (t == NULL)
        return NULL;
    res = engine->drv->cuMemAlloc(&addr, sz);
    if (res == CUDA_ERROR_OUT_OF_MEMORY) {
        temps_shrink(engine, 0);
        res = engine->drv->cuMemAlloc(&addr, sz);
    }
    if (res != CUDA_SUCCESS) {
        MPL_free(t);
        return NULL;
    }
    t->engine = engine;
    t->mem = (char *) (uintptr_t) addr;
    t->sz = sz;
    MPII_Gpudt_engine_at_end(engine, engine_ends);
    MPL_initlock_lock(&temp_lock);
    DL_APPEND(temps, t);
    total_sz += sz;
    MPL_initlock_unlock(&temp_lock);
    return t;
}

/* A buffer on the GPU that the data of a buffer is on; NULL: there is no such GPU, or it has no memory
 * or not this kernel.
 *   kernel  (IN)  NO_KERNEL: none is needed */
static struct temp *temp_on_gpu(const void *buf, MPI_Datatype datatype, MPI_Aint n, int kernel)
{
    const MPII_Gpudt_driver_t *drv = MPII_Gpudt_driver_get();
    MPIR_Gpudt_ptr_t ptr;
    MPII_Gpudt_engine_t *engine;
    MPII_Gpudt_ctx_t entered;
    CUfunction function = NULL;
    struct temp *t = NULL;
    MPI_Aint true_lb;

    MPIR_Datatype_get_true_lb(datatype, &true_lb);
    if (drv == NULL || MPIR_Gpudt_query_ptr((const char *) buf + true_lb, &ptr) != MPI_SUCCESS ||
        ptr.mem != MPIR_GPUDT_MEM__DEVICE ||
        MPII_Gpudt_engine_enter(drv, ptr.device, ptr.ctx, &engine, &entered) != MPI_SUCCESS)
        return NULL;
    if (kernel == NO_KERNEL ||
        (MPII_Gpudt_module_kernel(engine, kernel, &function) == MPI_SUCCESS && function)) {
        t = temp_take(engine, size_round(n));
        if (t == NULL)
            t = temp_make(engine, size_round(n));
        if (t == NULL)
            MPII_GPUDT_COUNT(fallbacks_memory, 1);
    }
    MPII_Gpudt_ctx_leave(drv, &entered);
    return t;
}

/* The memory of a buffer, or host memory if it is NULL. */
static void *temp_or_host(const struct temp *t, MPI_Aint n)
{
    if (t == NULL)
        return MPL_malloc(n, MPL_MEM_BUFFER);
    MPL_atomic_fetch_add_int(&nused, 1);
    MPII_GPUDT_COUNT(temps, 1);
    return t->mem;
}

void *MPIR_Gpudt_temp_alloc(const void *buf, MPI_Aint n, MPI_Op op, MPI_Datatype datatype)
{
    struct temp *t = NULL;
    struct MPII_Gpudt_reduction r;

    if (n > 0 && MPIR_CVAR_GPUDT_TEMP_MIB > 0 && MPII_Gpudt_reduction_find(op, datatype, &r))
        t = temp_on_gpu(buf, datatype, n, r.kernel);
    return temp_or_host(t, n);
}

void *MPIR_Gpudt_temp_alloc_moved(const void *buf, MPI_Datatype datatype, MPI_Aint n)
{
    struct temp *t = NULL;

    if (n > 0 && n >= MPIR_CVAR_GPUDT_TEMP_MIN && MPIR_CVAR_GPUDT_TEMP_MIB > 0)
        t = temp_on_gpu(buf, datatype, n, NO_KERNEL);
    return temp_or_host(t, n);
}

/* Return a buffer; false if it is none. */
static bool temp_put(const void *mem)
{
    struct temp *t;
    bool is_found;

    MPL_initlock_lock(&temp_lock);
    DL_FOREACH(temps, t) {
        if (!t->is_free && t->mem == mem)
            break;
    }
    is_found = t != NULL;
    if (is_found)
        DL_DELETE(temps, t);
    if (is_found && t->engine) {
        t->is_free = true;
        DL_APPEND(temps, t);
    } else if (is_found) {
        total_sz -= t->sz;
        MPL_free(t);
    }
    MPL_initlock_unlock(&temp_lock);
    return is_found;
}

void MPIR_Gpudt_temp_free(void *mem)
{
    if (likely(MPL_atomic_relaxed_load_int(&nused) == 0) || mem == NULL || !temp_put(mem))
        MPL_free(mem);
    else
        MPL_atomic_fetch_sub_int(&nused, 1);
}
