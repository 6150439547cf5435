/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Blocking collective file operations on GPU buffers. Other processes may have host buffers and do
 * not know of ours, so the driver's operation is called once, with the whole packed data in host
 * memory. Must not know how buffers are packed. */

#include "gpudt_io_impl.h"

#include <string.h>

#ifdef HAVE_WEAK_SYMBOLS
/* Include mapping from MPI->PMPI */
#define MPIO_BUILD_PROFILING
#include "mpioprof.h"
#endif

/* Replace the individual file pointer by an offset, and move it by n bytes. The drivers read a
 * pointer at any time until a nonblocking operation is complete, and move it by what they read. A
 * pointer within an etype, after a read from a file that ended there, stays with the driver. */
static void pointer_take(ADIO_File fd, MPI_Count n, struct MPIOI_Gpudt_whole *whole)
{
    int is_contig, error_code;
    ADIO_Offset at;

    ADIOI_Datatype_iscontig(fd->filetype, &is_contig);
    if (is_contig && (fd->fp_ind - fd->disp) % fd->etype_size)
        return;
    at = MPIOI_Gpudt_view_position(fd);
    ADIO_SeekIndividual(fd, at + n / fd->etype_size, ADIO_SEEK_SET, &error_code);
    whole->file_ptr_type = ADIO_EXPLICIT_OFFSET;
    whole->offset = at;
}

int MPIOI_Gpudt_whole_make(ADIO_File fd, const void *buf, int count, MPI_Datatype datatype,
                           int file_ptr_type, ADIO_Offset offset, int is_read,
                           struct MPIOI_Gpudt_whole *whole)
{
    MPI_Count chunk;
    int error_code;

    memset(whole, 0, sizeof(*whole));
    error_code = MPIR_Ext_gpudt_stage_make(buf, count, datatype, 0, &whole->stage);
    if (whole->stage == NULL && error_code == MPI_SUCCESS)
        return 0;
    whole->file_ptr_type = file_ptr_type;
    whole->offset = offset;
    if (whole->stage) {
        whole->n = MPIR_Ext_gpudt_stage_size(whole->stage);
        if (file_ptr_type == ADIO_INDIVIDUAL)
            pointer_take(fd, whole->n, whole);
        if (is_read)
            error_code = MPIOI_Gpudt_view_clip(fd, whole->file_ptr_type == ADIO_INDIVIDUAL ?
                                               MPIOI_Gpudt_view_position(fd) : whole->offset,
                                               &whole->n);
        if (error_code == MPI_SUCCESS)
            error_code = MPIR_Ext_gpudt_stage_alloc(whole->stage, 1, 1, &chunk);
        if (error_code == MPI_SUCCESS && !is_read)
            error_code = MPIR_Ext_gpudt_stage_start(whole->stage, 0, 0, whole->n, 0);
        if (error_code == MPI_SUCCESS)
            error_code = MPIR_Ext_gpudt_stage_wait(whole->stage, 0);
    }
    if (error_code != MPI_SUCCESS)
        whole->n = 0;
    else
        whole->mem = MPIR_Ext_gpudt_stage_mem(whole->stage, 0);
    whole->failure = error_code;
    error_code = MPIOI_Gpudt_bytes_make(whole->n, &whole->bytes);
    if (error_code != MPI_SUCCESS)
        whole->failure = error_code;
    return 1;
}

int MPIOI_Gpudt_whole_end(struct MPIOI_Gpudt_whole *whole, int is_read, int error_code)
{
    MPIOI_Gpudt_bytes_free(&whole->bytes);
    if (whole->failure != MPI_SUCCESS)
        error_code = whole->failure;
    if (error_code == MPI_SUCCESS && is_read && whole->n > 0)
        error_code = MPIR_Ext_gpudt_stage_start(whole->stage, 0, 0, whole->n, 1);
    if (error_code == MPI_SUCCESS)
        error_code = MPIR_Ext_gpudt_stage_wait(whole->stage, 0);
    MPIR_Ext_gpudt_stage_free(whole->stage);
    whole->stage = NULL;
    return error_code;
}

#define BLOCKING(name_, buf_t_, is_read_)                                                         \
void MPIOI_Gpudt_##name_(ADIO_File fd, buf_t_ * buf, int count, MPI_Datatype datatype,            \
                         int file_ptr_type, ADIO_Offset offset, ADIO_Status * status,             \
                         int *error_code)                                                         \
{                                                                                                 \
    struct MPIOI_Gpudt_whole w;                                                                   \
    ADIO_Status mine;                                                                             \
                                                                                                  \
    if (MPIOI_Gpudt_whole_make(fd, buf, count, datatype, file_ptr_type, offset, is_read_, &w)) {  \
        ADIO_##name_(fd, w.mem, w.bytes.count, w.bytes.type, w.file_ptr_type, w.offset, &mine,    \
                     error_code);                                                                 \
        *error_code = MPIOI_Gpudt_whole_end(&w, is_read_, *error_code);                           \
        status_set(status, datatype, w.n, *error_code);                                           \
    } else {                                                                                      \
        ADIO_##name_(fd, buf, count, datatype, file_ptr_type, offset, status, error_code);        \
    }                                                                                             \
}

static void status_set(ADIO_Status * status, MPI_Datatype datatype, MPI_Count n, int error_code)
{
#ifdef HAVE_STATUS_SET_BYTES
    if (error_code == MPI_SUCCESS)
        MPIR_Status_set_bytes(status, datatype, n);
#endif
}

BLOCKING(ReadStridedColl, void, 1)
BLOCKING(WriteStridedColl, const void, 0)
