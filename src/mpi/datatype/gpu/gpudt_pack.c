/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The calls of the rest of the library: describe both sides of a transfer, see whether GPU memory
 * takes part, and set it going. Must not know routes, kernels or streams. */

#include "gpudt_internal.h"
#include "gpudt_host.h"
#include "gpudt_range.h"

/* What a caller says of one side. */
struct buffer {
    const void *addr;
    MPI_Aint count;
    MPI_Datatype datatype;
    MPI_Aint first;             /* stream position of the first byte to move */
    /* found out by buffer_measure */
    bool is_contig;
    bool is_absolute;           /* blocks may be anywhere */
    int64_t size;               /* packed bytes of one datatype */
    char *low, *high;           /* all memory of the buffer */
};

static int packed_transfer(struct buffer *typed, void *packed, MPI_Aint most, bool unpack,
                           MPI_Aint * actual, MPIR_Gpudt_op ** op, bool * handled);
static void buffer_measure(struct buffer *b);
static int64_t buffer_size(const struct buffer *b);
static void side_place(const struct buffer *b, int64_t n, struct MPII_Gpudt_side *side);
static int side_set(const struct buffer *b, int64_t n, struct MPII_Gpudt_side *side);
static int sides_classify(const struct buffer *b, int64_t n, struct MPII_Gpudt_side **side,
                          bool * is_gpu);
static int op_begin(MPIR_Gpudt_op * op, bool * done);
static int transfer(const struct buffer *from, const struct buffer *to, int64_t n,
                    MPIR_Gpudt_op ** op, bool * handled);

static MPL_TLS bool is_host_only = false;

void MPIR_Gpudt_host_only(bool on)
{
    is_host_only = on;
}

/* Whether a GPU can take part in anything. A host program gets no further than this. */
static inline bool is_possible(MPIR_Gpudt_op ** op, bool * handled)
{
    *handled = false;
    if (op)
        *op = NULL;
    return MPII_Gpudt_driver_get() != NULL && !is_host_only;
}

int MPIR_Gpudt_ipack(const void *inbuf, MPI_Aint incount, MPI_Datatype datatype,
                     MPI_Aint inoffset, void *outbuf, MPI_Aint max_bytes, MPI_Aint * actual,
                     MPIR_Gpudt_op ** op, bool * handled)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_FUNC_ENTER;

    if (unlikely(is_possible(op, handled))) {
        struct buffer from = {.addr = inbuf,.count = incount,.datatype = datatype,
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

    if (unlikely(is_possible(op, handled))) {
        struct buffer to = {.addr = outbuf,.count = outcount,.datatype = datatype,
            .first = outoffset
        };
        mpi_errno = packed_transfer(&to, (void *) inbuf, insize, true, actual, op, handled);
        if (*handled)
            MPII_GPUDT_COUNT(unpacks, 1);
    }

    MPIR_FUNC_EXIT;
    return mpi_errno;
}

int MPIR_Gpudt_ilocalcopy(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                          void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                          MPI_Aint nbytes, MPIR_Gpudt_op ** op, bool * handled)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_FUNC_ENTER;

    if (unlikely(is_possible(op, handled))) {
        struct buffer from = {.addr = sendbuf,.count = sendcount,.datatype = sendtype };
        struct buffer to = {.addr = recvbuf,.count = recvcount,.datatype = recvtype };
        buffer_measure(&from);
        buffer_measure(&to);
        mpi_errno = transfer(&from, &to, nbytes, op, handled);
        if (*handled)
            MPII_GPUDT_COUNT(local_copies, 1);
    }

    MPIR_FUNC_EXIT;
    return mpi_errno;
}

int MPIR_Gpudt_icopy(void *outbuf, const void *inbuf, MPI_Aint nbytes, MPIR_Gpudt_op ** op,
                     bool * handled)
{
    MPI_Aint actual;

    return MPIR_Gpudt_ipack(inbuf, nbytes, MPI_BYTE, 0, outbuf, nbytes, &actual, op, handled);
}

