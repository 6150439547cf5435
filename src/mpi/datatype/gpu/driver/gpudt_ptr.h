/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* What kind of memory an address is in. */

#ifndef GPUDT_PTR_H_INCLUDED
#define GPUDT_PTR_H_INCLUDED

#include <stdbool.h>
#include <stddef.h>

#include "gpudt_driver.h"

typedef enum {
    MPIR_GPUDT_MEM__HOST = 0,   /* pageable, or any memory that CUDA does not know */
    MPIR_GPUDT_MEM__PINNED,     /* host memory allocated by or registered with the driver */
    MPIR_GPUDT_MEM__DEVICE,     /* memory of one device: no CPU access */
    MPIR_GPUDT_MEM__MANAGED     /* accessible by CPU and GPUs */
} MPIR_Gpudt_mem_e;

typedef struct MPIR_Gpudt_ptr {
    MPIR_Gpudt_mem_e mem;
    int device;                 /* ordinal as the driver counts; -1 for MPIR_GPUDT_MEM__HOST */
    void *ctx;                  /* CUcontext that owns the memory; NULL: none (pageable host memory,
                                 * pools, mapped virtual ranges). For device memory, NULL means to
                                 * use the device's primary context */
    bool sync_memops;           /* the program's copies and fills complete before they return; see
                                 * gpudt_memops.c */
    unsigned long long id;      /* of the allocation, never reused; 0: not known */
} MPIR_Gpudt_ptr_t;

/* Classify one address.
 *   addr  (IN)   any address, or NULL. For a datatype, the address of its first byte (buf +
 *                true_lb), since buf itself may be outside of every allocation
 *   ptr   (OUT)  the answer; untouched on failure
 * Costs one driver call, and none as long as the process has no CUDA. Never initialises CUDA. Fails
 * if a working driver cannot tell (a lost device), and for an address that is within the bounds of
 * GPU memory but is neither GPU memory (any more) nor host memory. Inside of cudaLaunchHostFunc the
 * driver rejects queries; there, memory that the CPU can read is taken as host memory. */
int MPIR_Gpudt_query_ptr(const void *addr, MPIR_Gpudt_ptr_t * ptr);

/* What the driver says of an allocation. */
struct MPII_Gpudt_allocation {
    CUdeviceptr base;
    size_t sz;                  /* bytes; 0: not known */
    bool sync_memops;           /* as in MPIR_Gpudt_ptr_t */
};

/* The number of the allocation that an address is in; 0: none, or an error, which a new query
 * reports. All that was known of an allocation of that number is still true, except for sync_memops.
 * Costs one driver call.
 *   found  (OUT)  the allocation */
unsigned long long MPII_Gpudt_ptr_allocation(const MPII_Gpudt_driver_t * drv, const void *addr,
                                             struct MPII_Gpudt_allocation *found);

/* The bounds of the allocation, registration or mapped range that an address is in, whatever context it
 * is of: cuMemGetAddressRange refuses those of other contexts.
 *   base, sz  (OUT)  its first byte and its bytes; 0 if the result is false
 * Returns false if the address is in none, or the driver does not tell. Costs one driver call. */
bool MPII_Gpudt_ptr_range(const MPII_Gpudt_driver_t * drv, CUdeviceptr addr, CUdeviceptr * base,
                          size_t * sz);

/* Whether a GPU should move this memory. */
static inline bool MPIR_Gpudt_ptr_is_gpu(const MPIR_Gpudt_ptr_t * ptr)
{
    return ptr->mem == MPIR_GPUDT_MEM__DEVICE || ptr->mem == MPIR_GPUDT_MEM__MANAGED;
}

/* Whether memory of a device has access rights of its own, as pools and mapped ranges have, unlike
 * allocations. Other devices may have no access to it, not even for copies by the driver. */
static inline bool MPIR_Gpudt_ptr_is_private(const MPIR_Gpudt_ptr_t * ptr)
{
    return ptr->mem == MPIR_GPUDT_MEM__DEVICE && ptr->ctx == NULL;
}

#endif /* GPUDT_PTR_H_INCLUDED */
