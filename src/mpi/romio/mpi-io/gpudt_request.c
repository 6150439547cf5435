/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Nonblocking collective file operations, in rounds as the blocking ones: gpudt_collective.c. The
 * program gets a generalized request, which starts the driver's operation of the next round when
 * that of the last one is complete. As a process learns the number of rounds only when the first is
 * complete, those with host buffers have such a request, too.
 *
 * Operations of all processes match by the order in which they are started, and the driver has one
 * buffer for all of a file. So a file's operations form a queue: one is begun when all earlier ones
 * are complete in this process, by whatever call of the program polls one of them. Until then it
 * takes no memory for data. A blocking operation, which uses that buffer, completes them all first.
 * Processes may wait for operations on several files in different orders: a call that polls one takes
 * those of other files further, too.
 *
 * An error in a process is reported by its request when all rounds are done: other processes wait
 * for this one to take part. Must not know how buffers are packed. */

#include "gpudt_io_impl.h"
#include "mpiu_greq.h"
#include "adio_extern.h"

#ifdef HAVE_WEAK_SYMBOLS
/* Include mapping from MPI->PMPI */
#define MPIO_BUILD_PROFILING
#include "mpioprof.h"
#endif

/* An operation. Accessed by the thread that has the queues, as fd->gpudt_pending is, except when it is
 * complete. */
struct MPIOI_Gpudt_pending {
    struct MPIOI_Gpudt_pending *next;
    struct MPIOI_Gpudt_rounds r;
    int is_host;                /* bool: the buffer is not staged, but moved by the driver in the
                                 * first round */
    void *buf;                  /* that buffer; its datatype is kept */
    int count;
    MPI_Datatype datatype;
    MPI_Count size;             /* its bytes */
    ADIO_Offset i, total;       /* the round; their number, known when the first is complete */
    struct MPIOI_Gpudt_round round;
    int is_last;                /* bool: all rounds are done, processes wait for each other */
    MPI_Request inner, outer;   /* of the round, or that wait; the program's */
    MPI_Count got;              /* bytes of a host buffer that were moved */
    MPL_atomic_int_t is_complete;
};

typedef struct MPIOI_Gpudt_pending pending_t;

/* The files whose queues are not empty; accessed as the queues are. */
struct waiting_file {
    struct waiting_file *next;
    ADIO_File fd;
};
static struct waiting_file *waiting_files;

/* Whether a thread has the queues of all files. Not ROMIO's lock: a thread keeps that while a blocking
 * operation waits for other processes, which may wait for a pending one of this process. */
static MPL_atomic_int_t queues_taken = MPL_ATOMIC_INT_T_INITIALIZER(0);
static MPL_atomic_int_t queues_wanted = MPL_ATOMIC_INT_T_INITIALIZER(0);        /* by so many threads */

static int queues_try(void)
{
    return MPL_atomic_cas_int(&queues_taken, 0, 1) == 0;
}

/* No thread keeps them for long, but one that polls takes them again and again. */
static void queues_take(void)
{
    MPL_atomic_fetch_add_int(&queues_wanted, 1);
    while (!queues_try())
        MPL_thread_yield();
    MPL_atomic_fetch_sub_int(&queues_wanted, 1);
}

static void queues_leave(void)
{
    MPL_atomic_release_store_int(&queues_taken, 0);
}

/* What has become of an operation: its request waits for others, another one has been started, or
 * it is complete. */
enum step { WAITS, STARTED, ENDED };

/* ---- what the driver does ---- */

/* As in gpudt_collective.c. The hint romio_cb_pfr is of blocking operations only. */
static int has_exchange(ADIO_File fd, int is_read)
{
    return is_read ? fd->fns->ADIOI_xxx_IreadStridedColl == ADIOI_GEN_IreadStridedColl :
        fd->fns->ADIOI_xxx_IwriteStridedColl == ADIOI_GEN_IwriteStridedColl;
}

/* Whether the driver's operation has no messages, and need not be one. */
static int is_independent(ADIO_File fd, int is_read)
{
    return has_exchange(fd, is_read) && MPIOI_Gpudt_is_uncoordinated(fd, is_read);
}

