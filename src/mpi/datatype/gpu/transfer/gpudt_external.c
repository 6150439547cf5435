/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* MPI_Pack_external and MPI_Unpack_external of GPU memory, and of blocks at absolute addresses, which may be in any
 * memory. The CPU converts packed data in host memory: external32 is for files and other machines, not for
 * speed. Must not know routes, kernels or streams. */

#include "mpiimpl.h"
#include "gpudt.h"
#include "gpudt_error.h"
#include "gpudt_host.h"

static int sides_ask(const void *user, MPI_Aint count, MPI_Datatype datatype, bool * user_is_gpu,
                     const void *packed, bool * packed_is_gpu);
static int data_alloc(MPI_Aint count, MPI_Aint each, char **data, MPI_Aint * size);
static MPI_Aint size_of(MPI_Datatype datatype);

int MPIR_Gpudt_pack_external(const void *inbuf, MPI_Aint incount, MPI_Datatype datatype,
                             void *outbuf, MPI_Aint * actual, bool * handled)
{
    int mpi_errno = MPI_SUCCESS;
    char *native = NULL, *packed = NULL;
    MPI_Aint size, done;
    bool user_is_gpu, packed_is_gpu, copied;

    MPIR_FUNC_ENTER;

    mpi_errno = sides_ask(inbuf, incount, datatype, &user_is_gpu, outbuf, &packed_is_gpu);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    *handled = user_is_gpu || packed_is_gpu;
    if (!*handled)
        goto fn_exit;

    if (packed_is_gpu) {
        mpi_errno = data_alloc(incount, MPIR_Typerep_size_external32(datatype), &packed, &size);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    if (user_is_gpu) {
        mpi_errno = data_alloc(incount, size_of(datatype), &native, &size);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        mpi_errno = MPIR_Typerep_pack(inbuf, incount, datatype, 0, native, size, &done);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        mpi_errno = MPIR_Gpudt_cpu_to_external(native, incount, datatype, packed ? packed : outbuf,
                                               actual);
    } else {
        mpi_errno = MPIR_Gpudt_cpu_pack_external(inbuf, incount, datatype, packed, actual);
    }
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (packed) {
        mpi_errno = MPIR_Gpudt_icopy(outbuf, packed, *actual, NULL, &copied);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    MPL_free(native);
    MPL_free(packed);
    MPIR_FUNC_EXIT;
    return mpi_errno;
  fn_fail:
    *handled = true;
    *actual = 0;
    goto fn_exit;
}

int MPIR_Gpudt_unpack_external(const void *inbuf, void *outbuf, MPI_Aint outcount,
                               MPI_Datatype datatype, MPI_Aint * actual, bool * handled)
{
    int mpi_errno = MPI_SUCCESS;
    char *native = NULL, *packed = NULL;
    MPI_Aint size, done;
    bool user_is_gpu, packed_is_gpu, copied;

    MPIR_FUNC_ENTER;

    mpi_errno = sides_ask(outbuf, outcount, datatype, &user_is_gpu, inbuf, &packed_is_gpu);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    *handled = user_is_gpu || packed_is_gpu;
    if (!*handled)
        goto fn_exit;

    if (packed_is_gpu) {
        mpi_errno = data_alloc(outcount, MPIR_Typerep_size_external32(datatype), &packed, &size);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        mpi_errno = MPIR_Gpudt_icopy(packed, inbuf, size, NULL, &copied);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    if (user_is_gpu) {
        mpi_errno = data_alloc(outcount, size_of(datatype), &native, &size);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        mpi_errno = MPIR_Gpudt_cpu_from_external(packed ? packed : inbuf, outcount, datatype, native,
                                                 actual);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        mpi_errno = MPIR_Typerep_unpack(native, size, outbuf, outcount, datatype, 0, &done);
    } else {
        mpi_errno = MPIR_Gpudt_cpu_unpack_external(packed, outbuf, outcount, datatype, actual);
    }
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    MPL_free(native);
    MPL_free(packed);
    MPIR_FUNC_EXIT;
    return mpi_errno;
  fn_fail:
    *handled = true;
    *actual = 0;
    goto fn_exit;
}

/* Whether the user's buffer and the packed one are for a GPU to move. */
static int sides_ask(const void *user, MPI_Aint count, MPI_Datatype datatype, bool * user_is_gpu,
                     const void *packed, bool * packed_is_gpu)
{
    int mpi_errno = MPI_SUCCESS;

    *user_is_gpu = *packed_is_gpu = false;
    if (likely(!MPIR_Gpudt_is_present()))
        goto fn_exit;
    mpi_errno = MPIR_Gpudt_ask(user, count, datatype, user_is_gpu);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Gpudt_ask(packed, 1, MPI_BYTE, packed_is_gpu);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static MPI_Aint size_of(MPI_Datatype datatype)
{
    MPI_Aint size;

    MPIR_Datatype_get_size_macro(datatype, size);
    return size;
}

/* Allocate memory for elements; the caller frees it.
 *   each  (IN)   bytes of an element
 *   size  (OUT)  bytes of all */
static int data_alloc(MPI_Aint count, MPI_Aint each, char **data, MPI_Aint * size)
{
    int mpi_errno = MPI_SUCCESS;

    *size = count * each;
    *data = MPL_malloc(MPL_MAX(*size, 1), MPL_MEM_BUFFER);
    MPIR_ERR_CHKANDJUMP1(!*data, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s", "packed data");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
