/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* One-sided operations that compute, on GPU memory: by the reductions of the engine, or else by the
 * CPU on a copy of the elements, part by part. Must not know messages. */

#include "mpidimpl.h"
#include "mpidrma.h"
#include "gpudt_reduce.h"
#include "gpudt_temp.h"

#define PART (256 * 1024)       /* bytes of elements that the CPU combines at a time */
#define REDUCED (4 * 1024 * 1024)       /* bytes that a reduction combines at a time */
#define PACKED (16 * 1024 * 1024)       /* and of elements with gaps between them, which are copied */

struct accumulate {
    const char *source;
    MPI_Aint count;
    MPI_Datatype basic;
    MPI_Aint size, extent;      /* of the basic type */
    bool source_is_gpu;
    char *target;
    MPI_Aint tcount;
    MPI_Datatype ttype;
    MPI_Aint first;
    MPI_Op op;
    /* memory for one part in host memory: elements of the source, of the target, and the target's
     * without gaps */
    char *from, *to, *stream;
};

/* Let a reduction combine elements of a target without datatype. */
static int accumulate_reduce(const struct accumulate *a)
{
    int mpi_errno = MPI_SUCCESS;
    char *target = a->target + a->first / a->size * a->extent;
    MPI_Aint most = MPL_MAX(REDUCED / a->extent, 1);

    for (MPI_Aint i = 0, n; i < a->count; i += n) {
        const char *source = a->source + i * a->extent;
        n = MPL_MIN(a->count - i, most);
        if (a->op == MPI_REPLACE)
            mpi_errno = MPIR_Localcopy(source, n, a->basic, target + i * a->extent, n, a->basic);
        else
            mpi_errno = MPIR_Reduce_local(source, target + i * a->extent, n, a->basic, a->op);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Whether source and target are on a GPU, and all of a target with datatype is combined. */
static bool is_whole(const struct accumulate *a)
{
    MPI_Aint size;

    MPIR_Datatype_get_size_macro(a->ttype, size);
    return a->source_is_gpu && a->first == 0 && a->count * a->size == a->tcount * size &&
        a->count * a->extent <= PACKED && MPIDI_Gpudt_rma_ask(a->target, a->tcount, a->ttype);
}

/* Let a reduction combine all elements of a target with datatype, in a copy without gaps.
 *   is_done  (OUT)  false: there is no memory for that */
static int accumulate_packed(const struct accumulate *a, bool * is_done)
{
    int mpi_errno = MPI_SUCCESS;
    void *packed = NULL;

    *is_done = true;
    if (a->op != MPI_REPLACE) {
        packed = MPIR_Gpudt_temp_alloc(a->target, a->count * a->extent, a->op, a->basic);
        *is_done = packed != NULL;
        if (packed == NULL)
            goto fn_exit;
        mpi_errno = MPIR_Localcopy(a->target, a->tcount, a->ttype, packed, a->count, a->basic);
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = MPIR_Reduce_local(a->source, packed, a->count, a->basic, a->op);
        MPIR_ERR_CHECK(mpi_errno);
    }
    mpi_errno = MPIR_Localcopy(packed ? packed : a->source, a->count, a->basic, a->target,
                               a->tcount, a->ttype);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIR_Gpudt_temp_free(packed);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Find n elements of the source in host memory, an extent apart.
 *   from  (OUT)  where they are */
static int part_source(const struct accumulate *a, MPI_Aint i, MPI_Aint n, const char **from)
{
    int mpi_errno = MPI_SUCCESS;

    *from = a->source + i * a->extent;
    if (a->source_is_gpu) {
        mpi_errno = MPIR_Localcopy(*from, n, a->basic, a->from, n, a->basic);
        *from = a->from;
    }
    return mpi_errno;
}

/* Fetch n elements of the target, from a position of its stream on, and apply the operation. */
static int part_apply(const struct accumulate *a, const char *from, MPI_Aint n, MPI_Aint first)
{
    int mpi_errno = MPI_SUCCESS;
    MPI_Aint bytes = n * a->size, actual;
    MPI_Datatype basic = a->basic;

    mpi_errno = MPIR_Typerep_pack(a->target, a->tcount, a->ttype, first, a->stream, bytes, &actual);
    MPIR_ERR_CHECK(mpi_errno);
    if (a->to != a->stream) {
        mpi_errno = MPIR_Typerep_unpack(a->stream, bytes, a->to, n, basic, 0, &actual);
        MPIR_ERR_CHECK(mpi_errno);
    }
    (*MPIR_OP_HDL_TO_FN(a->op)) ((void *) from, a->to, &n, &basic);
    if (a->to != a->stream) {
        mpi_errno = MPIR_Typerep_pack(a->to, n, basic, 0, a->stream, bytes, &actual);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Combine n elements from element i of the source on. */
static int part_combine(const struct accumulate *a, MPI_Aint i, MPI_Aint n)
{
    int mpi_errno = MPI_SUCCESS;
    MPI_Aint first = a->first + i * a->size, bytes = n * a->size, actual;
    const char *from;

    mpi_errno = part_source(a, i, n, &from);
    MPIR_ERR_CHECK(mpi_errno);
    if (a->op == MPI_REPLACE)
        mpi_errno = MPIR_Typerep_pack_host(from, n, a->basic, 0, a->stream, bytes, &actual);
    else
        mpi_errno = part_apply(a, from, n, first);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Typerep_unpack(a->stream, bytes, a->target, a->tcount, a->ttype, first,
                                    &actual);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Let the CPU combine all elements, part by part. */
static int accumulate_parts(struct accumulate *a)
{
    int mpi_errno = MPI_SUCCESS;
    MPI_Aint most = MPL_MIN(MPL_MAX(PART / a->extent, 1), a->count);
    char *mem = MPL_malloc(3 * most * a->extent, MPL_MEM_RMA);

    MPII_GPUDT_ERR_NOMEM(!mem, mpi_errno, "accumulate to GPU memory");
    a->from = mem;
    a->stream = mem + most * a->extent;
    a->to = a->size == a->extent ? a->stream : a->stream + most * a->extent;
    for (MPI_Aint i = 0, n; i < a->count; i += n) {
        n = MPL_MIN(a->count - i, most);
        mpi_errno = part_combine(a, i, n);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    MPL_free(mem);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

bool MPIDI_Gpudt_accumulate(const void *source, MPI_Aint count, MPI_Datatype basic,
                            void *target, MPI_Aint tcount, MPI_Datatype ttype, MPI_Aint first,
                            MPI_Op op, int *mpi_errno_ptr)
{
    struct accumulate a = {
        .source = source,.count = count,.basic = basic,
        .target = target,.tcount = tcount,.ttype = ttype,.first = first,.op = op
    };
    bool is_done;

    if (op == MPI_NO_OP)
        return false;
    a.source_is_gpu = MPIDI_Gpudt_rma_ask(source, count, basic);
    if (!a.source_is_gpu && !MPIDI_Gpudt_rma_ask(target, tcount, ttype))
        return false;
    MPIR_Datatype_get_size_macro(basic, a.size);
    MPIR_Datatype_get_extent_macro(basic, a.extent);
    if (MPIR_DATATYPE_IS_PREDEFINED(ttype)) {
        *mpi_errno_ptr = accumulate_reduce(&a);
        return true;
    }
    is_done = false;
    if (is_whole(&a))
        *mpi_errno_ptr = accumulate_packed(&a, &is_done);
    if (!is_done)
        *mpi_errno_ptr = accumulate_parts(&a);
    return true;
}

bool MPIDI_Gpudt_cas(void *dest, const void *compare, const void *origin, void *result,
                     MPI_Datatype datatype, int *mpi_errno_ptr)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_CH3_CAS_Immed_u seen, wanted, new;
    bool is_told = false;
    MPI_Aint n;

    if (!MPIDI_Gpudt_rma_ask(dest, 1, datatype) && !MPIDI_Gpudt_rma_ask(compare, 1, datatype) &&
        !MPIDI_Gpudt_rma_ask(origin, 1, datatype) && !MPIDI_Gpudt_rma_ask(result, 1, datatype))
        return false;
    MPIR_Datatype_get_size_macro(datatype, n);
    mpi_errno = MPIR_Typerep_copy(&wanted, compare, n);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Typerep_copy(&new, origin, n);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Typerep_copy(&seen, dest, n);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Typerep_copy(result, &seen, n);
    MPIR_ERR_CHECK(mpi_errno);
    is_told = true;
    if (MPIR_Compare_equal(&wanted, &seen, datatype)) {
        mpi_errno = MPIR_Typerep_copy(dest, &new, n);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    *mpi_errno_ptr = mpi_errno;
    return true;
  fn_fail:
    /* Of a packet for the origin */
    if (!is_told && !MPIDI_Gpudt_rma_ask(result, 1, datatype))
        memset(result, 0, n);
    goto fn_exit;
}

bool MPIDI_Gpudt_fetch_and_op(void *dest, const void *origin, void *result, MPI_Datatype datatype,
                              MPI_Op op, int *mpi_errno_ptr)
{
    int mpi_errno = MPI_SUCCESS;
    MPI_Aint one = 1;

    if (!MPIDI_Gpudt_rma_ask(dest, 1, datatype) && !MPIDI_Gpudt_rma_ask(result, 1, datatype) &&
        (op == MPI_NO_OP || !MPIDI_Gpudt_rma_ask(origin, 1, datatype)))
        return false;
    mpi_errno = MPIR_Localcopy(dest, 1, datatype, result, 1, datatype);
    MPIR_ERR_CHECK(mpi_errno);
    if (!MPIDI_Gpudt_accumulate(origin, 1, datatype, dest, 1, datatype, 0, op, &mpi_errno))
        (*MPIR_OP_HDL_TO_FN(op)) ((void *) origin, dest, &one, &datatype);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    *mpi_errno_ptr = mpi_errno;
    return true;
  fn_fail:
    goto fn_exit;
}
