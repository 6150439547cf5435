/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* What ROMIO needs of the datatype engine: buffers of the program in GPU memory, host buffers of many
 * small blocks, and all buffers for a file in the external32 representation are staged in host
 * memory, where file operations find their packed data. The same with and without CUDA. As
 * mpir_ext.h it must not know MPICH's internals. */

#ifndef MPIR_EXT_GPUDT_H_INCLUDED
#define MPIR_EXT_GPUDT_H_INCLUDED

#include <mpi.h>

/* A buffer, and host memory for parts of its packed data. */
typedef struct MPIR_Ext_gpudt_stage MPIR_Ext_gpudt_stage_t;

/* The parts of the packed data that may be in host memory at a time. */
#define MPIR_EXT_GPUDT_CHUNKS 2

/* Bytes of a host buffer that are packed at a time; as many as ROMIO's buffer for data sieving. */
#define MPIR_EXT_GPUDT_HOST_CHUNK (512 * 1024)

/* How a buffer is staged. Host memory, too, if packing it is faster than accessing the file block by
 * block: */
#define MPIR_EXT_GPUDT_IF_FASTER 1
/* Any memory, and the packed data is converted to external32. Numbers that are shorter there are
 * followed by zeros, so that it has the size of the native data. */
#define MPIR_EXT_GPUDT_EXTERNAL 2

/* Describe a buffer. Costs a few loads while the process has no GPU, else at most the queries of
 * MPIR_Gpudt_buffer_make.
 *   buf, count, datatype (IN)   the buffer
 *   how                  (IN)   flags of those above, or 0
 *   stage                (OUT)  NULL on failure, or if the buffer shall not be staged. Freed by
 *                               MPIR_Ext_gpudt_stage_free
 * Functions that return int return an MPI error code, but for MPIR_Ext_gpudt_stage_may_store. */
int MPIR_Ext_gpudt_stage_make(const void *buf, int count, MPI_Datatype datatype, int how,
                              MPIR_Ext_gpudt_stage_t ** stage);

/* Bytes of the packed data. */
MPI_Count MPIR_Ext_gpudt_stage_size(const MPIR_Ext_gpudt_stage_t * stage);

/* Get host memory; to be called once.
 *   unit      (IN)   chunks are multiples of this many bytes, except the last one
 *   is_whole  (IN)   whether the buffer is to be one chunk, whatever its size, as it is for external32
 *                    if the datatype has numbers of several sizes
 *   chunk     (OUT)  bytes of a chunk; not less than the size if there is only one */
int MPIR_Ext_gpudt_stage_alloc(MPIR_Ext_gpudt_stage_t * stage, MPI_Count unit, int is_whole,
                               MPI_Count * chunk);

/* The host memory of chunk i modulo MPIR_EXT_GPUDT_CHUNKS. */
void *MPIR_Ext_gpudt_stage_mem(const MPIR_Ext_gpudt_stage_t * stage, int i);

/* Start to move bytes [first, first + n) of the packed data between the buffer and the memory of
 * chunk i, which no other move is using. They are a chunk, or the beginning of one.
 *   unpack  (IN)  whether to the buffer */
int MPIR_Ext_gpudt_stage_start(MPIR_Ext_gpudt_stage_t * stage, int i, MPI_Count first, MPI_Count n,
                               int unpack);

/* Wait for the move of chunk i, if there is one. */
int MPIR_Ext_gpudt_stage_wait(MPIR_Ext_gpudt_stage_t * stage, int i);

/* Bytes that blocks of storage divide: it is accessed in whole blocks, and another process may be writing
 * to the rest of one. */
#define MPIR_EXT_GPUDT_STORAGE_UNIT 4096

/* Whether to try to move n bytes between the buffer and a file without host memory, see gpudt_storage.h. */
int MPIR_Ext_gpudt_stage_may_store(const MPIR_Ext_gpudt_stage_t * stage, MPI_Count n);

/* Try it with a part of the packed data.
 *   first, n  (IN)  bytes of the packed data
 *   fd        (IN)  file descriptor
 *   at        (IN)  position of byte first in the file; this and n are multiples of
 *                   MPIR_EXT_GPUDT_STORAGE_UNIT
 * Returns the bytes moved, from first on. The rest has to go through host memory. */
MPI_Count MPIR_Ext_gpudt_stage_store(MPIR_Ext_gpudt_stage_t * stage, MPI_Count first, MPI_Count n,
                                     int fd, MPI_Offset at, int is_read);

/* Free a stage; moves that are still in flight are cancelled.
 *   stage  (IN)  may be NULL */
void MPIR_Ext_gpudt_stage_free(MPIR_Ext_gpudt_stage_t * stage);

/* Keep a datatype, which the program may free while an operation is pending. */
void MPIR_Ext_gpudt_type_keep(MPI_Datatype datatype);
void MPIR_Ext_gpudt_type_release(MPI_Datatype datatype);

/* Poll a generalized request once, without the progress of all others that MPI_Test makes before; any
 * other request is left as it is.
 *   flag  (OUT)  1 if MPI_Test is to be called: it may be complete, or has no function to poll it */
int MPIR_Ext_gpudt_request_poll(MPI_Request request, int *flag);

/* No buffer of a communicator's collectives is or will be in GPU memory: its processes need not ask each other.
 * To be called by all of them before the first.
 *   comm  (IN)  may be MPI_COMM_NULL */
void MPIR_Ext_gpudt_comm_is_host(MPI_Comm comm);

/* Put the kinds of memory that MPI supports into an info object, as MPIR_Gpudt_kinds_tell. */
int MPIR_Ext_gpudt_kinds_tell(MPI_Info info);

#endif /* MPIR_EXT_GPUDT_H_INCLUDED */
