/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Collective file operations, where some processes have buffers that are staged. They go in
 * rounds: each is a collective operation of the driver, on one chunk of the packed data of each
 * such process. While it runs, the GPU packs the next chunk, or unpacks the one before. A host
 * buffer is moved in the first round, and its process takes part in the others with no data. This
 * file has the rounds of any operation, and the blocking operations; for the nonblocking ones see
 * gpudt_request.c.
 *
 * All processes need to know the number of rounds, and those with host buffers shall not pay for
 * it. The generic driver lets all processes exchange the range that each accesses, and with it
 * goes the number of rounds that each asks for (gpudt_rounds.h). It does not if collective
 * buffering is disabled, but then it has no messages at all, and each process may move its chunks
 * independently. Otherwise there is one round, with the whole packed data: in drivers that have
 * collective algorithms of their own, with the hint romio_cb_pfr, and in atomic files.
 *
 * Must not know how buffers are packed. */

#include "gpudt_io_impl.h"

#ifdef HAVE_WEAK_SYMBOLS
/* Include mapping from MPI->PMPI */
#define MPIO_BUILD_PROFILING
#include "mpioprof.h"
#endif

/* ---- rounds ---- */

void MPIOI_Gpudt_rounds_place(struct MPIOI_Gpudt_rounds *r, MPI_Count n, int file_ptr_type,
                              ADIO_Offset offset)
{
    r->n = n;
    r->file_ptr_type = file_ptr_type;
    r->offset = offset;
    MPIOI_Gpudt_view_take(r->fd, n, &r->file_ptr_type, &r->offset);
}

void MPIOI_Gpudt_rounds_begin(struct MPIOI_Gpudt_rounds *r, int is_whole)
{
    if (r->is_read)
        r->failure = MPIOI_Gpudt_view_clip(r->fd, r->file_ptr_type == ADIO_INDIVIDUAL ?
                                           MPIOI_Gpudt_view_position(r->fd) : r->offset, &r->n);
    if (r->failure == MPI_SUCCESS && r->n > 0)
        r->failure = MPIR_Ext_gpudt_stage_alloc(r->stage, r->fd->etype_size, is_whole, &r->chunk);
    if (r->failure == MPI_SUCCESS && r->n > 0 && !r->is_read)
        r->failure = MPIR_Ext_gpudt_stage_start(r->stage, 0, 0, MPL_MIN(r->chunk, r->n), 0);
}

ADIO_Offset MPIOI_Gpudt_rounds_number(const struct MPIOI_Gpudt_rounds *r)
{
    return r->chunk > 0 ? MPL_MAX((r->n + r->chunk - 1) / r->chunk, 1) : 1;
}

/* Prepare the memory of round i: wait until it is packed, or the last but one is unpacked. Returns
 * the bytes of the round. */
static MPI_Count memory_prepare(struct MPIOI_Gpudt_rounds *r, ADIO_Offset i)
{
    const MPI_Count first = i * r->chunk, n = MPL_MIN(r->chunk, r->n - first);

    if (r->failure != MPI_SUCCESS || n <= 0)
        return 0;
    if (!r->is_read && first + n < r->n)
        r->failure = MPIR_Ext_gpudt_stage_start(r->stage, (i + 1) % MPIR_EXT_GPUDT_CHUNKS, first + n,
                                                MPL_MIN(r->chunk, r->n - first - n), 0);
    if (r->failure == MPI_SUCCESS)
        r->failure = MPIR_Ext_gpudt_stage_wait(r->stage, i % MPIR_EXT_GPUDT_CHUNKS);
    return r->failure == MPI_SUCCESS ? n : 0;
}

void MPIOI_Gpudt_round_begin(struct MPIOI_Gpudt_rounds *r, ADIO_Offset i,
                             struct MPIOI_Gpudt_round *round)
{
    int error_code;

