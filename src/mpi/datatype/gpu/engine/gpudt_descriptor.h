/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Mapped virtual ranges of GPU memory (cuMemMap) that other processes map by a file descriptor.
 * Callers are serialized by the lock of the progress engine. */

#ifndef GPUDT_DESCRIPTOR_H_INCLUDED
#define GPUDT_DESCRIPTOR_H_INCLUDED

#include "gpudt_engine.h"

/* Handles of memory in an export, at most. */
#define MPII_GPUDT_MAX_HANDLES 8

/* Where other processes find the memory of adjacent ranges: numbers of descriptors in the process
 * that has it. */
struct MPII_Gpudt_descriptor_name {
    int pid;
    int proof;                  /* a file that contains the number of the process */
    int nhandles;
    int memory[MPII_GPUDT_MAX_HANDLES];
    uint64_t id[MPII_GPUDT_MAX_HANDLES];        /* as allocations */
    uint64_t sz[MPII_GPUDT_MAX_HANDLES];        /* bytes of each range */
};

/* An open descriptor of memory of this process, with references. */
struct MPII_Gpudt_descriptor;

/* Whether the driver has what it takes. */
bool MPII_Gpudt_descriptor_exists(const MPII_Gpudt_driver_t * drv);

/* Whether memory was created to be shared this way. */
bool MPII_Gpudt_descriptor_is_possible(const MPII_Gpudt_driver_t * drv, CUdeviceptr addr);

/* Open a descriptor of a range, where that is possible. The memory is not released as long as it is
 * open.
 *   base, sz  (IN)   the range that the driver gives for an address: one handle of memory
 *   process   (IN)   random number of this process
 *   name      (OUT)  for other processes, except id
 *   why       (OUT)  the reason, on failure
 *   is_final  (OUT)  on failure: whether it will always fail for this memory
 * Returns it with one reference; NULL on failure. */
struct MPII_Gpudt_descriptor *MPII_Gpudt_descriptor_open(const MPII_Gpudt_driver_t * drv,
                                                         CUdeviceptr base, size_t sz,
                                                         uint64_t process,
                                                         struct MPII_Gpudt_descriptor_name *name,
                                                         const char **why, bool * is_final);

/* Take over a descriptor of anything, for other processes. The file that proves which process this is
 * exists then.
 *   fd       (IN)   closed on failure
 *   process  (IN)   random number of this process
 *   why      (OUT)  the reason, on failure
 * Returns it with one reference; NULL on failure, for lack of something. */
struct MPII_Gpudt_descriptor *MPII_Gpudt_descriptor_make(int fd, uint64_t process,
                                                         const char **why);
int MPII_Gpudt_descriptor_proof(void);

/* Add or release a reference; NULL does nothing. */
struct MPII_Gpudt_descriptor *MPII_Gpudt_descriptor_add_ref(struct MPII_Gpudt_descriptor *d);
void MPII_Gpudt_descriptor_release(struct MPII_Gpudt_descriptor *d);

/* To be called before the library ends, when all descriptors are released. */
void MPII_Gpudt_descriptors_end(void);

/* Take a descriptor of another process.
 *   pid, proof, fd, process  (IN)   as made there
 *   res, why                 (OUT)  on failure: a driver's error like that of the system, and its text
 * Returns the caller's own descriptor; -1 on failure. */
int MPII_Gpudt_descriptor_take(int pid, int proof, int fd, uint64_t process, CUresult * res,
                               const char **why);

/* Map memory of another process for the GPU of an engine.
 *   name, process  (IN)   as made there
 *   mem            (OUT)  its address here: the ranges are adjacent, as there
 *   id             (OUT)  number of this mapping, for MPII_Gpudt_descriptor_unmap
 *   why            (OUT)  the reason, if a system call failed; else unchanged */
CUresult MPII_Gpudt_descriptor_map(const MPII_Gpudt_engine_t * engine,
                                   const struct MPII_Gpudt_descriptor_name *name, uint64_t process,
                                   CUdeviceptr * mem, unsigned long long *id, const char **why);

/* Undo it, unless the mapping is gone. */
void MPII_Gpudt_descriptor_unmap(const MPII_Gpudt_driver_t * drv,
                                 const struct MPII_Gpudt_descriptor_name *name, CUdeviceptr mem,
                                 unsigned long long id);

#endif /* GPUDT_DESCRIPTOR_H_INCLUDED */
