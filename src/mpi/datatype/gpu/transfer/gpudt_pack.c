/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The entry points for the rest of the library: describe both sides of a transfer, check whether
 * GPU memory takes part, and start the transfer. Must not know routes, kernels or streams. */

#include "mpiimpl.h"
#include "gpudt.h"
#include "gpudt_data.h"
#include "gpudt_error.h"
#include "gpudt_direct.h"
#include "gpudt_host.h"
#include "tuning/gpudt_tuning.h"
#include "gpudt_start.h"
#include "gpudt_vars.h"
#include "driver/gpudt_near.h"

static int packed_transfer(struct MPII_Gpudt_data *typed, void *packed, MPI_Aint most, bool unpack,
                           MPI_Aint * actual, MPIR_Gpudt_op ** op, bool * handled);
static int sides_classify(const struct MPII_Gpudt_data *b, int64_t n, struct MPII_Gpudt_side **side,
                          bool * is_gpu);
static int transfer(const struct MPII_Gpudt_data *from, const struct MPII_Gpudt_data *to, int64_t n,
                    enum MPII_Gpudt_lane_e lane, MPIR_Gpudt_op ** op, bool * handled);

/* Whether a GPU can take part at all. */
static inline bool has_driver(MPIR_Gpudt_op ** op, bool * handled)
{
    *handled = false;
    if (op)
        *op = NULL;
    return MPII_Gpudt_driver_get() != NULL;
}

int MPIR_Gpudt_ipack(const void *inbuf, MPI_Aint incount, MPI_Datatype datatype,
                     MPI_Aint inoffset, void *outbuf, MPI_Aint max_bytes, MPI_Aint * actual,
                     MPIR_Gpudt_op ** op, bool * handled)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_FUNC_ENTER;

    if (has_driver(op, handled)) {
        struct MPII_Gpudt_data from = {.addr = inbuf,.count = incount,.datatype = datatype,
            .first = inoffset
        };
        mpi_errno = packed_transfer(&from, outbuf, max_bytes, false, actual, op, handled);
        if (*handled)
            MPII_GPUDT_COUNT(packs, 1);
    }

    MPIR_FUNC_EXIT;
    return mpi_errno;
}

int MPIR_Gpudt_iunpack(const void *inbuf, MPI_Aint insize, void *outbuf, MPI_Aint outcount,
                       MPI_Datatype datatype, MPI_Aint outoffset, MPI_Aint * actual,
                       MPIR_Gpudt_op ** op, bool * handled)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_FUNC_ENTER;

    if (has_driver(op, handled)) {
        struct MPII_Gpudt_data to = {.addr = outbuf,.count = outcount,.datatype = datatype,
            .first = outoffset
        };
        mpi_errno = packed_transfer(&to, (void *) inbuf, insize, true, actual, op, handled);
        if (*handled)
            MPII_GPUDT_COUNT(unpacks, 1);
    }

    MPIR_FUNC_EXIT;
    return mpi_errno;
}

int MPIR_Gpudt_pack(const void *inbuf, MPI_Aint incount, MPI_Datatype datatype, MPI_Aint inoffset,
                    void *outbuf, MPI_Aint max_pack_bytes, MPI_Aint * actual_pack_bytes)
{
    if (MPIR_Gpudt_is_near(inbuf, incount, datatype) && MPII_Gpudt_is_near(outbuf))
        return MPIR_Typerep_pack_host(inbuf, incount, datatype, inoffset, outbuf, max_pack_bytes,
                                      actual_pack_bytes);
    return MPIR_Typerep_ipack(inbuf, incount, datatype, inoffset, outbuf, max_pack_bytes,
                              actual_pack_bytes, NULL);
}

int MPIR_Gpudt_unpack(const void *inbuf, MPI_Aint insize, void *outbuf, MPI_Aint outcount,
                      MPI_Datatype datatype, MPI_Aint outoffset, MPI_Aint * actual_unpack_bytes)
{
    if (MPIR_Gpudt_is_near(outbuf, outcount, datatype) && MPII_Gpudt_is_near(inbuf))
        return MPIR_Typerep_unpack_host(inbuf, insize, outbuf, outcount, datatype, outoffset,
                                        actual_unpack_bytes);
    return MPIR_Typerep_iunpack(inbuf, insize, outbuf, outcount, datatype, outoffset,
                                actual_unpack_bytes, NULL);
}

/* Copy from datatype to datatype in a lane. */
static int local_copy(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype, void *recvbuf,
                      MPI_Aint recvcount, MPI_Datatype recvtype, MPI_Aint nbytes,
                      enum MPII_Gpudt_lane_e lane, MPIR_Gpudt_op ** op, bool * handled)
{
    int mpi_errno = MPI_SUCCESS;

    if (has_driver(op, handled)) {
        struct MPII_Gpudt_data from = {.addr = sendbuf,.count = sendcount,.datatype = sendtype };
        struct MPII_Gpudt_data to = {.addr = recvbuf,.count = recvcount,.datatype = recvtype };
        MPII_Gpudt_data_measure(&from);
        MPII_Gpudt_data_measure(&to);
        mpi_errno = transfer(&from, &to, nbytes, lane, op, handled);
        if (*handled)
            MPII_GPUDT_COUNT(local_copies, 1);
    }
    return mpi_errno;
}