static int driver_start(pending_t * p, void *mem, int count, MPI_Datatype datatype,
                        int file_ptr_type, ADIO_Offset offset)
{
    int error_code = MPI_SUCCESS;

    if (p->r.is_read)
        ADIO_IreadStridedColl(p->r.fd, mem, count, datatype, file_ptr_type, offset, &p->inner,
                              &error_code);
    else
        ADIO_IwriteStridedColl(p->r.fd, mem, count, datatype, file_ptr_type, offset, &p->inner,
                               &error_code);
    return error_code;
}

/* ---- rounds ---- */

static void failure_note(pending_t * p, int error_code)
{
    if (p->r.failure == MPI_SUCCESS)
        p->r.failure = error_code;
}

/* Start the driver's operation of the next round. */
static void round_start(pending_t * p)
{
    const int is_first_host = p->is_host && p->i == 0;

    if (!is_first_host)
        MPIOI_Gpudt_round_begin(&p->r, p->i, &p->round);
    if (p->i == 0 && has_exchange(p->r.fd, p->r.is_read))
        p->r.fd->gpudt_asks = &p->total;
    failure_note(p, is_first_host ?
                 driver_start(p, p->buf, p->count, p->datatype, p->r.file_ptr_type, p->r.offset) :
                 driver_start(p, p->round.mem, p->round.bytes.count, p->round.bytes.type,
                              p->round.file_ptr_type, p->round.offset));
    p->r.fd->gpudt_asks = NULL;
}

/* After the driver's operation of a round. */
static void round_finish(pending_t * p, int error_code, const MPI_Status * status)
{
    if (!p->is_host || p->i > 0) {
        MPIOI_Gpudt_round_end(&p->r, p->i, &p->round, error_code);
    } else {
        failure_note(p, error_code);
        if (p->r.failure == MPI_SUCCESS)
            MPI_Get_elements_x(status, MPI_BYTE, &p->got);
        /* the rounds that follow are at the end of it */
        if (p->r.file_ptr_type == ADIO_INDIVIDUAL)
            p->r.offset = MPIOI_Gpudt_view_position(p->r.fd);
        else
            p->r.offset += p->size / p->r.fd->etype_size;
        p->r.file_ptr_type = ADIO_EXPLICIT_OFFSET;
    }
    p->i++;
}

/* The first operation of the queue begins. */
static void pending_begin(pending_t * p)
{
    ADIO_File fd = p->r.fd;

    if (p->r.stage)
        MPIOI_Gpudt_rounds_begin(&p->r, fd->atomicity || !has_exchange(fd, p->r.is_read));
    p->total = MPIOI_Gpudt_rounds_number(&p->r);
    round_start(p);
}

static int is_complete(pending_t * p)
{
    return MPL_atomic_acquire_load_int(&p->is_complete);
}

/* Another thread may free it as soon as it is complete. */
static void pending_complete(pending_t * p)
{
    const MPI_Request outer = p->outer;

    if (p->is_host)
        MPIR_Ext_gpudt_type_release(p->datatype);
    else
        p->got = p->r.n;
    MPIOI_Gpudt_rounds_end(&p->r);
    p->r.fd->gpudt_pending = p->next;
    MPL_atomic_release_store_int(&p->is_complete, 1);
    MPI_Grequest_complete(outer);
}

/* Take the first operation of the queue one step further. After its end it may have been freed. */
static enum step pending_advance(pending_t * p)
{
    MPI_Status status;
    int error_code, flag;

    error_code = MPIR_Ext_gpudt_request_poll(p->inner, &flag);
    if (error_code == MPI_SUCCESS && flag)
        error_code = MPI_Test(&p->inner, &flag, &status);
    if (error_code == MPI_SUCCESS && !flag)
        return WAITS;
    if (p->is_last)
        failure_note(p, error_code);
    else
        round_finish(p, error_code, &status);
    /* A request that failed but is not complete cannot be continued */
    if (p->is_last || p->inner != MPI_REQUEST_NULL) {
        pending_complete(p);
        return ENDED;
    }
    if (p->i < p->total) {
        round_start(p);
        return STARTED;
    }
    if (p->total > 1 && !p->r.is_read) {
        /* as all_end of blocking operations */
        p->is_last = 1;
        failure_note(p, MPI_Ibarrier(p->r.fd->comm, &p->inner));
        return STARTED;
    }
    pending_complete(p);
    return ENDED;
}

