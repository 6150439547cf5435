/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Calls for buffers that are known to be host memory, and for host memory of the library that GPUs
 * can access. Built with and without CUDA, so it must not know cuda.h. */

#ifndef GPUDT_HOST_H_INCLUDED
#define GPUDT_HOST_H_INCLUDED

#include "gpudt.h"

/* Pin host memory and map it into all GPUs of the process, until MPIR_Gpudt_host_unregister.
 *   gpu_addr  (IN)  memory of the GPU in whose context it is registered
 *   mem, sz   (IN)  whole pages; may be memory shared with other processes
 *   is_own    (IN)  whether it may be moved to the NUMA node next to that GPU
 * Returns false if that failed, which is no error: the memory is used as pageable memory. */
bool MPIR_Gpudt_host_register(const void *gpu_addr, void *mem, size_t sz, bool is_own);

/* Unregister memory, before it is unmapped and before the engine is finalized. Safe if the context
 * in which it was registered is destroyed.
 *   mem, sz  (IN)  as given to MPIR_Gpudt_host_register, which returned true */
void MPIR_Gpudt_host_unregister(void *mem, size_t sz);

/* A number that changes when the library finds that a context was destroyed: memory registered
 * before may no longer be registered. Never 0. The library finds this when it sees memory of a new
 * context, or with `look`.
 *   look  (IN)  whether to ask the driver about each context; else this costs a load */
int MPIR_Gpudt_host_epoch(bool look);

/* Whether memory from MPIR_Gpudt_host_register is still registered. Asks the driver, so it should
 * be called only after a change of MPIR_Gpudt_host_epoch.
 *   mem, sz  (IN)  as given to MPIR_Gpudt_host_register */
bool MPIR_Gpudt_host_is_registered(void *mem, size_t sz);

/* Whether a buffer is known to be host memory without a query of the driver. Costs a few loads.
 * False: not known.
 *   buf, count, datatype  (IN)  the buffer */
bool MPIR_Gpudt_is_near(const void *buf, MPI_Aint count, MPI_Datatype datatype);

/* Note host memory of the library that stays mapped while the process exists: MPIR_Gpudt_is_near is
 * true of it. Returns false if there was no room to note it. */
bool MPIR_Gpudt_near_add(const void *mem, size_t sz);

/* Whether a buffer may be on a GPU: to be tested before the calls that ask the driver, in the code
 * that every message passes. */
static inline bool MPIR_Gpudt_may_be_gpu(const void *buf, MPI_Aint count, MPI_Datatype datatype)
{
    return unlikely(MPIR_Gpudt_is_possible()) && !MPIR_Gpudt_is_near(buf, count, datatype) &&
        MPIR_Gpudt_is_loaded();
}

/* Whether a buffer is on a GPU, at the cost of one query of the driver. One at absolute addresses
 * counts as such, since its blocks may be anywhere.
 *   buf, count, datatype  (IN)   the buffer
 *   answer                (OUT)  false also for an empty buffer
 * Returns an error if the address is not valid, as of memory that the program has freed. */
int MPIR_Gpudt_ask(const void *buf, MPI_Aint count, MPI_Datatype datatype, bool * answer);

/* As MPIR_Typerep_pack and MPIR_Typerep_unpack, for two buffers known to be host memory: makes no
 * query. For messages whose buffer was classified when they started. */
int MPIR_Typerep_pack_host(const void *inbuf, MPI_Aint incount, MPI_Datatype datatype,
                           MPI_Aint inoffset, void *outbuf, MPI_Aint max_pack_bytes,
                           MPI_Aint * actual_pack_bytes);
int MPIR_Typerep_unpack_host(const void *inbuf, MPI_Aint insize, void *outbuf, MPI_Aint outcount,
                             MPI_Datatype datatype, MPI_Aint outoffset,
                             MPI_Aint * actual_unpack_bytes);

/* The same by the records of a noncontiguous datatype. Return false, with nothing done, if the
 * release's engine shall do it. */
bool MPIR_Gpudt_cpu_pack(const void *inbuf, MPI_Aint incount, MPI_Datatype datatype,
                         MPI_Aint inoffset, void *outbuf, MPI_Aint max_pack_bytes,
                         MPI_Aint * actual_pack_bytes);
bool MPIR_Gpudt_cpu_unpack(const void *inbuf, MPI_Aint insize, void *outbuf, MPI_Aint outcount,
                           MPI_Datatype datatype, MPI_Aint outoffset,
                           MPI_Aint * actual_unpack_bytes);

