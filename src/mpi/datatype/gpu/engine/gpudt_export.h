/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Allocations of GPU memory as other processes see them. */

#ifndef GPUDT_EXPORT_H_INCLUDED
#define GPUDT_EXPORT_H_INCLUDED

#include "gpudt_engine.h"

/* How another process maps an allocation. */
struct MPII_Gpudt_export {
    uint64_t process;           /* random number of the process that has it, never 0 */
    uint64_t gpu;               /* index of its GPU in that process */
    uint64_t id;                /* of the allocation in that process, never reused */
    uint64_t base, sz;          /* its address there and its bytes */
    CUipcMemHandle handle;
};

/* Export an allocation. Costs no driver call if it was exported before.
 *   engine  (IN)   of the memory
 *   addr    (IN)   an address in it
 *   id      (IN)   number of the allocation that has addr now; not 0
 * Returns NULL if other processes cannot map it: memory of pools, mapped virtual ranges, managed
 * memory, memory of other processes. Valid until the next call. Callers are serialized. */
const struct MPII_Gpudt_export *MPII_Gpudt_export_get(const MPII_Gpudt_engine_t * engine,
                                                      const void *addr, unsigned long long id);

#endif /* GPUDT_EXPORT_H_INCLUDED */
