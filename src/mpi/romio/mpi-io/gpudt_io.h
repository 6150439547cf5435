/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* File operations on buffers in GPU memory, and all those on external32 files. Included at the end
 * of mpioimpl.h, it puts functions with the same parameters in the place of the calls from
 * MPI_File_* to the file system's driver. Those stage a GPU buffer in host memory, where they
 * convert the data if the file needs that, and call the driver with it; for other host memory they
 * call the driver with what they were given. The callers have checked their arguments, hold the
 * lock of a contiguous range of an atomic file, and have moved the shared file pointer. */

#ifndef GPUDT_IO_H_INCLUDED
#define GPUDT_IO_H_INCLUDED

#ifdef ROMIO_INSIDE_MPICH

#include "mpir_ext_gpudt.h"

/* Independent operations: in chunks of bounded size, see gpudt_independent.c. The nonblocking ones
 * are complete when they return. */
void MPIOI_Gpudt_ReadContig(ADIO_File fd, void *buf, int count, MPI_Datatype datatype,
                            int file_ptr_type, ADIO_Offset offset, ADIO_Status * status,
                            int *error_code);
void MPIOI_Gpudt_WriteContig(ADIO_File fd, const void *buf, int count, MPI_Datatype datatype,
                             int file_ptr_type, ADIO_Offset offset, ADIO_Status * status,
                             int *error_code);
void MPIOI_Gpudt_ReadStrided(ADIO_File fd, void *buf, int count, MPI_Datatype datatype,
                             int file_ptr_type, ADIO_Offset offset, ADIO_Status * status,
                             int *error_code);
void MPIOI_Gpudt_WriteStrided(ADIO_File fd, const void *buf, int count, MPI_Datatype datatype,
                              int file_ptr_type, ADIO_Offset offset, ADIO_Status * status,
                              int *error_code);
void MPIOI_Gpudt_IreadContig(ADIO_File fd, void *buf, int count, MPI_Datatype datatype,
                             int file_ptr_type, ADIO_Offset offset, ADIO_Request * request,
                             int *error_code);
void MPIOI_Gpudt_IwriteContig(ADIO_File fd, const void *buf, int count, MPI_Datatype datatype,
                              int file_ptr_type, ADIO_Offset offset, ADIO_Request * request,
                              int *error_code);
void MPIOI_Gpudt_IreadStrided(ADIO_File fd, void *buf, int count, MPI_Datatype datatype,
                              int file_ptr_type, ADIO_Offset offset, ADIO_Request * request,
                              int *error_code);
void MPIOI_Gpudt_IwriteStrided(ADIO_File fd, const void *buf, int count, MPI_Datatype datatype,
                               int file_ptr_type, ADIO_Offset offset, ADIO_Request * request,
                               int *error_code);

/* Collective operations: in rounds of bounded size, see gpudt_collective.c, and gpudt_request.c for
 * the nonblocking ones. */
void MPIOI_Gpudt_ReadStridedColl(ADIO_File fd, void *buf, int count, MPI_Datatype datatype,
                                 int file_ptr_type, ADIO_Offset offset, ADIO_Status * status,
                                 int *error_code);
void MPIOI_Gpudt_WriteStridedColl(ADIO_File fd, const void *buf, int count, MPI_Datatype datatype,
                                  int file_ptr_type, ADIO_Offset offset, ADIO_Status * status,
                                  int *error_code);
void MPIOI_Gpudt_IreadStridedColl(ADIO_File fd, void *buf, int count, MPI_Datatype datatype,
                                  int file_ptr_type, ADIO_Offset offset, ADIO_Request * request,
                                  int *error_code);
void MPIOI_Gpudt_IwriteStridedColl(ADIO_File fd, const void *buf, int count, MPI_Datatype datatype,
                                   int file_ptr_type, ADIO_Offset offset, ADIO_Request * request,
                                   int *error_code);

#ifndef MPIOI_GPUDT_CALLS_DRIVERS       /* defined in our own files */
#undef ADIO_ReadContig
#undef ADIO_WriteContig
#undef ADIO_ReadStrided
#undef ADIO_WriteStrided
#undef ADIO_IreadContig
#undef ADIO_IwriteContig
#undef ADIO_IreadStrided
#undef ADIO_IwriteStrided
#undef ADIO_ReadStridedColl
#undef ADIO_WriteStridedColl
#undef ADIO_IreadStridedColl
#undef ADIO_IwriteStridedColl
#define ADIO_ReadContig MPIOI_Gpudt_ReadContig
#define ADIO_WriteContig MPIOI_Gpudt_WriteContig
#define ADIO_ReadStrided MPIOI_Gpudt_ReadStrided
#define ADIO_WriteStrided MPIOI_Gpudt_WriteStrided
#define ADIO_IreadContig MPIOI_Gpudt_IreadContig
#define ADIO_IwriteContig MPIOI_Gpudt_IwriteContig
#define ADIO_IreadStrided MPIOI_Gpudt_IreadStrided
#define ADIO_IwriteStrided MPIOI_Gpudt_IwriteStrided
#define ADIO_ReadStridedColl MPIOI_Gpudt_ReadStridedColl
#define ADIO_WriteStridedColl MPIOI_Gpudt_WriteStridedColl
#define ADIO_IreadStridedColl MPIOI_Gpudt_IreadStridedColl
#define ADIO_IwriteStridedColl MPIOI_Gpudt_IwriteStridedColl
#endif

/* In MPI_File_get_info: add the kinds of memory that MPI supports, if there was no error. */
#define MPIOI_GPUDT_KINDS_TELL(info_, error_code_)              \
    do {                                                        \
        if ((error_code_) == MPI_SUCCESS)                       \
            (error_code_) = MPIR_Ext_gpudt_kinds_tell(info_);   \
    } while (0)

/* A file's communicator, before its first use: ROMIO calls its collectives with memory of its own only, the
 * nonblocking ones in an order beside the blocking ones that processes need not share. */
#define MPIOI_GPUDT_COMM_IS_HOST(comm_) MPIR_Ext_gpudt_comm_is_host(comm_)

/* Complete all nonblocking collective operations of a file, before a blocking one waits for other processes.
 * These have called them before it, too. */
void MPIOI_Gpudt_pending_end(ADIO_File fd);
#define MPIOI_GPUDT_PENDING_END(fd_) MPIOI_Gpudt_pending_end(fd_)

#else /* ! ROMIO_INSIDE_MPICH */

#define MPIOI_GPUDT_PENDING_END(fd_)
#define MPIOI_GPUDT_COMM_IS_HOST(comm_)

#define MPIOI_GPUDT_KINDS_TELL(info_, error_code_)

#endif /* ROMIO_INSIDE_MPICH */

#endif /* GPUDT_IO_H_INCLUDED */
