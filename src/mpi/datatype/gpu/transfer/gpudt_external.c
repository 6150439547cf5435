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
#include "type/gpudt_type.h"
#include "driver/gpudt_ptr.h"

/* A copy of a buffer in host memory: `addr` corresponds to the user's address. */
struct image {
    char *mem;
    char *addr;
};

static int sides_ask(const void *user, MPI_Aint count, MPI_Datatype datatype, bool * user_is_gpu,
                     const void *packed, bool * packed_is_gpu);
static int image_alloc(struct image *image, MPI_Aint count, MPI_Datatype datatype);
static int packed_alloc(MPI_Aint count, MPI_Datatype datatype, char **packed, MPI_Aint * size);

int MPIR_Gpudt_pack_external(const void *inbuf, MPI_Aint incount, MPI_Datatype datatype,
                             void *outbuf, MPI_Aint * actual, bool * handled)
{
    int mpi_errno = MPI_SUCCESS;
    struct image user = { NULL, (char *) inbuf };
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
        mpi_errno = image_alloc(&user, incount, datatype);
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
    struct image user = { NULL, (char *) outbuf };
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
        mpi_errno = image_alloc(&user, outcount, datatype);
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

/* Whether the CPU cannot access a buffer. Blocks at absolute addresses may be anywhere: they are
 * treated as GPU memory, at the cost of a copy if they are not. */
static int is_gpu(const void *addr, MPI_Aint count, MPI_Datatype datatype, bool * answer)
{
    int mpi_errno = MPI_SUCCESS;
    MPI_Aint true_lb = 0, true_extent;
    MPIR_Gpudt_ptr_t ptr;

    *answer = false;
    if (count == 0)
        goto fn_exit;
    if (addr == MPI_BOTTOM) {
        *answer = true;
        goto fn_exit;
    }
    MPIR_Type_get_true_extent_impl(datatype, &true_lb, &true_extent);
    mpi_errno = MPIR_Gpudt_query_ptr((const char *) addr + true_lb, &ptr);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    *answer = MPIR_Gpudt_ptr_is_gpu(&ptr);

  fn_exit:
    return mpi_errno;
  fn_fail:
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
    mpi_errno = is_gpu(user, count, datatype, user_is_gpu);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    mpi_errno = is_gpu(packed, 1, MPI_BYTE, packed_is_gpu);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Allocate memory for all that a buffer spans; the caller frees image->mem. */
static int image_alloc(struct image *image, MPI_Aint count, MPI_Datatype datatype)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPII_Gpudt_type *type = NULL;
    int64_t reach, span, low;

    mpi_errno = MPII_Gpudt_type_get(datatype, &type);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(__builtin_mul_overflow(type->serial.extent, count - 1, &reach) ||
                        __builtin_add_overflow(type->serial.true_extent,
                                               reach < 0 ? -reach : reach, &span),
                        mpi_errno, MPI_ERR_TYPE, "**gpudt_overflow");
    low = type->serial.true_lb + MPL_MIN(reach, 0);
    image->mem = MPL_malloc(MPL_MAX(span, 1), MPL_MEM_BUFFER);
    MPIR_ERR_CHKANDJUMP1(!image->mem, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s",
                         "image of a GPU buffer");
    image->addr = (char *) ((uintptr_t) image->mem - (uintptr_t) low);

  fn_exit:
    if (type)
        MPII_Gpudt_type_release(type);
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
