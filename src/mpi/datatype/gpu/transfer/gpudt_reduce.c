/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Reductions whose operands are on GPUs: whether any of them is, and whether a kernel does the
 * operation, or else the CPU on copies in host memory. Must not know routes or streams. */

#include "mpiimpl.h"
#include "gpudt_reduce.h"
#include "gpudt_error.h"
#include "gpudt_hostcopy.h"
#include "gpudt_reduce_impl.h"
#include "gpudt_vars.h"
#include "driver/gpudt_driver.h"

/* Copy an operand to host memory.
 *   copy  (OUT)  its memory is allocated also on failure, if any was */
static int operand_copy(const struct MPII_Gpudt_operands *o, const void *buf,
                        struct MPII_Gpudt_hostcopy *copy)
{
    int mpi_errno = MPI_SUCCESS;

    mpi_errno = MPII_Gpudt_hostcopy_alloc(copy, o->count, o->datatype);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Localcopy(buf, o->count, o->datatype, copy->addr, o->count, o->datatype);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Let the CPU reduce, with copies of the operands that are on a GPU. */
static int reduce_by_cpu(const struct MPII_Gpudt_operands *o, bool in_is_gpu, bool inout_is_gpu,
                         MPI_Op op)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPII_Gpudt_hostcopy in = { NULL, (char *) o->in };
    struct MPII_Gpudt_hostcopy inout = { NULL, o->inout };

    if (in_is_gpu) {
        mpi_errno = operand_copy(o, o->in, &in);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    if (inout_is_gpu) {
        mpi_errno = operand_copy(o, o->inout, &inout);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    mpi_errno = MPIR_Reduce_local(in.addr, inout.addr, o->count, o->datatype, op);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (inout_is_gpu) {
        mpi_errno = MPIR_Localcopy(inout.addr, o->count, o->datatype,
                                   o->inout, o->count, o->datatype);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    MPL_free(in.mem);
    MPL_free(inout.mem);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Gpudt_reduce(const void *inbuf, void *inoutbuf, MPI_Aint count, MPI_Datatype datatype,
                      MPI_Op op, bool * handled)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPII_Gpudt_operands o = {
        .in = inbuf,.inout = inoutbuf,.count = count,.datatype = datatype
    };
    struct MPII_Gpudt_reduction r;
    bool in_is_gpu, inout_is_gpu, is_done = false;

    MPIR_FUNC_ENTER;

    *handled = false;
    if (MPII_Gpudt_driver_get() == NULL)
        goto fn_exit;
    mpi_errno = MPII_Gpudt_hostcopy_ask(inbuf, count, datatype, &in_is_gpu);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    mpi_errno = MPII_Gpudt_hostcopy_ask(inoutbuf, count, datatype, &inout_is_gpu);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (!in_is_gpu && !inout_is_gpu)
        goto fn_exit;

    *handled = true;
    if (HANDLE_IS_BUILTIN(op)) {
        mpi_errno = (*MPIR_OP_HDL_TO_DTYPE_FN(op)) (datatype);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    if (MPII_Gpudt_reduction_find(op, datatype, &r)) {
        mpi_errno = MPII_Gpudt_reduce_by_kernel(&o, &r, &is_done);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    if (!is_done) {
        mpi_errno = reduce_by_cpu(&o, in_is_gpu, inout_is_gpu, op);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        MPII_GPUDT_COUNT(reductions_cpu, 1);
    }

  fn_exit:
    MPIR_FUNC_EXIT;
    return mpi_errno;
  fn_fail:
    *handled = true;
    goto fn_exit;
}