    round->n = memory_prepare(r, i);
    round->mem = round->n > 0 ? MPIR_Ext_gpudt_stage_mem(r->stage, i % MPIR_EXT_GPUDT_CHUNKS) : NULL;
    round->file_ptr_type = r->file_ptr_type;
    round->offset = r->offset;
    /* no data is at the end of the data, so that it does not widen the range that others access */
    if (r->file_ptr_type == ADIO_EXPLICIT_OFFSET)
        round->offset += MPL_MIN(i * r->chunk, r->n) / r->fd->etype_size;
    error_code = MPIOI_Gpudt_bytes_make(round->n, &round->bytes);
    if (r->failure == MPI_SUCCESS)
        r->failure = error_code;
}

void MPIOI_Gpudt_round_end(struct MPIOI_Gpudt_rounds *r, ADIO_Offset i,
                           struct MPIOI_Gpudt_round *round, int error_code)
{
    MPIOI_Gpudt_bytes_free(&round->bytes);
    if (r->failure == MPI_SUCCESS)
        r->failure = error_code;
    if (r->is_read && r->failure == MPI_SUCCESS && round->n > 0)
        r->failure = MPIR_Ext_gpudt_stage_start(r->stage, i % MPIR_EXT_GPUDT_CHUNKS, i * r->chunk,
                                                round->n, 1);
}

int MPIOI_Gpudt_rounds_end(struct MPIOI_Gpudt_rounds *r)
{
    int error_code;

    for (int i = 0; r->stage && i < MPIR_EXT_GPUDT_CHUNKS; i++) {
        error_code = MPIR_Ext_gpudt_stage_wait(r->stage, i);
        if (r->failure == MPI_SUCCESS)
            r->failure = error_code;
    }
    MPIR_Ext_gpudt_stage_free(r->stage);
    r->stage = NULL;
    return r->failure;
}

/* ---- blocking operations ---- */

/* Whether the driver's operation exchanges the number of rounds. All processes have the same answer. */
static int has_exchange(ADIO_File fd, int is_read)
{
    if (fd->hints->cb_pfr != ADIOI_HINT_DISABLE)
        return 0;
    return is_read ? fd->fns->ADIOI_xxx_ReadStridedColl == ADIOI_GEN_ReadStridedColl :
        fd->fns->ADIOI_xxx_WriteStridedColl == ADIOI_GEN_WriteStridedColl;
}

/* Whether it has no messages, and need not be one operation. */
static int is_independent(ADIO_File fd, int is_read)
{
    return has_exchange(fd, is_read) && MPIOI_Gpudt_is_uncoordinated(fd, is_read);
}

static int driver_call(ADIO_File fd, int is_read, void *mem, const struct MPIOI_Gpudt_bytes *bytes,
                       int file_ptr_type, ADIO_Offset offset)
{
    ADIO_Status status;
    int error_code = MPI_SUCCESS;

    if (is_read)
        ADIO_ReadStridedColl(fd, mem, bytes->count, bytes->type, file_ptr_type, offset, &status,
                             &error_code);
    else
        ADIO_WriteStridedColl(fd, mem, bytes->count, bytes->type, file_ptr_type, offset, &status,
                              &error_code);
    return error_code;
}

static void round_do(struct MPIOI_Gpudt_rounds *r, ADIO_Offset i)
{
    struct MPIOI_Gpudt_round round;

    MPIOI_Gpudt_round_begin(r, i, &round);
    MPIOI_Gpudt_round_end(r, i, &round,
                          driver_call(r->fd, r->is_read, round.mem, &round.bytes,
                                      round.file_ptr_type, round.offset));
}

/* The ranges of rounds need not overlap even if those of the whole operation do. A write then does
 * not wait for that of another process, which may rewrite what is between its own data. */
static int all_end(ADIO_File fd, int is_read, ADIO_Offset total)
{
    return total > 1 && !is_read ? MPI_Barrier(fd->comm) : MPI_SUCCESS;
}

/* All rounds of a process with a GPU buffer, or one that it could not make a stage for. */
static int rounds_run(struct MPIOI_Gpudt_rounds *r)
{
    ADIO_Offset total;
    int error_code;

    r->fd->gpudt_rounds = MPIOI_Gpudt_rounds_number(r);
    round_do(r, 0);
    total = has_exchange(r->fd, r->is_read) ? r->fd->gpudt_rounds : 1;
    r->fd->gpudt_rounds = 0;
    for (ADIO_Offset i = 1; i < total; i++) {
        round_do(r, i);
        r->fd->gpudt_rounds = 0;
    }
    error_code = all_end(r->fd, r->is_read, total);
    if (r->failure == MPI_SUCCESS)
        r->failure = error_code;
    return MPIOI_Gpudt_rounds_end(r);
}

