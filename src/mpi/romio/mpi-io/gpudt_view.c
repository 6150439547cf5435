/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Positions in file views, for operations that are split, or end at the end of the file. The
 * drivers' strided and collective reads count and deliver bytes beyond it as if they had been
 * read, so such a read is cut beforehand. Must not know GPU memory. */

#include "gpudt_io_impl.h"
#include "adio_extern.h"

#include <limits.h>

#ifdef HAVE_WEAK_SYMBOLS
/* Include mapping from MPI->PMPI */
#define MPIO_BUILD_PROFILING
#include "mpioprof.h"
#endif

int MPIOI_Gpudt_representation(ADIO_File fd)
{
    return fd->gpudt_external32 ? MPIR_EXT_GPUDT_EXTERNAL : 0;
}

ADIO_Offset MPIOI_Gpudt_view_position(ADIO_File fd)
{
    const ADIO_Offset at = fd->fp_ind - fd->disp;
    ADIOI_Flatlist_node *flat;
    MPI_Count size, lb, extent;
    ADIO_Offset last = 0, n;
    int is_contig;

    ADIOI_Datatype_iscontig(fd->filetype, &is_contig);
    if (is_contig)
        return at / fd->etype_size;
    MPI_Type_size_x(fd->filetype, &size);
    MPI_Type_get_extent_x(fd->filetype, &lb, &extent);
    if (size <= 0 || extent <= 0)
        return 0;

    flat = ADIOI_Flatten_and_find(fd->filetype);
    for (MPI_Count i = 0; i < flat->count; i++)
        last = MPL_MAX(last, flat->indices[i] + flat->blocklens[i]);
    /* the first filetype that may end behind the position */
    n = at > last ? (at - last) / extent : 0;
    while (1) {
        ADIO_Offset sum = n * size;

        for (MPI_Count i = 0; i < flat->count; i++) {
            const ADIO_Offset rest = n * extent + flat->indices[i] + flat->blocklens[i] - at;

            if (rest > 0)
                return (sum + flat->blocklens[i] - MPL_MIN(rest, flat->blocklens[i])) /
                    fd->etype_size;
            sum += flat->blocklens[i];
        }
        n++;
    }
}

void MPIOI_Gpudt_view_take(ADIO_File fd, MPI_Count n, int *file_ptr_type, ADIO_Offset * offset)
{
    int is_contig, error_code;
    ADIO_Offset at;

    if (*file_ptr_type != ADIO_INDIVIDUAL)
        return;
    ADIOI_Datatype_iscontig(fd->filetype, &is_contig);
    if (is_contig && (fd->fp_ind - fd->disp) % fd->etype_size)
        return;
    at = MPIOI_Gpudt_view_position(fd);
    ADIO_SeekIndividual(fd, at + n / fd->etype_size, ADIO_SEEK_SET, &error_code);
    *file_ptr_type = ADIO_EXPLICIT_OFFSET;
    *offset = at;
}

int MPIOI_Gpudt_view_clip(ADIO_File fd, ADIO_Offset offset, MPI_Count * n)
{
    int error_code = MPI_SUCCESS, is_contig;
    MPI_Count true_lb, true_extent;
    ADIO_Offset at, most, lo = 0, hi = *n / fd->etype_size;
    ADIO_Fcntl_t fcntl;

    /* A file whose opening was deferred is opened now */
    ADIOI_TEST_DEFERRED(fd, "MPIOI_Gpudt_view_clip", &error_code);
    if (error_code == MPI_SUCCESS)
        ADIO_Fcntl(fd, ADIO_FCNTL_GET_FSIZE, &fcntl, &error_code);
    if (error_code != MPI_SUCCESS)
        return error_code;

    ADIOI_Datatype_iscontig(fd->filetype, &is_contig);
    if (is_contig) {
        at = fd->disp + offset * fd->etype_size;
        *n = MPL_MAX(0, MPL_MIN(*n, fcntl.fsize - at));
        return MPI_SUCCESS;
    }
    /* Views are monotonic: the first lo etypes are in the file, and no more than hi. The first guess
     * is that all are. */
    MPI_Type_get_true_extent_x(fd->etype, &true_lb, &true_extent);
    for (most = hi; lo < hi; most = lo + (hi - lo + 1) / 2) {
        ADIOI_Get_byte_offset(fd, offset + most - 1, &at);
        if (at + true_extent <= fcntl.fsize)
            lo = most;
        else
            hi = most - 1;
    }
    *n = lo * fd->etype_size;
    return MPI_SUCCESS;
}

int MPIOI_Gpudt_bytes_make(MPI_Count n, struct MPIOI_Gpudt_bytes *bytes)
{
    int error_code = MPI_SUCCESS;

    bytes->type = MPI_BYTE;
    bytes->count = n <= INT_MAX ? (int) n : 1;
    if (n > INT_MAX) {
        error_code = MPI_Type_contiguous_c(n, MPI_BYTE, &bytes->type);
        if (error_code == MPI_SUCCESS)
            error_code = MPI_Type_commit(&bytes->type);
        else
            bytes->type = MPI_BYTE;
        if (error_code != MPI_SUCCESS)
            bytes->count = 0;
    }
    return error_code;
}

void MPIOI_Gpudt_bytes_free(struct MPIOI_Gpudt_bytes *bytes)
{
    if (bytes->type != MPI_BYTE)
        MPI_Type_free(&bytes->type);
}
