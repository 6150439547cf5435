/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* A caller's description of a buffer. */

#ifndef GPUDT_DATA_H_INCLUDED
#define GPUDT_DATA_H_INCLUDED

#include "gpudt_side.h"

/* The caller's parameters of one side. */
struct MPII_Gpudt_data {
    const void *addr;
    MPI_Aint count;
    MPI_Datatype datatype;
    MPI_Aint first;             /* stream position of the first byte to move */
    /* derived by MPII_Gpudt_data_measure */
    bool is_contig;
    bool is_absolute;           /* blocks are at absolute addresses: may be anywhere */
    int64_t size;               /* packed bytes of one datatype */
    char *low, *high;           /* bounds of the buffer's memory */
};

/* Fill in the derived members.
 *   data  (IN/OUT)  buffer, datatype and position are set */
void MPII_Gpudt_data_measure(struct MPII_Gpudt_data *data);
/* Packed bytes of the whole buffer. A size that does not fit in 64 bits is detected later, by
 * MPII_Gpudt_side_set. */
int64_t MPII_Gpudt_data_size(const struct MPII_Gpudt_data *data);

/* Fill in a side, except for its memory. The type's state is not read yet.
 *   n  (IN)  bytes to move */
void MPII_Gpudt_side_place(const struct MPII_Gpudt_data *data, int64_t n,
                           struct MPII_Gpudt_side *side);
/* Compute the exact location of a side's data from the state of its datatype. The datatype object's
 * own true_lb is wrong for some nests of resized types and distributed arrays. If the data is
 * contiguous, the side no longer has a datatype. */
int MPII_Gpudt_side_set(const struct MPII_Gpudt_data *data, int64_t n,
                        struct MPII_Gpudt_side *side);

#endif /* GPUDT_DATA_H_INCLUDED */
