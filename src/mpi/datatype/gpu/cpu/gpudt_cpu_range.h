/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* A range of the packed stream as MPIR_Typerep_pack and its kind pass it: whether the records serve
 * it, and where it ends. Must not know GPUs. */

#ifndef GPUDT_CPU_RANGE_H_INCLUDED
#define GPUDT_CPU_RANGE_H_INCLUDED

#include "mpiimpl.h"
#include "dataloop_internal.h"
#include "type/gpudt_canon.h"
#include "type/gpudt_type.h"

struct MPII_Gpudt_cpu_range {
    const struct MPII_Gpudt_serial *serial;
    const struct MPII_Gpudt_record *top;
    int64_t first, last;        /* first <= last <= top->size */
    struct MPII_Gpudt_record made;      /* what top points to if count is not 1 */
};

/* Bytes of the elements between which MPICH's engine can stop: those at the end of its only chain
 * of dataloops. */
static inline MPI_Aint MPII_Gpudt_cpu_element(const MPIR_Datatype * dtp)
{
    const MPII_Dataloop *loop = dtp->typerep.handle;

    while (!(loop->kind & MPII_DATALOOP_FINAL_MASK))
        loop = loop->loop_params.cm_t.dataloop;
    return loop->el_size;
}

/* At most `most` bytes from position `first` on. The range stops where MPICH's engine of dataloops
 * would, so that the two are interchangeable.
 *   datatype  (IN)   not a predefined one; kept by the caller as long as the range is used
 *   range     (OUT)  refers to itself: not to be copied
 * Returns false if the release's engine shall do it. */
static inline bool MPII_Gpudt_cpu_range_make(struct MPII_Gpudt_cpu_range *range, MPI_Aint count,
                                             MPI_Datatype datatype, MPI_Aint first, MPI_Aint most)
{
    const struct MPII_Gpudt_type *type;
    MPIR_Datatype *dtp;

    if (MPIR_CVAR_GPUDT_HOST_ENGINE != MPIR_CVAR_GPUDT_HOST_ENGINE_records)
        return false;
    MPIR_Datatype_get_ptr(datatype, dtp);
    type = MPII_Gpudt_type_for_cpu(dtp, MPL_MIN(most, count * dtp->size));
    if (unlikely(type == NULL))
        return false;

    range->serial = &type->serial;
    range->top = type->serial.records;
    if (count != 1) {
        if (MPII_Gpudt_canon_count(&type->serial, count, &range->made) != MPI_SUCCESS)
            return false;
        range->top = &range->made;
    }
    range->first = first;
    range->last = range->top->size;
    if (range->last - first > most) {
        range->last = first + most;
        range->last -= range->last % MPII_Gpudt_cpu_element(dtp);
    }
    if (unlikely(range->last < first))
        range->last = first;
    return true;
}

#endif /* GPUDT_CPU_RANGE_H_INCLUDED */