/* ---- requests ---- */

/* Take a file's queue, which is not empty, as far as it goes. When it is empty, the file may have been
 * closed.
 *   until  (IN)  not farther than to the end of this operation; NULL: of the last
 * Returns whether the queue is empty. */
static int queue_advance(ADIO_File fd, const pending_t * until)
{
    pending_t *p = fd->gpudt_pending;
    enum step step = STARTED;

    while (p && step != WAITS) {
        pending_t *next = p->next;
        const int is_until = p == until;

        step = pending_advance(p);
        if (step == ENDED) {
            p = next;
            if (p)
                pending_begin(p);
            if (is_until)
                break;
        }
    }
    return p == NULL;
}

/* Take the queues of all files as far as they go.
 *   until  (IN)  not farther than to the end of this operation in its file; NULL: all of them */
static void queues_advance(const pending_t * until)
{
    const ADIO_File fd = until ? until->r.fd : NULL;
    struct waiting_file **at = &waiting_files, *w;

    while ((w = *at)) {
        if (queue_advance(w->fd, w->fd == fd ? until : NULL)) {
            *at = w->next;
            ADIOI_Free(w);
        } else {
            at = &w->next;
        }
    }
}

static int poll_fn(void *extra_state, MPI_Status * status)
{
    pending_t *p = extra_state;

    if (MPL_atomic_acquire_load_int(&queues_wanted) > 0) {
        MPL_thread_yield();
    } else if (queues_try()) {
        if (!is_complete(p))
            queues_advance(p);
        queues_leave();
    }
    return MPI_SUCCESS;
}

void MPIOI_Gpudt_pending_end(ADIO_File fd)
{
    int is_done = fd->gpudt_pending == NULL;

    while (!is_done) {
        queues_take();
        queues_advance(NULL);
        is_done = fd->gpudt_pending == NULL;
        queues_leave();
    }
}

static int wait_fn(int count, void **array_of_states, double timeout, MPI_Status * status)
{
    const double begin = MPI_Wtime();

    for (int i = 0; i < count; i++) {
        pending_t *p = array_of_states[i];

        while (!is_complete(p)) {
            poll_fn(p, status);
            if (timeout > 0 && MPI_Wtime() - begin > timeout)
                return MPI_SUCCESS;
        }
    }
    return MPI_SUCCESS;
}

static int query_fn(void *extra_state, MPI_Status * status)
{
    const pending_t *p = extra_state;

    MPI_Status_set_elements_x(status, MPI_BYTE, p->r.failure ? 0 : p->got);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return p->r.failure;
}

/* A program that frees the request before the operation is complete, which MPI does not allow, has
 * to wait. */
static int free_fn(void *extra_state)
{
    pending_t *p = extra_state;

    while (!is_complete(p))
        poll_fn(p, MPI_STATUS_IGNORE);
    ADIOI_Free(p);
    return MPI_SUCCESS;
}

static int request_make(pending_t * p)
{
    static MPIX_Grequest_class class;
    static int has_class;
    int error_code = MPI_SUCCESS;

    if (!has_class)
        error_code = MPIX_Grequest_class_create(query_fn, free_fn, MPIU_Greq_cancel_fn, poll_fn,
                                                wait_fn, &class);
    has_class = error_code == MPI_SUCCESS;
    return has_class ? MPIX_Grequest_class_allocate(class, p, &p->outer) : error_code;
}

/* ---- calls ---- */

/* Append an operation to the queue, and begin it if it is the only one. */
static void pending_enqueue(pending_t * p)
{
    pending_t **end = &p->r.fd->gpudt_pending;
    struct waiting_file *w = ADIOI_Malloc(sizeof(*w));

    queues_take();
    while (*end)
        end = &(*end)->next;
    *end = p;
    if (p->r.fd->gpudt_pending == p) {
        w->next = waiting_files;
        w->fd = p->r.fd;
        waiting_files = w;
        w = NULL;
        pending_begin(p);
    }
    queues_leave();
    if (w)
        ADIOI_Free(w);
}

