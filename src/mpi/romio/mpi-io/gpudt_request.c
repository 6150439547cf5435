/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Nonblocking collective file operations on buffers that are staged. The driver's operation is
 * started with the whole packed data in host memory: rounds, as of blocking operations, would need
 * a request around the driver's in each process, also in those with host buffers. The program gets
 * a generalized request around that of the driver, which unpacks and frees when the driver's is
 * complete. An error before that is reported by this request, too: other processes wait for this
 * one to take part in the operation. Must not know how buffers are packed. */

#include "gpudt_io_impl.h"
#include "mpiu_greq.h"

#include <string.h>

#ifdef HAVE_WEAK_SYMBOLS
/* Include mapping from MPI->PMPI */
#define MPIO_BUILD_PROFILING
#include "mpioprof.h"
#endif

/* A process whose buffer cannot be staged takes part in the operation with no data, as others would
 * wait for it, and reports the error afterwards. */
struct whole {
    MPIR_Ext_gpudt_stage_t *stage;      /* NULL, if that is what failed */
    int failure;                /* an MPI error code */
    void *mem;                  /* this and the rest are for the driver's operation */
    MPI_Count n;                /* bytes of it: of a read no more than the file has */
    struct MPIOI_Gpudt_bytes bytes;
    int file_ptr_type;
    ADIO_Offset offset;
};

struct nonblocking {
    struct whole whole;
    int is_read;
    MPI_Request inner, outer;   /* the driver's; the program's */
    int is_complete;
    int error_code;
};

/* Prepare an operation; for a write, pack. Returns 0 if the buffer is host memory. The individual
 * file pointer may have been moved already. */
static int whole_make(ADIO_File fd, const void *buf, int count, MPI_Datatype datatype,
                      int file_ptr_type, ADIO_Offset offset, int is_read, struct whole *whole)
{
    MPI_Count chunk;
    int error_code;

    memset(whole, 0, sizeof(*whole));
    error_code = MPIR_Ext_gpudt_stage_make(buf, count, datatype, MPIOI_Gpudt_representation(fd),
                                           &whole->stage);
    if (whole->stage == NULL && error_code == MPI_SUCCESS)
        return 0;
    whole->file_ptr_type = file_ptr_type;
    whole->offset = offset;
    if (whole->stage) {
        whole->n = MPIR_Ext_gpudt_stage_size(whole->stage);
        MPIOI_Gpudt_view_take(fd, whole->n, &whole->file_ptr_type, &whole->offset);
        if (is_read)
            error_code = MPIOI_Gpudt_view_clip(fd, whole->file_ptr_type == ADIO_INDIVIDUAL ?
                                               MPIOI_Gpudt_view_position(fd) : whole->offset,
                                               &whole->n);
        if (error_code == MPI_SUCCESS && whole->n > 0)
            error_code = MPIR_Ext_gpudt_stage_alloc(whole->stage, 1, 1, &chunk);
        if (error_code == MPI_SUCCESS && whole->n > 0 && !is_read)
            error_code = MPIR_Ext_gpudt_stage_start(whole->stage, 0, 0, whole->n, 0);
        if (error_code == MPI_SUCCESS)
            error_code = MPIR_Ext_gpudt_stage_wait(whole->stage, 0);
    }
    if (error_code != MPI_SUCCESS)
        whole->n = 0;
    else
        whole->mem = MPIR_Ext_gpudt_stage_mem(whole->stage, 0);
    whole->failure = error_code;
    error_code = MPIOI_Gpudt_bytes_make(whole->n, &whole->bytes);
    if (error_code != MPI_SUCCESS)
        whole->failure = error_code;
    return 1;
}

/* After the operation: for a read, unpack; free. Returns the first error.
 *   error_code  (IN)  of the operation */
static int whole_end(struct whole *whole, int is_read, int error_code)
{
    MPIOI_Gpudt_bytes_free(&whole->bytes);
    if (whole->failure != MPI_SUCCESS)
        error_code = whole->failure;
    if (error_code == MPI_SUCCESS && is_read && whole->n > 0)
        error_code = MPIR_Ext_gpudt_stage_start(whole->stage, 0, 0, whole->n, 1);
    if (error_code == MPI_SUCCESS)
        error_code = MPIR_Ext_gpudt_stage_wait(whole->stage, 0);
    MPIR_Ext_gpudt_stage_free(whole->stage);
    whole->stage = NULL;
    return error_code;
}

