/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Copies from datatype to datatype in host memory. */

#ifndef GPUDT_CPU_PAIR_H_INCLUDED
#define GPUDT_CPU_PAIR_H_INCLUDED

#include "type/gpudt_record.h"

/* One of the two buffers. */
struct MPII_Gpudt_cpu_end {
    const struct MPII_Gpudt_serial *serial;
    const struct MPII_Gpudt_record *top;        /* the root for the count */
    char *user;                 /* as given to MPI */
};

/* Copy the first n bytes of the packed stream. Needs no memory and cannot fail.
 *   from, to  (IN)  must not overlap; other bytes of `to` are not touched
 *   n         (IN)  at most the size of each */
void MPII_Gpudt_cpu_pair(const struct MPII_Gpudt_cpu_end *from,
                         const struct MPII_Gpudt_cpu_end *to, int64_t n);

#endif /* GPUDT_CPU_PAIR_H_INCLUDED */