/* Whether elements of a noncontiguous datatype can be moved by records for the CPU, which are made if
 * that is worth it. */
bool MPIR_Gpudt_cpu_is_ready(MPI_Aint count, MPI_Datatype datatype);

/* Move bytes [first, first + n) of the packed stream, wherever elements begin. Only for datatypes
 * and counts that MPIR_Gpudt_cpu_is_ready was true of.
 *   unpack  (IN)  whether to the buffer */
void MPIR_Gpudt_cpu_part(void *buf, MPI_Aint count, MPI_Datatype datatype, MPI_Aint first,
                         MPI_Aint n, void *packed, bool unpack);

/* As MPIR_Localcopy, between two noncontiguous datatypes in host memory, none of them predefined,
 * by their records.
 *   n  (IN)  bytes; both buffers have as many
 * Returns false, with nothing done, if the release's code shall do it. */
bool MPIR_Gpudt_cpu_localcopy(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                              void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                              MPI_Aint n);

/* As MPIR_Typerep_to_iov, by the records of a noncontiguous datatype. Returns false, with nothing
 * done, if the release's engine shall do it. */
bool MPIR_Gpudt_cpu_to_iov(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                           MPI_Aint byte_offset, struct iovec *iov, MPI_Aint max_iov_len,
                           MPI_Aint max_iov_bytes, MPI_Aint * actual_iov_len,
                           MPI_Aint * actual_iov_bytes);

/* As MPIR_Typerep_pack_external and MPIR_Typerep_unpack_external, for two buffers in host memory. An
 * integer that has fewer bytes in external32 loses the high ones.
 *   actual  (OUT)  bytes of external data */
int MPIR_Gpudt_cpu_pack_external(const void *inbuf, MPI_Aint incount, MPI_Datatype datatype,
                                 void *outbuf, MPI_Aint * actual);
int MPIR_Gpudt_cpu_unpack_external(const void *inbuf, void *outbuf, MPI_Aint outcount,
                                   MPI_Datatype datatype, MPI_Aint * actual);

/* The same between external data and data that is packed as by MPIR_Typerep_pack, whole elements of both.
 *   native  of count elements; not empty */
int MPIR_Gpudt_cpu_to_external(const void *native, MPI_Aint count, MPI_Datatype datatype,
                               void *packed, MPI_Aint * actual);
int MPIR_Gpudt_cpu_from_external(const void *packed, MPI_Aint count, MPI_Datatype datatype,
                                 void *native, MPI_Aint * actual);

/* Bytes of each number of a datatype if all have the same, in external32 as well; 0 if they have not.
 * Its packed data then becomes external data number by number. */
int MPIR_Gpudt_cpu_external_number(MPI_Datatype datatype);

/* Convert packed data to external data or back, in place.
 *   n     (IN)  bytes; a part of a number at the end stays as it is
 *   size  (IN)  of each number */
void MPIR_Gpudt_cpu_external_swap(void *packed, MPI_Aint n, int size);

/* Bytes of one datatype as external data; 0 for a predefined type without such a representation,
 * which packing reports, and without memory. */
MPI_Aint MPIR_Gpudt_cpu_size_external(MPI_Datatype datatype);

/* MPIR_Typerep_pack and MPIR_Typerep_unpack of a process that may have GPU memory: by a GPU, or
 * else by the CPU. The parameters are the same, so that those functions call them with a jump. */
int MPIR_Gpudt_pack(const void *inbuf, MPI_Aint incount, MPI_Datatype datatype, MPI_Aint inoffset,
                    void *outbuf, MPI_Aint max_pack_bytes, MPI_Aint * actual_pack_bytes);
int MPIR_Gpudt_unpack(const void *inbuf, MPI_Aint insize, void *outbuf, MPI_Aint outcount,
                      MPI_Datatype datatype, MPI_Aint outoffset, MPI_Aint * actual_unpack_bytes);

/* Events in pools of host memory, counted by performance variables. */
enum MPIR_Gpudt_pool_e {
    MPIR_GPUDT_POOL__HEAP_CHUNK,        /* no chunk free: data passes through pageable memory */
    MPIR_GPUDT_POOL__REFUSED,   /* another process's pool cannot be mapped, or does not exist */
    MPIR_GPUDT_POOL__RENEWED    /* memory replaced because a dead process might write to it */
};
void MPIR_Gpudt_count_pool(enum MPIR_Gpudt_pool_e what);

#endif /* GPUDT_HOST_H_INCLUDED */