bool MPIR_Gpudt_has_part(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                         const void **gpu_addr)
{
    struct buffer b = {.addr = buf,.count = count,.datatype = datatype };
    struct MPII_Gpudt_side side;
    bool is_gpu;
    int64_t n;

    *gpu_addr = NULL;
    if (likely(MPII_Gpudt_driver_get() == NULL))
        return false;
    buffer_measure(&b);
    n = buffer_size(&b);
    if (n <= 0)
        return false;
    side_place(&b, n, &side);
    if (!b.is_absolute && MPII_Gpudt_is_near(side.low))
        return false;

    /* What cannot be found out is for the operation to report */
    is_gpu = true;
    if (side_set(&b, n, &side) == MPI_SUCCESS &&
        MPII_Gpudt_side_classify(&side, b.is_absolute && side.type) == MPI_SUCCESS) {
        is_gpu = MPII_Gpudt_side_is_gpu(&side);
        if (is_gpu && !b.is_absolute)
            *gpu_addr = side.low;
    }
    if (side.type)
        MPII_Gpudt_type_release(side.type);
    return is_gpu;
}

struct MPIR_Gpudt_buffer {
    const void *addr;
    MPI_Aint count;
    MPI_Datatype datatype;
    const void *gpu_addr;
};

int MPIR_Gpudt_buffer_make(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                           MPIR_Gpudt_buffer ** buffer)
{
    int mpi_errno = MPI_SUCCESS;
    const void *gpu_addr;

    *buffer = NULL;
    if (!MPIR_Gpudt_has_part(buf, count, datatype, &gpu_addr))
        goto fn_exit;
    *buffer = MPL_malloc(sizeof(**buffer), MPL_MEM_BUFFER);
    MPIR_ERR_CHKANDJUMP1(!*buffer, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s",
                         "GPU buffer");
    (*buffer)->addr = buf;
    (*buffer)->count = count;
    (*buffer)->datatype = datatype;
    (*buffer)->gpu_addr = gpu_addr;
    MPIR_Datatype_add_ref_if_not_builtin(datatype);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIR_Gpudt_buffer_free(MPIR_Gpudt_buffer * buffer)
{
    if (buffer)
        MPIR_Datatype_release_if_not_builtin(buffer->datatype);
    MPL_free(buffer);
}

const void *MPIR_Gpudt_buffer_addr(const MPIR_Gpudt_buffer * buffer)
{
    return buffer->gpu_addr;
}

int MPIR_Gpudt_buffer_move(MPIR_Gpudt_buffer * buffer, MPI_Aint first, MPI_Aint n, void *packed,
                           bool unpack, MPIR_Gpudt_op ** op)
{
    int mpi_errno = MPI_SUCCESS;
    MPI_Aint actual;
    bool handled;

    if (unpack)
        mpi_errno = MPIR_Gpudt_iunpack(packed, n, (void *) buffer->addr, buffer->count,
                                       buffer->datatype, first, &actual, op, &handled);
    else
        mpi_errno = MPIR_Gpudt_ipack(buffer->addr, buffer->count, buffer->datatype, first, packed,
                                     n, &actual, op, &handled);
    if (!handled)
        MPIR_ERR_SET1(mpi_errno, MPI_ERR_BUFFER, "**gpudt_freed", "**gpudt_freed %p",
                      buffer->gpu_addr);
    return mpi_errno;
}

void MPIR_Gpudt_commit_hook(MPI_Datatype datatype)
{
    if (MPII_Gpudt_driver_get())
        MPIR_Gpudt_type_commit(datatype);
}

/* Move at most so many bytes between a buffer and packed memory. */
static int packed_transfer(struct buffer *typed, void *packed, MPI_Aint most, bool unpack,
                           MPI_Aint * actual, MPIR_Gpudt_op ** op, bool * handled)
{
    int mpi_errno = MPI_SUCCESS;
    struct buffer contig = {.addr = packed,.datatype = MPI_BYTE };
    int64_t n;

    buffer_measure(typed);
    n = MPL_MIN(most, buffer_size(typed) - typed->first);
    contig.count = n;
    buffer_measure(&contig);
    mpi_errno = transfer(unpack ? &contig : typed, unpack ? typed : &contig, n, op, handled);
    if (*handled)
        *actual = mpi_errno ? 0 : MPL_MAX(n, 0);
    return mpi_errno;
}

/* ---- describing ---- */

static void buffer_measure(struct buffer *b)
{
    MPIR_Datatype *dtp;
    MPI_Aint true_lb = 0, true_ub, reach;

    if (HANDLE_IS_BUILTIN(b->datatype)) {
        b->size = true_ub = reach = MPIR_Datatype_get_basic_size(b->datatype);
        b->is_contig = true;
    } else {
        MPIR_Datatype_get_ptr(b->datatype, dtp);
        b->size = dtp->size;
        b->is_contig = dtp->is_contig;
        true_lb = dtp->true_lb;
        true_ub = dtp->true_ub;
        reach = dtp->extent;
    }
    b->is_absolute = b->addr == MPI_BOTTOM && !b->is_contig;

    /* The last datatype may be below the first. Overflow here means that no such buffer exists. */
    reach = (MPI_Aint) ((uint64_t) reach * (uint64_t) (b->count - 1));
    b->low = (char *) b->addr + true_lb + MPL_MIN(reach, 0);
    b->high = (char *) b->addr + true_ub + MPL_MAX(reach, 0);
}

/* Packed bytes of the whole buffer; what does not fit in 64 bits is found by side_set. */
static int64_t buffer_size(const struct buffer *b)
{
    int64_t size;

    return __builtin_mul_overflow(b->count, b->size, &size) ? INT64_MAX : size;
}

/* Fill in a side but for its memory. The type's state is got later, if it is needed. */
static void side_place(const struct buffer *b, int64_t n, struct MPII_Gpudt_side *side)
{
    side->type = NULL;
    side->is_exact = HANDLE_IS_BUILTIN(b->datatype) && b->is_contig;
    side->first = b->first;
    side->addr = (char *) b->addr;
    side->low = b->low;
    side->high = b->high;
    if (b->is_contig) {
        side->addr = side->low = b->low + b->first;
        side->high = side->low + n;
    }
}

/* Find out exactly where a side's data is, from the state of its datatype: the datatype object's own
 * true_lb is wrong for some nests of resized types and distributed arrays. What turns out to be
 * contiguous needs no datatype any more. */
static int side_set(const struct buffer *b, int64_t n, struct MPII_Gpudt_side *side)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPII_Gpudt_serial *serial;
    int64_t reach;

    if (side->is_exact)
        goto fn_exit;
    mpi_errno = MPII_Gpudt_type_get(b->datatype, &side->type);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    serial = &side->type->serial;
    mpi_errno = MPII_Gpudt_canon_count(serial, b->count, &side->top);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    /* Both come from the same constructors; a range beyond the stream would leave the buffer */
    MPIR_ERR_CHKANDJUMP(b->first + n > side->top.size, mpi_errno, MPI_ERR_INTERN, "**gpudt_size");

    if (side->top.kind == MPII_GPUDT_KIND__BLOCK) {
        side->addr = side->low = (char *) b->addr + serial->base_displ + b->first;
        side->high = side->low + n;
        MPII_Gpudt_type_release(side->type);
        side->type = NULL;
    } else {
        side->addr = (char *) b->addr;
        reach = serial->extent * (b->count - 1);
        side->low = side->addr + serial->true_lb + MPL_MIN(reach, 0);
        side->high = side->addr + serial->true_lb + serial->true_extent + MPL_MAX(reach, 0);
    }
    side->is_exact = true;

  fn_exit:
    return mpi_errno;
  fn_fail:
    if (side->type)
        MPII_Gpudt_type_release(side->type);
    side->type = NULL;
    goto fn_exit;
}