static void complete(struct nonblocking *nb, int error_code)
{
    nb->error_code = whole_end(&nb->whole, nb->is_read, error_code);
    nb->is_complete = 1;
}

static int poll_fn(void *extra_state, MPI_Status * status)
{
    struct nonblocking *nb = extra_state;
    int error_code, flag = 0;

    if (nb->is_complete)
        return MPI_SUCCESS;
    error_code = MPI_Test(&nb->inner, &flag, MPI_STATUS_IGNORE);
    if (error_code != MPI_SUCCESS || flag) {
        complete(nb, error_code);
        MPI_Grequest_complete(nb->outer);
    }
    return MPI_SUCCESS;
}

static int wait_fn(int count, void **array_of_states, double timeout, MPI_Status * status)
{
    const double begin = MPI_Wtime();

    for (int i = 0; i < count; i++) {
        struct nonblocking *nb = array_of_states[i];

        while (!nb->is_complete) {
            poll_fn(nb, status);
            if (timeout > 0 && MPI_Wtime() - begin > timeout)
                return MPI_SUCCESS;
            if (!nb->is_complete)
                ROMIO_THREAD_CS_YIELD();
        }
    }
    return MPI_SUCCESS;
}

static int query_fn(void *extra_state, MPI_Status * status)
{
    const struct nonblocking *nb = extra_state;

    MPI_Status_set_elements_x(status, MPI_BYTE, nb->error_code ? 0 : nb->whole.n);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return nb->error_code;
}

/* The program may free the request before the operation is complete. */
static int free_fn(void *extra_state)
{
    struct nonblocking *nb = extra_state;

    if (!nb->is_complete) {
        complete(nb, MPI_Wait(&nb->inner, MPI_STATUS_IGNORE));
        MPI_Grequest_complete(nb->outer);
    }
    ADIOI_Free(nb);
    return MPI_SUCCESS;
}

/* The program's request for an operation that has been started, or has failed to. */
static void request_make(struct nonblocking *nb, int *error_code, ADIO_Request * request)
{
    static MPIX_Grequest_class class;
    static int has_class;

    *request = MPI_REQUEST_NULL;
    if (*error_code == MPI_SUCCESS && !has_class) {
        *error_code = MPIX_Grequest_class_create(query_fn, free_fn, MPIU_Greq_cancel_fn, poll_fn,
                                                 wait_fn, &class);
        has_class = *error_code == MPI_SUCCESS;
    }
    if (*error_code == MPI_SUCCESS)
        *error_code = MPIX_Grequest_class_allocate(class, nb, &nb->outer);
    if (*error_code == MPI_SUCCESS) {
        *request = nb->outer;
        return;
    }
    if (nb->inner != MPI_REQUEST_NULL)
        MPI_Wait(&nb->inner, MPI_STATUS_IGNORE);
    whole_end(&nb->whole, nb->is_read, *error_code);
    ADIOI_Free(nb);
}

#define NONBLOCKING(name_, buf_t_, is_read_)                                                      \
void MPIOI_Gpudt_##name_(ADIO_File fd, buf_t_ * buf, int count, MPI_Datatype datatype,            \
                         int file_ptr_type, ADIO_Offset offset, ADIO_Request * request,           \
                         int *error_code)                                                         \
{                                                                                                 \
    struct whole w;                                                                               \
    struct nonblocking *nb;                                                                       \
                                                                                                  \
    if (!whole_make(fd, buf, count, datatype, file_ptr_type, offset, is_read_, &w)) {             \
        ADIO_##name_(fd, buf, count, datatype, file_ptr_type, offset, request, error_code);       \
        return;                                                                                   \
    }                                                                                             \
    nb = ADIOI_Calloc(1, sizeof(*nb));                                                            \
    nb->whole = w;                                                                                \
    nb->is_read = is_read_;                                                                       \
    nb->inner = nb->outer = MPI_REQUEST_NULL;                                                     \
    ADIO_##name_(fd, w.mem, w.bytes.count, w.bytes.type, w.file_ptr_type, w.offset, &nb->inner,   \
                 error_code);                                                                     \
    request_make(nb, error_code, request);                                                        \
}

NONBLOCKING(IreadStridedColl, void, 1)
NONBLOCKING(IwriteStridedColl, const void, 0)
