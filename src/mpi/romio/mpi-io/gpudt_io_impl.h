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

/* The individual file pointer, in etypes. It takes a time that does not depend on the position, as
 * that of ADIOI_Get_position does. */
ADIO_Offset MPIOI_Gpudt_view_position(ADIO_File fd);

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

/* ---- buffers that are staged as a whole: gpudt_collective.c ---- */

/* A process whose buffer cannot be staged takes part in the collective operation with no data, as
 * others would wait for it, and reports the error afterwards. */
struct MPIOI_Gpudt_whole {
    MPIR_Ext_gpudt_stage_t *stage;      /* NULL, if that is what failed */
    int failure;                /* an MPI error code */
    void *mem;                  /* this and the rest are for the driver's operation */
    MPI_Count n;                /* bytes of it: of a read no more than the file has */
    struct MPIOI_Gpudt_bytes bytes;
    int file_ptr_type;
    ADIO_Offset offset;
};

/* Prepare a collective operation; for a write, pack. Returns 0 if the buffer is host memory. The
 * individual file pointer may have been moved already. */
int MPIOI_Gpudt_whole_make(ADIO_File fd, const void *buf, int count, MPI_Datatype datatype,
                           int file_ptr_type, ADIO_Offset offset, int is_read,
                           struct MPIOI_Gpudt_whole *whole);

/* After the operation: for a read, unpack; free. Returns the first error.
 *   error_code  (IN)  of the operation */
int MPIOI_Gpudt_whole_end(struct MPIOI_Gpudt_whole *whole, int is_read, int error_code);

#endif /* GPUDT_IO_IMPL_H_INCLUDED */
