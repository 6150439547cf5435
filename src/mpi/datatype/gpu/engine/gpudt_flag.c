/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The engines' flags, and the counters by which the blocks of a kernel determine the last one. Must
 * not know datatypes or transfers. */

#include "mpiimpl.h"
#include "gpudt_flag.h"
#include "gpudt_lock.h"
#include "gpudt_pool.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_GPUDT_FLAGS
      category    : GPUDT
      type        : boolean
      default     : true
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Have short kernels report their completion by a flag in pinned memory, which the CPU sees
        sooner than the driver reports the end of the kernel. Without flags, operations do not share
        launches (MPIR_CVAR_GPUDT_BATCH).

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

#define FLAG_STEP 64            /* bytes from one flag to the next: one cache line each */
#define FLAGS_SZ (MPII_GPUDT_NFLAGS * FLAG_STEP)
#define COUNTER_STEP 32         /* bytes from one counter to the next */
#define COUNTERS_SZ (MPII_GPUDT_NFLAGS * COUNTER_STEP)      /* of one lane */
#define FLAGS_MAP_SZ (FLAGS_SZ + COUNTERS_SZ)       /* the flags, and zeros to initialise counters
                                                     * from */

static MPL_initlock_t flag_lock = MPL_INITLOCK_INITIALIZER;

/* Caller holds flag_lock. The flags outlive the context: an operation in flight may read its flag
 * after the program has destroyed the context. */
static bool flags_make(MPII_Gpudt_engine_t * engine)
{
    if (engine->flags == NULL && !engine->no_flags) {
        if (MPIR_CVAR_GPUDT_FLAGS)
            engine->flags = MPII_Gpudt_pinned_map(engine, FLAGS_MAP_SZ, &engine->flags_addr);
        engine->no_flags = engine->flags == NULL;
    }
    return !engine->no_flags;
}

/* Caller holds flag_lock, and flags_make has succeeded. Each lane has its own counters. Its stream
 * zeroes them before any kernel uses them, so that no host thread waits. */
static bool counters_make(MPII_Gpudt_engine_t * engine)
{
    const MPII_Gpudt_driver_t *drv = engine->drv;
    const char *zeros = engine->flags + FLAGS_SZ;
    CUdeviceptr mem;
    bool is_zeroed = true;

    if (engine->counters || engine->no_counters)
        return !engine->no_counters;
    engine->no_counters = true;
    if (drv->cuMemAlloc(&mem, MPII_GPUDT_NLANES * COUNTERS_SZ) != CUDA_SUCCESS)
        return false;
    for (int i = 0; i < MPII_GPUDT_NLANES; i++)
        is_zeroed = is_zeroed && drv->cuMemcpyHtoDAsync(mem + i * COUNTERS_SZ, zeros, COUNTERS_SZ,
                                                        engine->streams[i]) == CUDA_SUCCESS;
    if (is_zeroed) {
        engine->counters = mem;
        engine->no_counters = false;
    } else {
        /* Waits for the copies that were started */
        drv->cuMemFree(mem);
    }
    return is_zeroed;
}

void MPII_Gpudt_flag_get(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                         unsigned nblocks, struct MPII_Gpudt_flag *flag)
{
    flag->word = NULL;
    flag->is_borrowed = false;
    MPII_Gpudt_lock(&flag_lock);
    if (!flags_make(engine) || (nblocks > 1 && !counters_make(engine)))
        goto fn_exit;
    for (int k = 0; k < MPII_GPUDT_NFLAGS / 64; k++) {
        if (~engine->flags_in_use[k] == 0)
            continue;
        int i = __builtin_ctzll(~engine->flags_in_use[k]);
        engine->flags_in_use[k] |= (uint64_t) 1 << i;
        i += 64 * k;
        flag->word = (MPL_atomic_int_t *) (void *) (engine->flags + i * FLAG_STEP);
        flag->addr = engine->flags_addr + (uint64_t) i * FLAG_STEP;
        flag->counter = engine->counters + lane * COUNTERS_SZ + (uint64_t) i * COUNTER_STEP;
        engine->flag_values[i] = (int) ((unsigned) engine->flag_values[i] + 1);
        flag->value = engine->flag_values[i];
        break;
    }
  fn_exit:
    MPII_Gpudt_unlock(&flag_lock);
}

void MPII_Gpudt_flag_put(MPII_Gpudt_engine_t * engine, struct MPII_Gpudt_flag *flag)
{
    if (flag->word && !flag->is_borrowed) {
        MPII_Gpudt_lock(&flag_lock);
        size_t i = ((char *) flag->word - engine->flags) / FLAG_STEP;
        engine->flags_in_use[i / 64] &= ~((uint64_t) 1 << i % 64);
        MPII_Gpudt_unlock(&flag_lock);
    }
    flag->word = NULL;
}

void MPII_Gpudt_flags_free(MPII_Gpudt_engine_t * engine, bool is_alive)
{
    MPII_Gpudt_pinned_unmap(engine, engine->flags, FLAGS_MAP_SZ, is_alive);
    if (is_alive && engine->counters)
        engine->drv->cuMemFree(engine->counters);
}
