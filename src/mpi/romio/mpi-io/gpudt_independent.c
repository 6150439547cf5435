/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Independent file operations on buffers that are staged. The packed data is moved in chunks, each
 * by an operation of the driver on contiguous bytes, at an explicit offset. While the file
 * operation of a chunk runs, the GPU packs the next one, or unpacks the one before. In an atomic
 * file that is done under a lock of the whole range if that is contiguous; else it is one
 * operation, which locks. Contiguous memory and a contiguous part of a file may do without chunks, if
 * the library for that is there (gpudt_storage.h). Must not know how buffers are packed. */

#include "gpudt_io_impl.h"

#ifdef HAVE_WEAK_SYMBOLS
/* Include mapping from MPI->PMPI */
#define MPIO_BUILD_PROFILING
#include "mpioprof.h"
#endif

struct transfer {
    ADIO_File fd;
    MPIR_Ext_gpudt_stage_t *stage;
    int is_read, is_contig;     /* the latter: in the file */
    ADIO_Offset at;             /* where it begins in the file: a byte if that is contiguous there,
                                 * else in etypes of the view */
    MPI_Count n;                /* bytes to move */
    MPI_Count done;             /* bytes moved */
};

/* The file operation of n bytes from position first of the packed data. */
static int chunk_access(struct transfer *t, void *mem, MPI_Count first, MPI_Count n,
                        MPI_Count * got)
{
    int error_code;
    struct MPIOI_Gpudt_bytes bytes;
    ADIO_Status status;
    ADIO_File fd = t->fd;

    *got = 0;
    error_code = MPIOI_Gpudt_bytes_make(n, &bytes);
    if (error_code != MPI_SUCCESS)
        return error_code;
    if (t->is_contig && t->is_read)
        ADIO_ReadContig(fd, mem, bytes.count, bytes.type, ADIO_EXPLICIT_OFFSET, t->at + first,
                        &status, &error_code);
    else if (t->is_contig)
        ADIO_WriteContig(fd, mem, bytes.count, bytes.type, ADIO_EXPLICIT_OFFSET, t->at + first,
                         &status, &error_code);
    else if (t->is_read)
        ADIO_ReadStrided(fd, mem, bytes.count, bytes.type, ADIO_EXPLICIT_OFFSET,
                         t->at + first / fd->etype_size, &status, &error_code);
    else
        ADIO_WriteStrided(fd, mem, bytes.count, bytes.type, ADIO_EXPLICIT_OFFSET,
                          t->at + first / fd->etype_size, &status, &error_code);
    if (error_code == MPI_SUCCESS)
        MPI_Get_elements_x(&status, MPI_BYTE, got);
    MPIOI_Gpudt_bytes_free(&bytes);
    return error_code;
}

static int write_chunks(struct transfer *t, MPI_Count chunk)
{
    int error_code = MPI_SUCCESS;
    MPI_Count n, next, got;

    if (t->done < t->n)
        error_code = MPIR_Ext_gpudt_stage_start(t->stage, 0, t->done, MPL_MIN(chunk, t->n - t->done), 0);
    for (int i = 0; error_code == MPI_SUCCESS && t->done < t->n; i++) {
        n = MPL_MIN(chunk, t->n - t->done);
        next = MPL_MIN(chunk, t->n - t->done - n);
        if (next > 0)
            error_code = MPIR_Ext_gpudt_stage_start(t->stage, i + 1, t->done + n, next, 0);
        if (error_code == MPI_SUCCESS)
            error_code = MPIR_Ext_gpudt_stage_wait(t->stage, i);
        if (error_code == MPI_SUCCESS)
            error_code = chunk_access(t, MPIR_Ext_gpudt_stage_mem(t->stage, i), t->done, n, &got);
        if (error_code == MPI_SUCCESS)
            t->done += n;
    }
    return error_code;
}

static int read_chunks(struct transfer *t, MPI_Count chunk)
{
    int error_code = MPI_SUCCESS, wait_error;
    MPI_Count n = 0, got = 0;

    for (int i = 0; error_code == MPI_SUCCESS && t->done < t->n && got == n; i++) {
        n = MPL_MIN(chunk, t->n - t->done);
        error_code = MPIR_Ext_gpudt_stage_wait(t->stage, i);
        if (error_code == MPI_SUCCESS)
            error_code = chunk_access(t, MPIR_Ext_gpudt_stage_mem(t->stage, i), t->done, n, &got);
        if (error_code == MPI_SUCCESS && got > 0)
            error_code = MPIR_Ext_gpudt_stage_start(t->stage, i, t->done, got, 1);
        if (error_code == MPI_SUCCESS)
            t->done += got;
    }
    for (int i = 0; i < MPIR_EXT_GPUDT_CHUNKS; i++) {
        wait_error = MPIR_Ext_gpudt_stage_wait(t->stage, i);
        if (error_code == MPI_SUCCESS)
            error_code = wait_error;
    }
    return error_code;
}

