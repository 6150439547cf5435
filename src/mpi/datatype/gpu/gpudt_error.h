/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Error handling in the engine's functions. Needs mpiimpl.h at the place of use. */

#ifndef GPUDT_ERROR_H_INCLUDED
#define GPUDT_ERROR_H_INCLUDED

/* As MPIR_ERR_CHECK, but adds no line to the error's stack. The text is truncated after
 * MPI_MAX_ERROR_STRING (512) bytes, the cause is its last line, and the arguments of the public
 * function alone may take half of it. */
#define MPII_GPUDT_ERR_CHECK(mpi_errno_)                                        \
    do {                                                                        \
        if (unlikely(mpi_errno_))                                               \
            goto fn_fail;                                                       \
    } while (0)

/* A size or displacement that does not fit in 64 bits; a failed allocation. */
#define MPII_GPUDT_ERR_OVERFLOW(cond_, mpi_errno_)                                      \
    MPIR_ERR_CHKANDJUMP(cond_, mpi_errno_, MPI_ERR_TYPE, "**gpudt_overflow")
#define MPII_GPUDT_ERR_NOMEM(cond_, mpi_errno_, what_)                                  \
    MPIR_ERR_CHKANDJUMP1(cond_, mpi_errno_, MPI_ERR_NO_MEM, "**nomem", "**nomem %s", what_)

#endif /* GPUDT_ERROR_H_INCLUDED */
