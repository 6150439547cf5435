/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* One-sided operations with counts above INT_MAX. Callers hold the lock of the progress engine. */

#ifndef MPIDI_RMA_LARGE_H_INCLUDED
#define MPIDI_RMA_LARGE_H_INCLUDED

#include <limits.h>

/* Whether an operation with these counts is one. */
static inline bool MPIDI_RMA_is_large(MPI_Aint count, MPI_Aint other)
{
    return count > INT_MAX || other > INT_MAX;
}

/* The operations, as MPIDI_CH3I_Put and so on. */
int MPIDI_RMA_large_put(const void *origin, MPI_Aint origin_count, MPI_Datatype origin_type,
                        int rank, MPI_Aint disp, MPI_Aint count, MPI_Datatype datatype,
                        MPIR_Win * win, MPIR_Request * ureq);
int MPIDI_RMA_large_get(void *origin, MPI_Aint origin_count, MPI_Datatype origin_type, int rank,
                        MPI_Aint disp, MPI_Aint count, MPI_Datatype datatype, MPIR_Win * win,
                        MPIR_Request * ureq);
int MPIDI_RMA_large_accumulate(const void *origin, MPI_Aint origin_count, MPI_Datatype origin_type,
                               int rank, MPI_Aint disp, MPI_Aint count, MPI_Datatype datatype,
                               MPI_Op op, MPIR_Win * win, MPIR_Request * ureq);
int MPIDI_RMA_large_get_accumulate(const void *origin, MPI_Aint origin_count,
                                   MPI_Datatype origin_type, void *result, MPI_Aint result_count,
                                   MPI_Datatype result_type, int rank, MPI_Aint disp,
                                   MPI_Aint count, MPI_Datatype datatype, MPI_Op op,
                                   MPIR_Win * win, MPIR_Request * ureq);

#endif /* MPIDI_RMA_LARGE_H_INCLUDED */