/* Start an operation that may take several rounds. Without a request it is not started, and others
 * wait in vain; that is for want of memory only.
 *   stage    (IN)  NULL for a host buffer, or on failure; taken over
 *   failure  (IN)  to make it */
static int pending_start(ADIO_File fd, int is_read, void *buf, int count, MPI_Datatype datatype,
                         int file_ptr_type, ADIO_Offset offset, MPIR_Ext_gpudt_stage_t * stage,
                         int failure, MPI_Request * request)
{
    pending_t *p = ADIOI_Calloc(1, sizeof(*p));
    int error_code, is_contig;

    p->r.fd = fd;
    p->r.is_read = is_read;
    p->r.stage = stage;
    p->r.failure = failure;
    p->is_host = stage == NULL && failure == MPI_SUCCESS;
    p->inner = MPI_REQUEST_NULL;
    error_code = request_make(p);
    if (error_code == MPI_SUCCESS && p->is_host) {
        p->buf = buf;
        p->count = count;
        p->datatype = datatype;
        MPIR_Ext_gpudt_type_keep(datatype);
        /* here under ROMIO's lock, as another thread may do it, too */
        ADIOI_Datatype_iscontig(datatype, &is_contig);
        if (!is_contig)
            ADIOI_Flatten_and_find(datatype);
        MPI_Type_size_x(datatype, &p->size);
        p->size *= count;
        MPIOI_Gpudt_rounds_place(&p->r, p->size, file_ptr_type, offset);
        p->r.n = 0;             /* bytes to stage */
    } else if (error_code == MPI_SUCCESS) {
        MPIOI_Gpudt_rounds_place(&p->r, stage ? MPIR_Ext_gpudt_stage_size(stage) : 0,
                                 file_ptr_type, offset);
    }
    if (error_code == MPI_SUCCESS) {
        *request = p->outer;
        pending_enqueue(p);
    } else {
        MPIR_Ext_gpudt_stage_free(stage);
        ADIOI_Free(p);
    }
    return error_code;
}

/* As the driver does it if collective buffering is disabled. */
MPIOI_GPUDT_INDEPENDENT(Iread, void, ADIO_Request)
MPIOI_GPUDT_INDEPENDENT(Iwrite, const void, ADIO_Request)

#define NONBLOCKING(name_, buf_t_, is_read_)                                                      \
void MPIOI_Gpudt_##name_##StridedColl(ADIO_File fd, buf_t_ * buf, int count,                      \
                                      MPI_Datatype datatype, int file_ptr_type,                   \
                                      ADIO_Offset offset, ADIO_Request * request,                 \
                                      int *error_code)                                            \
{                                                                                                 \
    MPIR_Ext_gpudt_stage_t *stage;                                                                \
    int failure;                                                                                  \
                                                                                                  \
    *request = MPI_REQUEST_NULL;                                                                  \
    failure = MPIR_Ext_gpudt_stage_make(buf, count, datatype, MPIOI_Gpudt_representation(fd),     \
                                        &stage);                                                  \
    if (!is_independent(fd, is_read_)) {                                                          \
        *error_code = pending_start(fd, is_read_, (void *) buf, count, datatype, file_ptr_type,   \
                                    offset, stage, failure, request);                             \
    } else if (stage) {                                                                           \
        MPIR_Ext_gpudt_stage_free(stage);                                                         \
        independent_##name_(fd, buf, count, datatype, file_ptr_type, offset, request,             \
                            error_code);                                                          \
    } else if (failure != MPI_SUCCESS) {                                                          \
        *error_code = failure;                                                                    \
    } else {                                                                                      \
        ADIO_##name_##StridedColl(fd, buf, count, datatype, file_ptr_type, offset, request,       \
                                  error_code);                                                    \
    }                                                                                             \
}

NONBLOCKING(Iread, void, 1)
NONBLOCKING(Iwrite, const void, 0)