/* ---- whose memory is it ---- */

/* Classify both sides, as far as needed to know whether a GPU takes part. */
static int sides_classify(const struct buffer *b, int64_t n, struct MPII_Gpudt_side **side,
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
        /* A failure matters only if a GPU takes part, and will then be met again */
        (void) side_set(&b[i], n, side[i]);
        mpi_errno = MPII_Gpudt_side_classify(side[i], b[i].is_absolute && side[i]->type);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        if (MPII_Gpudt_side_is_gpu(side[i]))
            *is_gpu = true;
    }
    /* Memory on the heap may still be pinned, which matters if the other side is on a GPU */
    for (int i = 0; i < 2 && *is_gpu; i++) {
        if (is_near[i]) {
            (void) side_set(&b[i], n, side[i]);
            mpi_errno = MPII_Gpudt_side_classify(side[i], false);
            MPII_GPUDT_ERR_CHECK(mpi_errno);
        }
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- setting it going ---- */

/* Move n bytes, or find that it is not for us to do. */
static int transfer(const struct buffer *from, const struct buffer *to, int64_t n,
                    MPIR_Gpudt_op ** op, bool * handled)
{
    int mpi_errno = MPI_SUCCESS;
    bool done = false;
    const struct buffer b[2] = { *from, *to };
    MPIR_Gpudt_op local, *work = &local;
    struct MPII_Gpudt_side *side[2] = { &local.src, &local.dst };

    for (int i = 0; i < 2; i++)
        side_place(&b[i], n, side[i]);
    *handled = true;
    if (n <= 0)
        goto fn_exit;
    mpi_errno = sides_classify(b, n, side, handled);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (!*handled)
        goto fn_exit;

    for (int i = 0; i < 2; i++) {
        mpi_errno = side_set(&b[i], n, side[i]);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    if (op) {
        work = MPL_malloc(sizeof(*work), MPL_MEM_BUFFER);
        MPIR_ERR_CHKANDJUMP1(!work, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s",
                             "GPU operation");
        work->src = local.src;
        work->dst = local.dst;
        local.src.type = local.dst.type = NULL;
    }
    work->drv = MPII_Gpudt_driver_get();
    work->n = n;
    work->is_blocking = op == NULL;
    mpi_errno = op_begin(work, &done);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPII_GPUDT_COUNT(bytes, n);
    if (op && !done) {
        *op = work;
        work = NULL;
    }

  fn_exit:
    if (work != &local)
        MPL_free(work);
    MPII_Gpudt_op_release_types(&local);
    return mpi_errno;
  fn_fail:
    *handled = true;
    goto fn_exit;
}

/* Enter the lead's context, decide the route, and start. On failure nothing is in flight and the
 * operation holds nothing. */
static int op_begin(MPIR_Gpudt_op * op, bool * done)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPII_Gpudt_side *lead = MPII_Gpudt_lead(op);
    MPII_Gpudt_ctx_t entered = {.ctx = NULL };

    op->oldest = op->nbusy = op->nchunks = 0;
    op->started = 0;
    op->nlooks = 0;
    memset(op->chunk, 0, sizeof(op->chunk));

    mpi_errno = MPII_Gpudt_engine_enter(op->drv, lead->ptr.device, lead->ptr.ctx, &op->engine,
                                        &entered);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    MPII_GPUDT_RANGE_PUSH("MPI datatype on GPU");
    mpi_errno = MPII_Gpudt_route(op);
    if (likely(mpi_errno == MPI_SUCCESS))
        mpi_errno = MPII_Gpudt_op_advance(op, done);
    MPII_GPUDT_RANGE_POP();
    MPII_GPUDT_ERR_CHECK(mpi_errno);

  fn_exit:
    MPII_Gpudt_ctx_leave(op->drv, &entered);
    return mpi_errno;
  fn_fail:
    MPII_Gpudt_op_release_types(op);
    goto fn_exit;
}
