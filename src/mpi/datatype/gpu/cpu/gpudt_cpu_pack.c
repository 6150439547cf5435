/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Packs, unpacks and copies noncontiguous datatypes in host memory by their records, for
 * MPIR_Typerep_pack and its kind. Must not know GPUs. */

#include "mpiimpl.h"
#include "gpudt_cpu.h"
#include "gpudt_cpu_pair.h"
#include "gpudt_cpu_range.h"
#include "gpudt_host.h"

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

/* Returns false, with nothing done, if the release's engine shall do it.
 *   actual  (OUT)  bytes moved */
static bool range_move(char *user, MPI_Aint count, MPI_Datatype datatype, MPI_Aint first,
                       char *packed, MPI_Aint most, bool unpack, MPI_Aint * actual)
{
    struct MPII_Gpudt_cpu_range range;

    if (!MPII_Gpudt_cpu_range_make(&range, count, datatype, first, most))
        return false;
    MPII_Gpudt_cpu_move(range.serial, range.top, range.first, range.last, user, packed, unpack);
    *actual = range.last - range.first;
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

bool MPIR_Gpudt_cpu_is_ready(MPI_Aint count, MPI_Datatype datatype)
{
    struct MPII_Gpudt_cpu_range range;
    MPI_Aint size;

    MPIR_Datatype_get_size_macro(datatype, size);
    return MPII_Gpudt_cpu_range_make(&range, count, datatype, 0, count * size);
}

void MPIR_Gpudt_cpu_part(void *buf, MPI_Aint count, MPI_Datatype datatype, MPI_Aint first,
                         MPI_Aint n, void *packed, bool unpack)
{
    struct MPII_Gpudt_cpu_range range;
    const bool is_ready ATTRIBUTE((unused)) =
        MPII_Gpudt_cpu_range_make(&range, count, datatype, 0, MPIR_AINT_MAX);

    MPIR_Assert(is_ready);
    MPII_Gpudt_cpu_move(range.serial, range.top, first, first + n, buf, packed, unpack);
}

bool MPIR_Gpudt_cpu_localcopy(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                              void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                              MPI_Aint n)
{
    struct MPII_Gpudt_cpu_range send, recv;
    struct MPII_Gpudt_cpu_end from, to;

    if (!MPII_Gpudt_cpu_range_make(&send, sendcount, sendtype, 0, MPIR_AINT_MAX) ||
        !MPII_Gpudt_cpu_range_make(&recv, recvcount, recvtype, 0, MPIR_AINT_MAX))
        return false;
    from = (struct MPII_Gpudt_cpu_end) { send.serial, send.top, (char *) sendbuf };
    to = (struct MPII_Gpudt_cpu_end) { recv.serial, recv.top, recvbuf };
    MPII_Gpudt_cpu_pair(&from, &to, n);
    return true;
}
