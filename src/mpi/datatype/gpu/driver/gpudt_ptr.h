/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* What kind of memory an address is in. */

#ifndef GPUDT_PTR_H_INCLUDED
#define GPUDT_PTR_H_INCLUDED

#include <stdbool.h>
#include <stddef.h>

typedef enum {
    MPIR_GPUDT_MEM__HOST = 0,   /* pageable, or anything else that CUDA does not know */
    MPIR_GPUDT_MEM__PINNED,     /* host memory allocated by or registered with the driver */
    MPIR_GPUDT_MEM__DEVICE,     /* one device's memory: no CPU access */
    MPIR_GPUDT_MEM__MANAGED     /* either side may touch it */
} MPIR_Gpudt_mem_e;

typedef struct MPIR_Gpudt_ptr {
    MPIR_Gpudt_mem_e mem;
    int device;                 /* ordinal as the driver counts; -1 for MPIR_GPUDT_MEM__HOST */
    void *ctx;                  /* CUcontext that owns the memory; NULL: none does (pageable host
                                 * memory, pools, mapped virtual ranges), so for device memory
                                 * the device's primary context is the one to use */
    bool sync_memops;           /* the program's copies and fills end before they return; see
                                 * gpudt_memops.c */
    unsigned long long id;      /* of the allocation, which no other has had before; 0: not known */
} MPIR_Gpudt_ptr_t;

/* Classify one address.
 *   addr  (IN)   any address, also NULL; for a datatype the address of its first byte (buf +
 *                true_lb), since buf itself may lie outside every allocation
 *   ptr   (OUT)  the answer; untouched on failure
 * Costs one driver call, and no driver call as long as the process has no CUDA. Never
 * initialises CUDA. Fails only if a driver that works otherwise cannot tell (a lost device), and if
 * what is among addresses of GPU memory is none (any more) and no host memory either. Inside of
 * cudaLaunchHostFunc the driver tells nothing: there, what the CPU can read is host memory. */
int MPIR_Gpudt_query_ptr(const void *addr, MPIR_Gpudt_ptr_t * ptr);

/* Whether a GPU should move what is there. */
static inline bool MPIR_Gpudt_ptr_is_gpu(const MPIR_Gpudt_ptr_t * ptr)
{
    return ptr->mem == MPIR_GPUDT_MEM__DEVICE || ptr->mem == MPIR_GPUDT_MEM__MANAGED;
}

/* Whether memory of a device has access rights of its own, as pools and mapped ranges have, unlike
 * allocations: it may be that no other device can access it, not even for a copy by the driver. */
static inline bool MPIR_Gpudt_ptr_is_private(const MPIR_Gpudt_ptr_t * ptr)
{
    return ptr->mem == MPIR_GPUDT_MEM__DEVICE && ptr->ctx == NULL;
}

#endif /* GPUDT_PTR_H_INCLUDED */
