/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Packs and unpacks noncontiguous datatypes in host memory by their records. Stops where MPICH's
 * engine of dataloops would, so that the two are interchangeable. Must not know GPUs. */

#include "mpiimpl.h"
#include "dataloop_internal.h"
#include "type/gpudt_canon.h"
#include "gpudt_cpu.h"
#include "gpudt_host.h"
#include "type/gpudt_type.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_GPUDT_HOST_ENGINE
      category    : GPUDT
      type        : enum
      default     : records
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : |-
        What packs and unpacks noncontiguous datatypes in host memory. Both give the same bytes.
        records - The records that GPUs use too. The first short packs of a datatype, the first
                  pack of a long list, and datatypes whose records cannot be made are left to the
                  release's engine
        release - The engine of MPICH's release

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

/* Bytes of the elements between which MPICH's engine can stop: those at the end of its only chain
 * of dataloops. */
static MPI_Aint element_size(const MPIR_Datatype * dtp)
{
    const MPII_Dataloop *loop = dtp->typerep.handle;

    while (!(loop->kind & MPII_DATALOOP_FINAL_MASK))
        loop = loop->loop_params.cm_t.dataloop;
    return loop->el_size;
}

/* Move at most `most` bytes from position `first` on.
 *   actual  (OUT)  bytes moved
 * Returns false, with nothing done, if the type has no state. */
static bool range_move(char *user, MPI_Aint count, MPI_Datatype datatype, MPI_Aint first,
                       char *packed, MPI_Aint most, bool unpack, MPI_Aint * actual)
{
    const struct MPII_Gpudt_type *type;
    const struct MPII_Gpudt_record *top;
    struct MPII_Gpudt_record made;
    MPIR_Datatype *dtp;
    MPI_Aint last;

    if (MPIR_CVAR_GPUDT_HOST_ENGINE != MPIR_CVAR_GPUDT_HOST_ENGINE_records)
        return false;
    MPIR_Datatype_get_ptr(datatype, dtp);
    type = MPII_Gpudt_type_for_cpu(dtp, MPL_MIN(most, count * dtp->size));
    if (unlikely(type == NULL))
        return false;

    top = type->serial.records;
    if (count != 1) {
        if (MPII_Gpudt_canon_count(&type->serial, count, &made) != MPI_SUCCESS)
            return false;
        top = &made;
    }
    last = top->size;
    if (last - first > most) {
        last = first + most;
        last -= last % element_size(dtp);
    }
    if (unlikely(last < first))
        last = first;
    MPII_Gpudt_cpu_move(&type->serial, top, first, last, user, packed, unpack);
    *actual = last - first;
    return true;
}

bool MPIR_Gpudt_cpu_pack(const void *inbuf, MPI_Aint incount, MPI_Datatype datatype,
                         MPI_Aint inoffset, void *outbuf, MPI_Aint max_pack_bytes,
                         MPI_Aint * actual_pack_bytes)
{
    return range_move((char *) inbuf, incount, datatype, inoffset, outbuf, max_pack_bytes, false,
                      actual_pack_bytes);
}

bool MPIR_Gpudt_cpu_unpack(const void *inbuf, MPI_Aint insize, void *outbuf, MPI_Aint outcount,
                           MPI_Datatype datatype, MPI_Aint outoffset,
                           MPI_Aint * actual_unpack_bytes)
{
    return range_move(outbuf, outcount, datatype, outoffset, (char *) inbuf, insize, true,
                      actual_unpack_bytes);
}
