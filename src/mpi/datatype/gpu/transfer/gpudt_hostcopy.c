/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Copies of GPU buffers in host memory: whether one is needed, and its layout. Must not know what
 * they are for, nor routes, kernels or streams. */

#include "mpiimpl.h"
#include "gpudt_hostcopy.h"
#include "gpudt_error.h"
#include "gpudt_host.h"
#include "type/gpudt_type.h"
#include "driver/gpudt_ptr.h"

#define ALIGNMENT 16            /* of the address that corresponds to the buffer's, in bytes */

/* Displacement of the lowest byte of one datatype. The datatype object's own true_lb is wrong for
 * some nests of resized types and distributed arrays. */
static MPI_Aint lowest(MPI_Datatype datatype)
{
    MPI_Aint true_lb, true_extent;
    struct MPII_Gpudt_type *type;

    if (!HANDLE_IS_BUILTIN(datatype) && MPII_Gpudt_type_get(datatype, &type) == MPI_SUCCESS) {
        true_lb = type->serial.true_lb;
        MPII_Gpudt_type_release(type);
    } else {
        MPIR_Type_get_true_extent_impl(datatype, &true_lb, &true_extent);
    }
    return true_lb;
}

int MPII_Gpudt_hostcopy_ask(const void *buf, MPI_Aint count, MPI_Datatype datatype, bool * answer)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Gpudt_buffer *buffer;
    MPIR_Gpudt_ptr_t ptr;

    *answer = false;
    if (count == 0)
        goto fn_exit;
    if (buf == MPI_BOTTOM) {
        /* Blocks may be anywhere */
        mpi_errno = MPIR_Gpudt_buffer_make(buf, count, datatype, &buffer);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        *answer = buffer != NULL;
        if (buffer)
            MPIR_Gpudt_buffer_free(buffer);
        goto fn_exit;
    }
    if (MPIR_Gpudt_is_near(buf, count, datatype))
        goto fn_exit;
    mpi_errno = MPIR_Gpudt_query_ptr((const char *) buf + lowest(datatype), &ptr);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    *answer = MPIR_Gpudt_ptr_is_gpu(&ptr);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPII_Gpudt_hostcopy_alloc(struct MPII_Gpudt_hostcopy *copy, MPI_Aint count,
                              MPI_Datatype datatype)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPII_Gpudt_type *type = NULL;
    MPIR_Datatype *dtp;
    int64_t lb = 0, ub, reach, span, low, high, pad;
    char *mem;

    mpi_errno = MPII_Gpudt_type_get(datatype, &type);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (!HANDLE_IS_BUILTIN(datatype)) {
        MPIR_Datatype_get_ptr(datatype, dtp);
        lb = dtp->lb;
    }
    /* Functions of programs may access gaps, too, also those at both ends of an element */
    ub = lb + type->serial.extent;
    low = MPL_MIN(type->serial.true_lb, MPL_MIN(lb, ub));
    high = MPL_MAX(type->serial.true_lb + type->serial.true_extent, MPL_MAX(lb, ub));
    MPII_GPUDT_ERR_OVERFLOW(__builtin_mul_overflow(type->serial.extent, count - 1, &reach) ||
                            __builtin_add_overflow(high - low, reach < 0 ? -reach : reach, &span) ||
                            __builtin_add_overflow(span, ALIGNMENT, &span), mpi_errno);
    low += MPL_MIN(reach, 0);
    pad = (int64_t) ((uint64_t) low % ALIGNMENT);
    mem = MPL_malloc(span, MPL_MEM_BUFFER);
    MPII_GPUDT_ERR_NOMEM(!mem, mpi_errno, "copy of a GPU buffer");
    copy->mem = mem;
    copy->addr = (char *) ((uintptr_t) mem + (uintptr_t) pad - (uintptr_t) low);

  fn_exit:
    if (type)
        MPII_Gpudt_type_release(type);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Gpudt_ask(const void *buf, MPI_Aint count, MPI_Datatype datatype, bool * answer)
{
    return MPII_Gpudt_hostcopy_ask(buf, count, datatype, answer);
}
