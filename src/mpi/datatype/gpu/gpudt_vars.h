/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The engine's performance variables. Must not know what is counted. */

#ifndef GPUDT_VARS_H_INCLUDED
#define GPUDT_VARS_H_INCLUDED

#include "mpiimpl.h"

#define MPII_GPUDT_COUNTERS(F)                                                                  \
    F(packs, "Packs and contiguous copies in which GPU memory took part")                       \
    F(unpacks, "Unpacks in which GPU memory took part")                                         \
    F(local_copies, "Copies from datatype to datatype in which GPU memory took part")           \
    F(bytes, "Bytes that packs, unpacks and copies with GPU memory moved, also for messages and windows") \
    F(launches, "Kernels launched")                                                             \
    F(graph_launches, "Kernels launched by a CUDA graph")                                       \
    F(flags, "Kernels that report their completion in pinned memory")                           \
    F(batches, "Kernels launched for several operations together")                              \
    F(batched, "Operations launched by kernels that do several together")                       \
    F(copies, "Copies of blocks, rows or whole messages given to the driver")                   \
    F(staged, "Operations that passed through a work area in chunks")                           \
    F(cpu_bytes, "Bytes that the CPU copied to or from a pinned work area")                     \
    F(reductions, "Reductions by a kernel")                                                     \
    F(reductions_cpu, "Reductions by the CPU of copies of operands in GPU memory")              \
    F(reductions_direct, "Parts of reductions by a kernel that maps the other processes' operands") \
    F(collective_pulls, "Blocks of collectives copied from memory of other processes that this one mapped") \
    F(offers_kept, "Collectives that moved data without an exchange of offers, which had not changed")  \
    F(temps, "Temporary buffers of collectives and accumulates in GPU memory")                  \
    F(fallbacks_image, "Moves without a kernel: no image suits the GPU, or no memory for it")   \
    F(fallbacks_memory, "Operations on a slower route because memory for another was refused")  \
    F(fallbacks_mixed, "Operations on datatypes whose blocks are in different kinds of memory") \
    F(fallbacks_pinned, "Parts of pools for messages that could not be pinned")                 \
    F(fallbacks_share, "Pools for messages of other processes that could not be mapped")        \
    F(renewed_pieces, "Parts of pools replaced because a dead process might write to them")     \
    F(heap_chunks, "Segments of messages that went through pageable memory")                    \
    F(direct_pulls, "Messages copied from memory of the sending process that this one mapped")  \
    F(pulls_joined, "Messages copied by the receiver that joined another one that waited for a launch") \
    F(direct_staged, "Messages received from GPU memory that the sending process packed them into")  \
    F(staged_ahead, "Segments of messages staged in GPU memory, unpacked by a kernel that was launched before their data was there") \
    F(staged_missed, "Segments of messages staged in GPU memory whose kernel was launched ahead, and again as the data came too late") \
    F(staged_beside, "Segments of messages staged in GPU memory that were moved while others passed the other way") \
    F(direct_pushes, "Messages copied to memory of the receiving process that this one mapped") \
    F(direct_refused, "Offers of mapped memory that were not used, so that data passed through the host") \
    F(direct_hidden, "Sends on a node of GPU memory that other processes cannot map")         \
    F(window_direct, "Operations on windows by the origin's GPU: of other processes, mapped by this one, and accumulates on its own") \
    F(window_joined, "Puts and gets by the origin's GPU that joined another one that waited for a launch") \
    F(window_atomic, "Operations on windows by atomic operations of the GPU")                   \
    F(window_refused, "Operations on windows that the origin's GPU was to do and could not, and which went by messages") \
    F(window_messages, "Puts, gets and parts of accumulates whose data was a message of its own") \
    F(peer_types_freed, "Datatypes of other processes that were kept until these had freed them")    \
    F(ipc_hits, "Uses of allocations of other processes that were mapped already")              \
    F(ipc_opens, "Allocations of other processes mapped")                                       \
    F(ipc_failures, "Allocations of other processes that could not be mapped")                  \
    F(ipc_evictions, "Allocations of other processes unmapped to make room")                    \
    F(storage_bytes, "Bytes of files that GPUDirect Storage moved")                             \
    F(memops_waits, "Waits for the default stream, for memory seen for the first time or unmarked") \
    F(memops_unfinished, "Waits for the default stream, for memory seen for the first time or unmarked, after which it was still busy")

#define MPII_GPUDT_LEVELS(F)                                                                    \
    F(pinned_bytes, "Bytes of pinned work areas")                                               \
    F(device_bytes, "Bytes of device memory for work areas and datatypes")                      \
    F(ipc_mapped, "Allocations of other processes that are mapped")                             \
    F(ipc_bytes, "Bytes of the allocations of other processes that are mapped")                 \
    F(cached_types, "Datatypes with lists in device memory, each device counted")               \
    F(engines, "Contexts of devices in use")

#define MPII_GPUDT_VAR_ID(name_, text_) MPII_GPUDT_VAR__ ## name_,
enum MPII_Gpudt_var_e {
    MPII_GPUDT_COUNTERS(MPII_GPUDT_VAR_ID)
    MPII_GPUDT_LEVELS(MPII_GPUDT_VAR_ID)
    MPII_GPUDT_NVARS
};
#undef MPII_GPUDT_VAR_ID

extern MPL_atomic_uint64_t MPII_Gpudt_vars[MPII_GPUDT_NVARS];

#define MPII_GPUDT_COUNT(name_, n_)                                             \
    ((void) MPL_atomic_fetch_add_uint64(&MPII_Gpudt_vars[MPII_GPUDT_VAR__ ## name_],    \
                                        (uint64_t) (n_)))
#define MPII_GPUDT_UNCOUNT(name_, n_)                                           \
    ((void) MPL_atomic_fetch_sub_uint64(&MPII_Gpudt_vars[MPII_GPUDT_VAR__ ## name_],    \
                                        (uint64_t) (n_)))

#endif /* GPUDT_VARS_H_INCLUDED */