static int move_chunks(struct transfer *t, MPI_Count chunk)
{
    return t->is_read ? read_chunks(t, chunk) : write_chunks(t, chunk);
}

/* Whether the driver of a file accesses a contiguous part of it by its descriptor, and nothing else. Not in
 * an atomic file: when it is closed as another one, the operating system drops all locks of it. */
static int is_plain(const struct transfer *t)
{
    return t->is_contig && !t->fd->atomicity &&
        (t->is_read ? t->fd->fns->ADIOI_xxx_ReadContig == ADIOI_GEN_ReadContig :
         t->fd->fns->ADIOI_xxx_WriteContig == ADIOI_GEN_WriteContig);
}

/* Try to move the whole units of storage without host memory. What is before and after them, or was not
 * moved so, goes through the chunks. */
static int move_units(struct transfer *t, MPI_Count chunk)
{
    const MPI_Count all = t->n, unit = MPIR_EXT_GPUDT_STORAGE_UNIT;
    const MPI_Count head = MPL_MIN(all, (unit - t->at % unit) % unit);
    int error_code;

    t->n = head;
    error_code = move_chunks(t, chunk);
    t->n = all;
    if (error_code == MPI_SUCCESS && t->done == head) {
        t->done += MPIR_Ext_gpudt_stage_store(t->stage, head, (all - head) / unit * unit,
                                              t->fd->fd_sys, t->at + head, t->is_read);
        t->fd->dirty_write |= !t->is_read;      /* for MPI_File_sync */
    }
    return error_code == MPI_SUCCESS ? move_chunks(t, chunk) : error_code;
}

/* Move all bytes, or those before the end of the file. */
static int transfer_run(struct transfer *t)
{
    int error_code = MPI_SUCCESS;
    MPI_Count chunk;

    if (t->is_read && !t->is_contig)
        error_code = MPIOI_Gpudt_view_clip(t->fd, t->at, &t->n);
    if (error_code != MPI_SUCCESS || t->n == 0)
        return error_code;
    error_code = MPIR_Ext_gpudt_stage_alloc(t->stage, t->is_contig ? 1 : t->fd->etype_size,
                                            t->fd->atomicity && !t->is_contig, &chunk);
    if (error_code == MPI_SUCCESS)
        error_code = is_plain(t) && MPIR_Ext_gpudt_stage_may_store(t->stage, t->n) ?
            move_units(t, chunk) : move_chunks(t, chunk);
    return error_code;
}

/* Memory and file are contiguous; offset is in bytes, and an atomic file is locked. */
static int contig_access(struct transfer *t, int file_ptr_type, ADIO_Offset offset)
{
    int error_code;

    t->is_contig = 1;
    t->at = file_ptr_type == ADIO_INDIVIDUAL ? t->fd->fp_ind : offset;
    error_code = transfer_run(t);
    if (file_ptr_type == ADIO_INDIVIDUAL)
        t->fd->fp_ind = t->at + t->done;
    return error_code;
}

/* Memory or file, or both, are not contiguous; offset is in etypes. As the drivers' strided
 * operations this moves the individual file pointer by the whole request, and locks. */
static int strided_access(struct transfer *t, int file_ptr_type, ADIO_Offset offset)
{
    ADIO_File fd = t->fd;
    const MPI_Count n = t->n;
    int error_code, seek_error, locked;

    ADIOI_Datatype_iscontig(fd->filetype, &t->is_contig);
    if (!t->is_contig) {
        t->at = file_ptr_type == ADIO_INDIVIDUAL ? MPIOI_Gpudt_view_position(fd) : offset;
        error_code = transfer_run(t);
        if (error_code == MPI_SUCCESS && file_ptr_type == ADIO_INDIVIDUAL)
            ADIO_SeekIndividual(fd, t->at + n / fd->etype_size, ADIO_SEEK_SET, &seek_error);
        return error_code;
    }

    t->at = file_ptr_type == ADIO_INDIVIDUAL ? fd->fp_ind : fd->disp + fd->etype_size * offset;
    locked = fd->atomicity && ADIO_Feature(fd, ADIO_LOCKS);
    if (locked)
        ADIOI_WRITE_LOCK(fd, t->at, SEEK_SET, n);
    error_code = transfer_run(t);
    if (locked)
        ADIOI_UNLOCK(fd, t->at, SEEK_SET, n);
    if (error_code == MPI_SUCCESS && file_ptr_type == ADIO_INDIVIDUAL)
        fd->fp_ind = t->at + n;
    return error_code;
}

