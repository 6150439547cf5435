/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The pieces of a datatype in host memory as an iovec, for the network layers and accumulates. Must
 * not know GPUs. */

#include "mpiimpl.h"
#include "gpudt_cpu_range.h"
#include "gpudt_host.h"
#include "type/gpudt_rows.h"

struct iov_fill {
    char *buf;
    struct iovec *iov;
    MPI_Aint most;              /* room in iov */
    MPI_Aint n;
    MPI_Aint bytes;
};

/* MPII_Gpudt_row_fn. Pieces that touch become one. Not MPI_SUCCESS: there is no room left. */
static int row_add(void *arg, int64_t displ, int64_t size, int64_t n, int64_t stride)
{
    struct iov_fill *fill = arg;
    char *at = fill->buf + displ;

    for (int64_t i = 0; i < n; i++, at += stride) {
        struct iovec *piece = &fill->iov[fill->n];

        if (fill->n > 0 && (char *) piece[-1].iov_base + piece[-1].iov_len == at) {
            piece[-1].iov_len += (size_t) size;
        } else {
            if (fill->n == fill->most)
                return MPI_ERR_OTHER;
            piece->iov_base = at;
            piece->iov_len = (size_t) size;
            fill->n++;
        }
        fill->bytes += size;
    }
    return MPI_SUCCESS;
}

bool MPIR_Gpudt_cpu_to_iov(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                           MPI_Aint byte_offset, struct iovec *iov, MPI_Aint max_iov_len,
                           MPI_Aint max_iov_bytes, MPI_Aint * actual_iov_len,
                           MPI_Aint * actual_iov_bytes)
{
    struct iov_fill fill = {.buf = (char *) buf,.iov = iov,.most = max_iov_len };
    struct MPII_Gpudt_cpu_range range;
    int is_contig;

    MPIR_Datatype_is_contig(datatype, &is_contig);
    if (is_contig ||
        !MPII_Gpudt_cpu_range_make(&range, count, datatype, byte_offset, max_iov_bytes))
        return false;
    if (range.first < range.last)
        MPII_Gpudt_rows_visit(range.serial, range.top, range.first, range.last, row_add, &fill);
    *actual_iov_len = fill.n;
    *actual_iov_bytes = fill.bytes;
    return true;
}
