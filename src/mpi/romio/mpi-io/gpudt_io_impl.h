/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* What the files that implement gpudt_io.h have in common. */

#ifndef GPUDT_IO_IMPL_H_INCLUDED
#define GPUDT_IO_IMPL_H_INCLUDED

#define MPIOI_GPUDT_CALLS_DRIVERS
#include "mpioimpl.h"

/* ---- file views: gpudt_view.c ---- */

/* How the file's representation wants buffers to be staged, as a flag for MPIR_Ext_gpudt_stage_make. */
int MPIOI_Gpudt_representation(ADIO_File fd);

/* The individual file pointer, in etypes. It takes a time that does not depend on the position, as
 * that of ADIOI_Get_position does. */
ADIO_Offset MPIOI_Gpudt_view_position(ADIO_File fd);

/* For an operation at the individual file pointer: replace that by an offset, and move it by n
 * bytes. The drivers read a pointer at any time until a nonblocking operation is complete, and
 * move it by what they read. A pointer within an etype, after a read from a file that ended there,
 * stays with the driver.
 *   file_ptr_type, offset  (IN/OUT)  where the operation begins */
void MPIOI_Gpudt_view_take(ADIO_File fd, MPI_Count n, int *file_ptr_type, ADIO_Offset * offset);

/* The bytes that a read of n bytes would find before the end of the file. In a noncontiguous view
 * whole etypes are counted.
 *   offset  (IN)      where it begins, in etypes
 *   n       (IN/OUT)  whole etypes
 * Returns an MPI error code. */
int MPIOI_Gpudt_view_clip(ADIO_File fd, ADIO_Offset offset, MPI_Count * n);

/* ---- packed data in host memory: gpudt_view.c ---- */

/* Bytes as an argument of calls that take an int. */
struct MPIOI_Gpudt_bytes {
    MPI_Datatype type;
    int count;
};

/* Describe n bytes; if they are too many for an int, as one element of a type. Freed by
 * MPIOI_Gpudt_bytes_free. Returns an MPI error code, and then describes no bytes. */
int MPIOI_Gpudt_bytes_make(MPI_Count n, struct MPIOI_Gpudt_bytes *bytes);
void MPIOI_Gpudt_bytes_free(struct MPIOI_Gpudt_bytes *bytes);

#endif /* GPUDT_IO_IMPL_H_INCLUDED */
