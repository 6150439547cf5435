/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Allocations of GPU memory as other processes see them. */

#ifndef GPUDT_EXPORT_H_INCLUDED
#define GPUDT_EXPORT_H_INCLUDED

#include "gpudt_descriptor.h"
#include "gpudt_mempool.h"

/* What an allocation is, and so how it is mapped. */
enum MPII_Gpudt_export_e {
    MPII_GPUDT_EXPORT__MEMORY,  /* of cuMemAlloc */
    MPII_GPUDT_EXPORT__RANGE,   /* a mapped virtual range */
    MPII_GPUDT_EXPORT__POOL     /* of a stream-ordered pool: only while it is in use */
};

/* How another process maps an allocation. */
struct MPII_Gpudt_export {
    uint64_t process;           /* random number of the process that has it, never 0 */
    uint64_t gpu;               /* index of its GPU in that process */
    uint64_t id;                /* of the allocation in that process, never reused */
    uint64_t base, sz;          /* its address there and its bytes */
    int kind;                   /* enum MPII_Gpudt_export_e */
    union {
        CUipcMemHandle handle;
        struct MPII_Gpudt_descriptor_name descriptor;
        struct MPII_Gpudt_mempool_name pool;
    };
};

/* Export an allocation. Costs no driver call if it was exported before. Where several handles of
 * memory are mapped side by side, each one is an allocation; an export may consist of several, and
 * then costs a driver call for each of them but the first.
 *   engine      (IN)   of the memory
 *   low, high   (IN)   what is in use of it: all addresses from low to below high
 *   id          (IN)   number of the allocation that has low now; not 0
 *   is_private  (IN)   MPIR_Gpudt_ptr_is_private
 * Returns NULL if other processes cannot map it: memory of pools and mapped virtual ranges that were
 * not created to be shared by file descriptors, more than MPII_GPUDT_MAX_HANDLES of these, managed
 * memory, memory of other processes. Valid until the next call. Callers are serialized. */
const struct MPII_Gpudt_export *MPII_Gpudt_export_get(const MPII_Gpudt_engine_t * engine,
                                                      const void *low, const void *high,
                                                      unsigned long long id, bool is_private);

/* The random number of this process in its exports. */
uint64_t MPII_Gpudt_export_process(void);

/* Copy what there is of an export. */
void MPII_Gpudt_export_copy(const struct MPII_Gpudt_export *from, struct MPII_Gpudt_export *to);

/* Whether two exports are of the same memory. */
bool MPII_Gpudt_export_is_same(const struct MPII_Gpudt_export *a,
                               const struct MPII_Gpudt_export *b);

/* Get references to the descriptors that an export names, which other processes can take as long as
 * there are references.
 *   export  (IN)   from the last call of MPII_Gpudt_export_get
 *   held    (OUT)  MPII_GPUDT_MAX_HANDLES of them; those not needed are not changed */
void MPII_Gpudt_export_hold(const struct MPII_Gpudt_export *export,
                            struct MPII_Gpudt_descriptor **held);

#endif /* GPUDT_EXPORT_H_INCLUDED */
