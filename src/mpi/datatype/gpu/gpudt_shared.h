/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* GPUs that several processes of a node use at the same time. Built with and without CUDA, so it
 * must not know cuda.h.
 *
 * Without NVIDIA's MPS, processes time-slice a GPU: a kernel that finds the GPU in the context of
 * another process waits about 145 us for the context switch. The copy engines switch contexts
 * without delay. On a shared GPU, a copy by the driver is therefore preferred for what it can
 * express. Processes detect shared GPUs by exchanging the *names* of their GPUs: numbers derived
 * from UUIDs. */

#ifndef GPUDT_SHARED_H_INCLUDED
#define GPUDT_SHARED_H_INCLUDED

#define MPIR_GPUDT_MAX_NAMES 16 /* GPUs of a process that have names; others are taken as not
                                 * shared */

/* The GPUs that this process has used so far.
 *   names  (OUT)  static array: a number for each GPU, the same in every process of the node, never
 *                 0
 * Returns their number, which never decreases. */
int MPIR_Gpudt_shared_names(const uint64_t ** names);

/* Record that another process of the node uses a GPU.
 *   name  (IN)  from that process; may be a GPU that this process does not use */
void MPIR_Gpudt_shared_note(uint64_t name);

#endif /* GPUDT_SHARED_H_INCLUDED */