int MPIR_Gpudt_ilocalcopy(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                          void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                          MPI_Aint nbytes, MPIR_Gpudt_op ** op, bool * handled)
{
    return local_copy(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, nbytes,
                      MPII_GPUDT_LANE__PACK, op, handled);
}

/* A long one goes on beside the others. */
int MPIR_Gpudt_pull_own(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                        void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, MPI_Aint nbytes,
                        MPIR_Gpudt_op ** op, bool * handled)
{
    return local_copy(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, nbytes,
                      nbytes <= MPII_GPUDT_BATCH_MEDIUM ? MPII_GPUDT_LANE__UNPACK :
                      MPII_GPUDT_LANE__PACK, op, handled);
}

int MPIR_Gpudt_icopy(void *outbuf, const void *inbuf, MPI_Aint nbytes, MPIR_Gpudt_op ** op,
                     bool * handled)
{
    MPI_Aint actual;

    return MPIR_Gpudt_ipack(inbuf, nbytes, MPI_BYTE, 0, outbuf, nbytes, &actual, op, handled);
}

void MPIR_Gpudt_commit_hook(MPI_Datatype datatype)
{
    if (MPII_Gpudt_driver_get())
        MPIR_Gpudt_type_commit(datatype);
}

/* Move at most `most` bytes between a buffer and packed memory. */
static int packed_transfer(struct MPII_Gpudt_data *typed, void *packed, MPI_Aint most, bool unpack,
                           MPI_Aint * actual, MPIR_Gpudt_op ** op, bool * handled)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPII_Gpudt_data contig = {.addr = packed,.datatype = MPI_BYTE };
    int64_t n;

    MPII_Gpudt_data_measure(typed);
    n = MPL_MIN(most, MPII_Gpudt_data_size(typed) - typed->first);
    contig.count = n;
    MPII_Gpudt_data_measure(&contig);
    mpi_errno = transfer(unpack ? &contig : typed, unpack ? typed : &contig, n,
                         unpack ? MPII_GPUDT_LANE__UNPACK : MPII_GPUDT_LANE__PACK, op, handled);
    if (*handled)
        *actual = mpi_errno ? 0 : MPL_MAX(n, 0);
    return mpi_errno;
}

/* Classify both sides, as far as needed to decide whether a GPU takes part. */
static int sides_classify(const struct MPII_Gpudt_data *b, int64_t n, struct MPII_Gpudt_side **side,
                          bool * is_gpu)
{
    int mpi_errno = MPI_SUCCESS;
    bool is_near[2];

    *is_gpu = false;
    for (int i = 0; i < 2; i++)
        is_near[i] = !b[i].is_absolute && MPII_Gpudt_is_near(side[i]->low);
    if (is_near[0] && is_near[1])
        goto fn_exit;

    for (int i = 0; i < 2; i++) {
        if (is_near[i])
            continue;
        /* A failure matters only if a GPU takes part, and will then occur again */
        (void) MPII_Gpudt_side_set(&b[i], n, side[i]);
        mpi_errno = MPII_Gpudt_side_classify(side[i], b[i].is_absolute && side[i]->type);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        if (MPIR_Gpudt_ptr_is_gpu(&side[i]->ptr))
            *is_gpu = true;
    }
    /* Heap memory may be pinned, which matters if the other side is on a GPU */
    for (int i = 0; i < 2 && *is_gpu; i++) {
        if (is_near[i]) {
            (void) MPII_Gpudt_side_set(&b[i], n, side[i]);
            mpi_errno = MPII_Gpudt_side_classify(side[i], false);
            MPII_GPUDT_ERR_CHECK(mpi_errno);
        }
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Move n bytes, unless both sides are host memory. */
static int transfer(const struct MPII_Gpudt_data *from, const struct MPII_Gpudt_data *to, int64_t n,
                    enum MPII_Gpudt_lane_e lane, MPIR_Gpudt_op ** op, bool * handled)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPII_Gpudt_data b[2] = { *from, *to };
    MPIR_Gpudt_op local;
    struct MPII_Gpudt_side *side[2] = { &local.src, &local.dst };

    MPII_Gpudt_op_init(&local, n, lane);
    for (int i = 0; i < 2; i++)
        MPII_Gpudt_side_place(&b[i], n, side[i]);
    *handled = true;
    if (n <= 0)
        goto fn_exit;
    mpi_errno = sides_classify(b, n, side, handled);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (!*handled)
        goto fn_exit;

    for (int i = 0; i < 2; i++) {
        mpi_errno = MPII_Gpudt_side_set(&b[i], n, side[i]);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    mpi_errno = MPII_Gpudt_op_start(&local, op);
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    MPII_Gpudt_op_release(&local);
    return mpi_errno;
  fn_fail:
    *handled = true;
    goto fn_exit;
}
