/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* GPUs that several processes of a node use at a time. Built with and without CUDA, so it must not
 * know cuda.h.
 *
 * Without NVIDIA's MPS, kernels of different processes take turns on a GPU: a kernel that finds the
 * GPU in the context of another process waits about 145 us for the change. The copy engines change
 * contexts in no time. So where a GPU is shared, a copy by the driver is the better way for what it
 * can express. Processes find out by the names of their GPUs, which they tell each other. */

#ifndef GPUDT_SHARED_H_INCLUDED
#define GPUDT_SHARED_H_INCLUDED

#define MPIR_GPUDT_MAX_NAMES 16 /* GPUs of a process whose names are told; more are taken as its own */

/* The GPUs that this process uses so far.
 *   names  (OUT)  static array: a number for each, the same in every process of the node, never 0
 * Returns how many there are; it never becomes less. */
int MPIR_Gpudt_shared_names(const uint64_t ** names);

/* Another process of the node uses a GPU, too.
 *   name  (IN)  as that process has it; may be one that this process does not use */
void MPIR_Gpudt_shared_note(uint64_t name);

#endif /* GPUDT_SHARED_H_INCLUDED */
