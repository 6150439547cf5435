/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* One-sided operations whose receiving side has room for more than is sent, as a receive may have. Callers
 * hold the lock of the progress engine. */

#ifndef MPIDI_RMA_SHORT_H_INCLUDED
#define MPIDI_RMA_SHORT_H_INCLUDED

/* Whether elements are fewer bytes than there is room for. */
static inline bool MPIDI_RMA_is_short(MPI_Aint count, MPI_Datatype datatype, MPI_Aint room)
{
    MPI_Aint size;

    MPIR_Datatype_get_size_macro(datatype, size);
    return count * size < room;
}

/* Whether elements have room for more than a number of bytes. */
static inline bool MPIDI_RMA_has_room(MPI_Aint bytes, MPI_Aint count, MPI_Datatype datatype)
{
    MPI_Aint size;

    MPIR_Datatype_get_size_macro(datatype, size);
    return count * size > bytes;
}

/* Whether MPI_Get_accumulate is short: of the origin's elements (unless they are not used) to the target, or
 * of the target's to the result.
 *   bytes  of the target */
static inline bool MPIDI_RMA_is_short_get_accumulate(MPI_Aint origin_count,
                                                     MPI_Datatype origin_type,
                                                     MPI_Aint result_count,
                                                     MPI_Datatype result_type, MPI_Aint bytes,
                                                     MPI_Op op)
{
    return MPIDI_RMA_has_room(bytes, result_count, result_type) ||
        (op != MPI_NO_OP && MPIDI_RMA_is_short(origin_count, origin_type, bytes));
}

/* The operations, as MPIDI_CH3I_Put and so on; that of the receiving side's elements is done with as many as
 * are sent. The rest keeps its values. */
int MPIDI_RMA_short_put(const void *origin, MPI_Aint origin_count, MPI_Datatype origin_type,
                        int rank, MPI_Aint disp, MPI_Aint count, MPI_Datatype datatype,
                        MPIR_Win * win, MPIR_Request * ureq);
int MPIDI_RMA_short_get(void *origin, MPI_Aint origin_count, MPI_Datatype origin_type, int rank,
                        MPI_Aint disp, MPI_Aint count, MPI_Datatype datatype, MPIR_Win * win,
                        MPIR_Request * ureq);
int MPIDI_RMA_short_accumulate(const void *origin, MPI_Aint origin_count, MPI_Datatype origin_type,
                               int rank, MPI_Aint disp, MPI_Aint count, MPI_Datatype datatype,
                               MPI_Op op, MPIR_Win * win, MPIR_Request * ureq);

/* The target's elements that the origin has none for are returned, and keep their values. */
int MPIDI_RMA_short_get_accumulate(const void *origin, MPI_Aint origin_count,
                                   MPI_Datatype origin_type, void *result, MPI_Aint result_count,
                                   MPI_Datatype result_type, int rank, MPI_Aint disp,
                                   MPI_Aint count, MPI_Datatype datatype, MPI_Op op,
                                   MPIR_Win * win, MPIR_Request * ureq);

#endif /* MPIDI_RMA_SHORT_H_INCLUDED */
