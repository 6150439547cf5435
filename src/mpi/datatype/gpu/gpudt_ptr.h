/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* What kind of memory an address is in. Built with and without CUDA, so it must not know cuda.h. */

#ifndef GPUDT_PTR_H_INCLUDED
#define GPUDT_PTR_H_INCLUDED

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

#endif /* GPUDT_PTR_H_INCLUDED */
