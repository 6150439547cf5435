/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* How an error travels through our functions. Needs mpiimpl.h at the place of use. */

#ifndef GPUDT_ERROR_H_INCLUDED
#define GPUDT_ERROR_H_INCLUDED

/* As MPIR_ERR_CHECK, without adding a line of its own to the error's stack: the text is cut after
 * MPI_MAX_ERROR_STRING (512) bytes, the cause is its last line, and the public function's
 * arguments alone may take half of it. */
#define MPII_GPUDT_ERR_CHECK(mpi_errno_)                                        \
    do {                                                                        \
        if (unlikely(mpi_errno_))                                               \
            goto fn_fail;                                                       \
    } while (0)

#endif /* GPUDT_ERROR_H_INCLUDED */