/* Do an operation if the buffer is staged.
 *   is_strided  (IN)   which of the drivers' operations it stands for
 *   done        (OUT)  bytes moved
 * Returns 0 if it is not. */
static int is_done(ADIO_File fd, const void *buf, int count, MPI_Datatype datatype, int is_read,
                   int is_strided, int file_ptr_type, ADIO_Offset offset, MPI_Count * done,
                   int *error_code)
{
    struct transfer t = {.fd = fd,.is_read = is_read };
    int how = MPIOI_Gpudt_representation(fd);

    /* What one operation has to move, or an etype, could be as long as the buffer */
    if (is_strided && !fd->atomicity && fd->etype_size <= MPIR_EXT_GPUDT_HOST_CHUNK)
        how |= MPIR_EXT_GPUDT_IF_FASTER;
    *error_code = MPIR_Ext_gpudt_stage_make(buf, count, datatype, how, &t.stage);
    if (t.stage == NULL && *error_code == MPI_SUCCESS)
        return 0;
    if (t.stage) {
        t.n = MPIR_Ext_gpudt_stage_size(t.stage);
        *error_code = is_strided ? strided_access(&t, file_ptr_type, offset) :
            contig_access(&t, file_ptr_type, offset);
        MPIR_Ext_gpudt_stage_free(t.stage);
    }
    *done = t.done;
    return 1;
}

static void status_set(ADIO_Status * status, MPI_Datatype datatype, MPI_Count done, int error_code)
{
#ifdef HAVE_STATUS_SET_BYTES
    if (error_code == MPI_SUCCESS)
        MPIR_Status_set_bytes(status, datatype, done);
#endif
}

#define BLOCKING(name_, buf_t_, is_read_, is_strided_)                                            \
void MPIOI_Gpudt_##name_(ADIO_File fd, buf_t_ * buf, int count, MPI_Datatype datatype,            \
                         int file_ptr_type, ADIO_Offset offset, ADIO_Status * status,             \
                         int *error_code)                                                         \
{                                                                                                 \
    MPI_Count done;                                                                               \
                                                                                                  \
    if (is_done(fd, buf, count, datatype, is_read_, is_strided_, file_ptr_type, offset, &done,    \
                error_code))                                                                      \
        status_set(status, datatype, done, *error_code);                                          \
    else                                                                                          \
        ADIO_##name_(fd, buf, count, datatype, file_ptr_type, offset, status, error_code);        \
}

BLOCKING(ReadContig, void, 1, 0)
BLOCKING(WriteContig, const void, 0, 0)
BLOCKING(ReadStrided, void, 1, 1)
BLOCKING(WriteStrided, const void, 0, 1)

/* As the drivers do for noncontiguous types: the operation blocks, but not for other processes. */
#define NONBLOCKING(name_, buf_t_, is_read_, is_strided_)                                         \
void MPIOI_Gpudt_##name_(ADIO_File fd, buf_t_ * buf, int count, MPI_Datatype datatype,            \
                         int file_ptr_type, ADIO_Offset offset, ADIO_Request * request,           \
                         int *error_code)                                                         \
{                                                                                                 \
    MPI_Count done;                                                                               \
                                                                                                  \
    if (is_done(fd, buf, count, datatype, is_read_, is_strided_, file_ptr_type, offset, &done,    \
                error_code))                                                                      \
        request_make(fd, done, error_code, request);                                              \
    else                                                                                          \
        ADIO_##name_(fd, buf, count, datatype, file_ptr_type, offset, request, error_code);       \
}

/* A completed request; none after an error. */
static void request_make(ADIO_File fd, MPI_Count done, int *error_code, ADIO_Request * request)
{
    if (*error_code == MPI_SUCCESS)
        MPIO_Completed_request_create(&fd, done, error_code, request);
    else
        *request = MPI_REQUEST_NULL;
}

NONBLOCKING(IreadContig, void, 1, 0)
NONBLOCKING(IwriteContig, const void, 0, 0)
NONBLOCKING(IreadStrided, void, 1, 1)
NONBLOCKING(IwriteStrided, const void, 0, 1)
