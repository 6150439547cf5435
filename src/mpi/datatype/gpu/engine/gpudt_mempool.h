/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Memory of stream-ordered pools (cuMemAllocAsync) that were created to be shared by a file
 * descriptor. Another process imports the pool once, and then each allocation by the driver's data for
 * it. CUDA requires that it frees what it has imported before the process that made it does, so an
 * allocation is imported for as long as a message takes: that costs the driver a microsecond. Callers
 * are serialized by the lock of the progress engine. */

#ifndef GPUDT_MEMPOOL_H_INCLUDED
#define GPUDT_MEMPOOL_H_INCLUDED

#include "gpudt_descriptor.h"

/* Bytes of an allocation, at most: with larger ones, cuMemPoolImportPointer of driver 580.159 ended the
 * process by a segmentation fault, from between 5.1 and 5.2 GiB on. */
#define MPII_GPUDT_MEMPOOL_MOST ((uint64_t) 4 << 30)

/* Where other processes find an allocation of a pool. */
struct MPII_Gpudt_mempool_name {
    int pid, proof;             /* as in struct MPII_Gpudt_descriptor_name */
    int pool;                   /* number of a descriptor of the pool in that process */
    CUmemPoolPtrExportData data;
};

/* Whether the driver has what it takes. */
bool MPII_Gpudt_mempool_exists(const MPII_Gpudt_driver_t * drv);

/* The pool of an address; NULL: it is of none. */
CUmemoryPool MPII_Gpudt_mempool_of(const MPII_Gpudt_driver_t * drv, CUdeviceptr addr);

/* Open a descriptor of the pool of an allocation, if that was created for it. Parameters and result
 * are those of MPII_Gpudt_descriptor_open. */
struct MPII_Gpudt_descriptor *MPII_Gpudt_mempool_open(const MPII_Gpudt_driver_t * drv,
                                                      CUdeviceptr base, size_t sz,
                                                      uint64_t process,
                                                      struct MPII_Gpudt_mempool_name *name,
                                                      const char **why, bool * is_final);

/* Import a pool of another process, with access for the GPU of an engine.
 *   name, process  (IN)   as made there
 *   pool           (OUT)  belongs to this module
 *   why            (OUT)  the reason, if a system call failed; else unchanged */
CUresult MPII_Gpudt_mempool_import(const MPII_Gpudt_engine_t * engine,
                                   const struct MPII_Gpudt_mempool_name *name, uint64_t process,
                                   CUmemoryPool * pool, const char **why);

/* Release the pools of a process, of which no allocation is imported; 0: of all processes. */
void MPII_Gpudt_mempools_drop(uint64_t process);

#endif /* GPUDT_MEMPOOL_H_INCLUDED */
