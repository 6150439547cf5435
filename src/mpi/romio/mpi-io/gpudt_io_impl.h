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

/* ---- collective operations that processes do by themselves ---- */

/* Whether the program asks for no collective buffering, and the file is not atomic. */
static inline int MPIOI_Gpudt_is_uncoordinated(ADIO_File fd, int is_read)
{
    return !fd->atomicity &&
        (is_read ? fd->hints->cb_read : fd->hints->cb_write) == ADIOI_HINT_DISABLE;
}

/* Define independent_NAME, which does a collective operation as an independent one.
 *   result_t_  (IN)  ADIO_Status, or ADIO_Request of a nonblocking one */
#define MPIOI_GPUDT_INDEPENDENT(name_, buf_t_, result_t_)                                         \
static void independent_##name_(ADIO_File fd, buf_t_ * buf, int count, MPI_Datatype datatype,     \
                                int file_ptr_type, ADIO_Offset offset, result_t_ * result,        \
                                int *error_code)                                                  \
{                                                                                                 \
    int is_contig_mem, is_contig_file;                                                            \
                                                                                                  \
    ADIOI_Datatype_iscontig(datatype, &is_contig_mem);                                            \
    ADIOI_Datatype_iscontig(fd->filetype, &is_contig_file);                                       \
    if (is_contig_mem && is_contig_file)                                                          \
        MPIOI_Gpudt_##name_##Contig(fd, buf, count, datatype, file_ptr_type,                      \
                                    fd->disp + fd->etype_size * offset, result, error_code);      \
    else                                                                                          \
        MPIOI_Gpudt_##name_##Strided(fd, buf, count, datatype, file_ptr_type, offset, result,     \
                                     error_code);                                                 \
}

/* ---- rounds of collective operations: gpudt_collective.c ---- */

/* What a process with a buffer that is staged has to do in an operation. If that fails it takes
 * part with no data, as others would wait for it, and reports the error afterwards. */
struct MPIOI_Gpudt_rounds {
    ADIO_File fd;
    MPIR_Ext_gpudt_stage_t *stage;      /* NULL, if that is what failed; owned */
    int is_read;
    int file_ptr_type;          /* this and the offset: where the operation begins */
    ADIO_Offset offset;
    MPI_Count n;                /* bytes to move: of a read no more than the file has */
    MPI_Count chunk;            /* bytes of a round; 0 if there is nothing to move */
    int failure;                /* an MPI error code */
};

/* The arguments of the driver's operation in a round. */
struct MPIOI_Gpudt_round {
    void *mem;
    MPI_Count n;                /* bytes; may be 0 */
    struct MPIOI_Gpudt_bytes bytes;     /* the same */
    int file_ptr_type;
    ADIO_Offset offset;
};

/* Where an operation of n bytes begins, and move the file pointer. To be called in the order of
 * the program's calls. */
void MPIOI_Gpudt_rounds_place(struct MPIOI_Gpudt_rounds *r, MPI_Count n, int file_ptr_type,
                              ADIO_Offset offset);

/* Get the chunks of r->stage, which is not NULL, and start to pack the first. To be called when
 * all earlier operations of the process on the file are complete.
 *   is_whole  (IN)  whether all is to be moved in one round */
void MPIOI_Gpudt_rounds_begin(struct MPIOI_Gpudt_rounds *r, int is_whole);

/* The rounds that this process needs; at least 1. */
ADIO_Offset MPIOI_Gpudt_rounds_number(const struct MPIOI_Gpudt_rounds *r);

/* Around the driver's operation in round i.
 *   error_code  (IN)  of that operation */
void MPIOI_Gpudt_round_begin(struct MPIOI_Gpudt_rounds *r, ADIO_Offset i,
                             struct MPIOI_Gpudt_round *round);
void MPIOI_Gpudt_round_end(struct MPIOI_Gpudt_rounds *r, ADIO_Offset i,
                           struct MPIOI_Gpudt_round *round, int error_code);

/* After the last round: wait until all is unpacked, and free the stage. Returns the first error. */
int MPIOI_Gpudt_rounds_end(struct MPIOI_Gpudt_rounds *r);

#endif /* GPUDT_IO_IMPL_H_INCLUDED */
