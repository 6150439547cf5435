/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* See gpudt_bsend.h. Must not know messages. */

#include "gpudt_bsend.h"
#include "gpudt_host.h"

static void *replacement = NULL;        /* guarded by the lock of the attached buffer */

int MPIR_Gpudt_bsend_get(void *buffer, MPI_Aint size, void **mem)
{
    int mpi_errno = MPI_SUCCESS;
    bool is_gpu = false;

    *mem = buffer;
    if (MPIR_Gpudt_may_be_gpu(buffer, size, MPI_BYTE)) {
        mpi_errno = MPIR_Gpudt_ask(buffer, size, MPI_BYTE, &is_gpu);
        MPIR_ERR_CHECK(mpi_errno);
    }
    if (is_gpu) {
        replacement = MPL_malloc(size, MPL_MEM_BUFFER);
        MPIR_ERR_CHKANDJUMP2(replacement == NULL, mpi_errno, MPI_ERR_NO_MEM, "**nomem2",
                             "**nomem2 %d %s", (int) size, "an attached buffer");
        *mem = replacement;
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIR_Gpudt_bsend_put(void)
{
    MPL_free(replacement);
    replacement = NULL;
}
