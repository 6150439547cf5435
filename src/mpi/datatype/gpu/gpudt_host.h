/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Calls for buffers that are known to be in host memory, and host memory of the library's own that GPUs
 * can access. Built with and without CUDA, so it must not know cuda.h. */

#ifndef GPUDT_HOST_H_INCLUDED
#define GPUDT_HOST_H_INCLUDED

/* Pin host memory and map it into all GPUs of the process, until MPIR_Gpudt_host_unregister.
 *   gpu_addr  (IN)  memory of the GPU whose driver context is to do it
 *   mem, sz   (IN)  whole pages, also of memory shared with other processes
 *   is_own    (IN)  whether it may be moved to the NUMA node next to that GPU
 * Returns false if that failed, which is no error: the memory serves as pageable memory. */
bool MPIR_Gpudt_host_register(const void *gpu_addr, void *mem, size_t sz, bool is_own);

/* Undo it, before the memory is unmapped and before the engine ends. Safe when the context that did
 * it is gone.
 *   mem, sz  (IN)  as given to MPIR_Gpudt_host_register, which returned true */
void MPIR_Gpudt_host_unregister(void *mem, size_t sz);

/* A number that changes when the library has found that a context has ended: what was registered before
 * may not be any more. Never 0. The library finds it when it sees memory of another context, or looks.
 *   look  (IN)  whether to ask the driver about each context; else it costs a load */
int MPIR_Gpudt_host_epoch(bool look);

/* Whether memory that MPIR_Gpudt_host_register took is registered still. Asks the driver, so it is
 * for after a change of MPIR_Gpudt_host_epoch.
 *   mem, sz  (IN)  as given to MPIR_Gpudt_host_register */
bool MPIR_Gpudt_host_is_registered(void *mem, size_t sz);

/* As MPIR_Typerep_pack and MPIR_Typerep_unpack, if both buffers are known to be in host memory: no
 * query is made. For messages whose buffer was asked about when they started. */
int MPIR_Typerep_pack_host(const void *inbuf, MPI_Aint incount, MPI_Datatype datatype,
                           MPI_Aint inoffset, void *outbuf, MPI_Aint max_pack_bytes,
                           MPI_Aint * actual_pack_bytes);
int MPIR_Typerep_unpack_host(const void *inbuf, MPI_Aint insize, void *outbuf, MPI_Aint outcount,
                             MPI_Datatype datatype, MPI_Aint outoffset,
                             MPI_Aint * actual_unpack_bytes);

/* What happens to pools of host memory, counted for the performance variables. */
enum MPIR_Gpudt_pool_e {
    MPIR_GPUDT_POOL__HEAP_CHUNK,        /* none left: a piece of a message goes through pageable
                                         * memory */
    MPIR_GPUDT_POOL__REFUSED,   /* that of another process cannot be mapped, or is none */
    MPIR_GPUDT_POOL__RENEWED    /* memory replaced that a dead process might write to */
};
void MPIR_Gpudt_count_pool(enum MPIR_Gpudt_pool_e what);

#endif /* GPUDT_HOST_H_INCLUDED */
