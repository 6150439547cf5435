/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Copies of GPU buffers in host memory, for work that only the CPU can do. */

#ifndef GPUDT_HOSTCOPY_H_INCLUDED
#define GPUDT_HOSTCOPY_H_INCLUDED

/* Host memory with the layout of a buffer. */
struct MPII_Gpudt_hostcopy {
    char *mem;                  /* allocated, to be freed by the caller; NULL: none */
    char *addr;                 /* corresponds to the buffer's address */
};

/* Whether the CPU cannot access a buffer, or some of its blocks.
 *   buf, count, datatype (IN)   the buffer
 *   answer               (OUT)  false also for an empty buffer */
int MPII_Gpudt_hostcopy_ask(const void *buf, MPI_Aint count, MPI_Datatype datatype, bool * answer);

/* Allocate memory for all that a buffer spans, from the lower to the upper bound of its elements. Nothing is
 * copied.
 *   copy  (OUT)  untouched on failure */
int MPII_Gpudt_hostcopy_alloc(struct MPII_Gpudt_hostcopy *copy, MPI_Aint count,
                              MPI_Datatype datatype);

#endif /* GPUDT_HOSTCOPY_H_INCLUDED */
