/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* What a caller says of a buffer. */

#ifndef GPUDT_DATA_H_INCLUDED
#define GPUDT_DATA_H_INCLUDED

#include "gpudt_side.h"

/* What a caller says of one side. */
struct MPII_Gpudt_data {
    const void *addr;
    MPI_Aint count;
    MPI_Datatype datatype;
    MPI_Aint first;             /* stream position of the first byte to move */
    /* found out by MPII_Gpudt_data_measure */
    bool is_contig;
    bool is_absolute;           /* blocks may be anywhere */
    int64_t size;               /* packed bytes of one datatype */
    char *low, *high;           /* all memory of the buffer */
};

/* Measure what a caller says.
 *   data  (IN/OUT)  buffer, datatype and position are set */
void MPII_Gpudt_data_measure(struct MPII_Gpudt_data *data);
/* Packed bytes of the whole buffer; what does not fit in 64 bits is found by MPII_Gpudt_side_set. */
int64_t MPII_Gpudt_data_size(const struct MPII_Gpudt_data *data);

/* Fill in a side but for its memory. The type's state is got later, if it is needed.
 *   n  (IN)  bytes to move */
void MPII_Gpudt_side_place(const struct MPII_Gpudt_data *data, int64_t n,
                           struct MPII_Gpudt_side *side);
/* Find out exactly where a side's data is, from the state of its datatype: the datatype object's own
 * true_lb is wrong for some nests of resized types and distributed arrays. What turns out to be
 * contiguous needs no datatype any more. */
int MPII_Gpudt_side_set(const struct MPII_Gpudt_data *data, int64_t n,
                        struct MPII_Gpudt_side *side);

#endif /* GPUDT_DATA_H_INCLUDED */