/* Where an operation ended that had all of its data in the first round, in etypes. */
static ADIO_Offset end_of(ADIO_File fd, int count, MPI_Datatype datatype, int file_ptr_type,
                          ADIO_Offset offset)
{
    MPI_Count size;

    if (file_ptr_type == ADIO_INDIVIDUAL)
        return MPIOI_Gpudt_view_position(fd);
    MPI_Type_size_x(datatype, &size);
    return offset + size * count / fd->etype_size;
}

/* The rounds after the first of a process with a host buffer. Returns the first error.
 *   at          (IN)  where the first ended
 *   error_code  (IN)  of the first */
static int rounds_follow(ADIO_File fd, int is_read, ADIO_Offset at, int error_code)
{
    const struct MPIOI_Gpudt_bytes none = { MPI_BYTE, 0 };
    const ADIO_Offset total = fd->gpudt_rounds;
    int err;

    for (ADIO_Offset i = 1; i < total; i++) {
        fd->gpudt_rounds = 0;
        err = driver_call(fd, is_read, NULL, &none, ADIO_EXPLICIT_OFFSET, at);
        if (error_code == MPI_SUCCESS)
            error_code = err;
    }
    fd->gpudt_rounds = 0;
    err = all_end(fd, is_read, total);
    return error_code == MPI_SUCCESS ? err : error_code;
}

static void status_set(ADIO_Status * status, MPI_Datatype datatype, MPI_Count n, int error_code)
{
#ifdef HAVE_STATUS_SET_BYTES
    if (error_code == MPI_SUCCESS)
        MPIR_Status_set_bytes(status, datatype, n);
#endif
}

/* As the driver does it if collective buffering is disabled. */
MPIOI_GPUDT_INDEPENDENT(Read, void, ADIO_Status)
MPIOI_GPUDT_INDEPENDENT(Write, const void, ADIO_Status)

#define BLOCKING(name_, buf_t_, is_read_)                                                         \
void MPIOI_Gpudt_##name_##StridedColl(ADIO_File fd, buf_t_ * buf, int count,                      \
                                      MPI_Datatype datatype, int file_ptr_type,                   \
                                      ADIO_Offset offset, ADIO_Status * status, int *error_code)  \
{                                                                                                 \
    struct MPIOI_Gpudt_rounds r = {.fd = fd,.is_read = is_read_ };                                \
                                                                                                  \
    MPIOI_Gpudt_pending_end(fd);                                                                  \
    r.failure = MPIR_Ext_gpudt_stage_make(buf, count, datatype, MPIOI_Gpudt_representation(fd),   \
                                          &r.stage);                                              \
    if (r.stage == NULL && r.failure == MPI_SUCCESS) {                                            \
        ADIO_##name_##StridedColl(fd, buf, count, datatype, file_ptr_type, offset, status,        \
                                  error_code);                                                    \
        if (fd->gpudt_rounds)                                                                     \
            *error_code = rounds_follow(fd, is_read_,                                             \
                                        end_of(fd, count, datatype, file_ptr_type, offset),       \
                                        *error_code);                                             \
    } else if (r.stage && is_independent(fd, is_read_)) {                                         \
        MPIR_Ext_gpudt_stage_free(r.stage);                                                       \
        independent_##name_(fd, buf, count, datatype, file_ptr_type, offset, status, error_code); \
    } else {                                                                                      \
        if (r.stage) {                                                                            \
            MPIOI_Gpudt_rounds_place(&r, MPIR_Ext_gpudt_stage_size(r.stage), file_ptr_type,       \
                                     offset);                                                     \
            MPIOI_Gpudt_rounds_begin(&r, fd->atomicity || !has_exchange(fd, is_read_));           \
        }                                                                                         \
        *error_code = rounds_run(&r);                                                             \
        status_set(status, datatype, r.n, *error_code);                                           \
    }                                                                                             \
}

BLOCKING(Read, void, 1)
BLOCKING(Write, const void, 0)
