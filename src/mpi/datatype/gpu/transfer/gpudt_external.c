/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* MPI_Pack_external and MPI_Unpack_external of GPU memory. The CPU converts, using a copy of the
 * user's buffer in host memory: external32 is for files and other machines, not for speed. Must not
 * know routes, kernels or streams. */

#include "mpiimpl.h"
#include "gpudt.h"
#include "gpudt_error.h"
#include "gpudt_hostcopy.h"

static int sides_ask(const void *user, MPI_Aint count, MPI_Datatype datatype, bool * user_is_gpu,
                     const void *packed, bool * packed_is_gpu);
static int packed_alloc(MPI_Aint count, MPI_Datatype datatype, char **packed, MPI_Aint * size);

int MPIR_Gpudt_pack_external(const void *inbuf, MPI_Aint incount, MPI_Datatype datatype,
                             void *outbuf, MPI_Aint * actual, bool * handled)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPII_Gpudt_hostcopy user = { NULL, (char *) inbuf };
    char *packed = NULL;
    MPI_Aint size;
    bool user_is_gpu, packed_is_gpu, copied;

    MPIR_FUNC_ENTER;

    mpi_errno = sides_ask(inbuf, incount, datatype, &user_is_gpu, outbuf, &packed_is_gpu);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    *handled = user_is_gpu || packed_is_gpu;
    if (!*handled)
        goto fn_exit;

    if (user_is_gpu) {
        mpi_errno = MPII_Gpudt_hostcopy_alloc(&user, incount, datatype);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        mpi_errno = MPIR_Localcopy(inbuf, incount, datatype, user.addr, incount, datatype);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    if (packed_is_gpu) {
        mpi_errno = packed_alloc(incount, datatype, &packed, &size);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    mpi_errno = MPIR_Typerep_pack_external(user.addr, incount, datatype,
                                           packed ? packed : outbuf, actual);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (packed) {
        mpi_errno = MPIR_Gpudt_icopy(outbuf, packed, *actual, NULL, &copied);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    MPL_free(user.mem);
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
    struct MPII_Gpudt_hostcopy user = { NULL, (char *) outbuf };
    char *packed = NULL;
    MPI_Aint size;
    bool user_is_gpu, packed_is_gpu, copied;

    MPIR_FUNC_ENTER;

    mpi_errno = sides_ask(outbuf, outcount, datatype, &user_is_gpu, inbuf, &packed_is_gpu);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    *handled = user_is_gpu || packed_is_gpu;
    if (!*handled)
        goto fn_exit;

    if (packed_is_gpu) {
        mpi_errno = packed_alloc(outcount, datatype, &packed, &size);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        mpi_errno = MPIR_Gpudt_icopy(packed, inbuf, size, NULL, &copied);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    if (user_is_gpu) {
        mpi_errno = MPII_Gpudt_hostcopy_alloc(&user, outcount, datatype);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    mpi_errno = MPIR_Typerep_unpack_external(packed ? packed : inbuf, user.addr, outcount, datatype,
                                             actual);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (user_is_gpu) {
        mpi_errno = MPIR_Localcopy(user.addr, outcount, datatype, outbuf, outcount, datatype);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    MPL_free(user.mem);
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
    mpi_errno = MPII_Gpudt_hostcopy_ask(user, count, datatype, user_is_gpu);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    mpi_errno = MPII_Gpudt_hostcopy_ask(packed, 1, MPI_BYTE, packed_is_gpu);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Allocate memory for packed data; the caller frees it. */
static int packed_alloc(MPI_Aint count, MPI_Datatype datatype, char **packed, MPI_Aint * size)
{
    int mpi_errno = MPI_SUCCESS;

    *size = count * MPIR_Typerep_size_external32(datatype);
    *packed = MPL_malloc(MPL_MAX(*size, 1), MPL_MEM_BUFFER);
    MPIR_ERR_CHKANDJUMP1(!*packed, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s",
                         "packed data");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
