/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The local step of reductions, for operands of which at least one is GPU memory. The same with and
 * without CUDA, so it must not know cuda.h. Knows no collectives. */

#ifndef GPUDT_REDUCE_H_INCLUDED
#define GPUDT_REDUCE_H_INCLUDED

#include "gpudt.h"

/* inoutbuf[i] = inbuf[i] op inoutbuf[i], as MPIR_Reduce_local does it in host memory. User-defined
 * operations get copies of the data in host memory. Complete when the call returns.
 *   inbuf, inoutbuf, count, datatype, op  (IN)   as of MPIR_Reduce_local
 *   handled                               (OUT)  false: not done, all is host memory
 * Memory and errors are as for the calls of gpudt.h; also an error if op is not defined for the
 * datatype. */
int MPIR_Gpudt_reduce(const void *inbuf, void *inoutbuf, MPI_Aint count, MPI_Datatype datatype,
                      MPI_Op op, bool * handled);

#endif /* GPUDT_REDUCE_H_INCLUDED */
