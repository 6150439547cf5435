/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Nonblocking collectives between GPUs of a node. A call returns a request at once; the hook of the
 * progress engine advances its operation, which does what a blocking call does (ch3u_gpudt_coll.c):
 *
 *     ASKING -> TELLING -> WAITING -> MAPPING -> RUNNING -> ENDING -> DONE
 *        |                    |                                |
 *        +--------------------+--------------------------------+-----> PLAIN -> DONE
 *
 * PLAIN is MPICH's algorithm, of which each call reserves the tag when it is made. All messages of
 * an operation have that tag; each process sends and receives them in the same order.
 *
 * What a communicator knows, by which its processes decide, must be the same in all of them when
 * they decide about a call, though calls in flight end at other times in each. The calls of a
 * communicator are therefore in a *line*, in their order: the first one decides and leaves it when
 * it has ended or becomes PLAIN; others tell meanwhile. Whether a call asks depends on its pace:
 * that is found out when no call before it can change it any more. Blocking calls do the same,
 * waiting. Each process of the communicator has made the calls of the line, or is going to,
 * whatever else it waits for; none of them waits for a call behind it.
 *
 * That all know the same ends with the first exchange that fails, as when a process has died: it
 * may have succeeded in others, which then decide by more. From then on calls of the
 * communicator may end with an error in some processes, and others may try what these do not.
 * None of them waits for ever for a message: one whose exchange has failed sends what the others
 * may be waiting for (ch3u_gpudt_refuse.c).
 *
 * A start of a persistent call is in no line, since the processes may start such calls in
 * different orders, also among others: what it decides by is known from the starts of that call
 * alone. */

#include "mpidimpl.h"
#include "mpidi_gpudt_icoll.h"
#include "mpidi_gpudt_msg.h"

static struct MPIDI_Gpudt_icoll *icolls = NULL; /* in flight */
static struct MPIDI_Gpudt_icoll *ended = NULL;  /* whose references are still to be released */

/* ---- an operation ---- */

static const struct MPIDI_Gpudt_iform *form_of(const struct MPIDI_Gpudt_icoll *o)
{
    return &MPIDI_Gpudt_iforms[o->form];
}

/* Nothing of the operation is in flight any more but its request. */
static void finish(struct MPIDI_Gpudt_icoll *o, int mpi_errno)
{
    MPIDI_Gpudt_iline_leave(o);
    form_of(o)->release(o);
    o->state = MPIDI_GPUDT_ISTATE__DONE;
    if (mpi_errno)
        o->req->status.MPI_ERROR = mpi_errno;
}

/* Messages of later starts could be taken for those of a failed one. */
static void error_keep(struct MPIDI_Gpudt_icoll *o, int mpi_errno)
{
    if (o->pcoll)
        o->pcoll->error_class = MPIR_ERR_GET_CLASS(mpi_errno);
}

/* End an operation that this process cannot go on with, though the others may. */
static void fail(struct MPIDI_Gpudt_icoll *o, int mpi_errno)
{
    error_keep(o, mpi_errno);
    MPIDI_Gpudt_icall_refuse(o->call, o->tag, mpi_errno);
    finish(o, mpi_errno);
}

/* Let MPICH's algorithm do what is left. */
static void plain_start(struct MPIDI_Gpudt_icoll *o, int (*start) (struct MPIDI_Gpudt_icoll *))
{
    int mpi_errno = start(o);

    MPIDI_Gpudt_iline_leave(o);
    form_of(o)->release(o);
    if (mpi_errno)
        fail(o, mpi_errno);
    else
        o->state = MPIDI_GPUDT_ISTATE__PLAIN;
}

/* Take the next form that is possible, or else MPICH's algorithm. */
static void form_next(struct MPIDI_Gpudt_icoll *o)
{
    form_of(o)->release(o);
    o->pace[o->form] = NULL;
    for (int i = o->form + 1; i < MPIDI_GPUDT_NIFORMS; i++) {
        if (o->pace[i]) {
            o->form = (enum MPIDI_Gpudt_iform_e) i;
            o->state = MPIDI_GPUDT_ISTATE__ASKING;
            return;
        }
    }
    plain_start(o, MPIDI_Gpudt_icoll_whole);
}

static void tell(struct MPIDI_Gpudt_icoll *o)
{
    form_of(o)->tell(o);
    o->state = MPIDI_GPUDT_ISTATE__TELLING;
}

static void ask(struct MPIDI_Gpudt_icoll *o)
{
    if (MPIDI_Gpudt_coll_asks(o->pace[o->form]))
        tell(o);
    else
        form_next(o);
}

/* In a host function of a stream it is put off. */
static void start(struct MPIDI_Gpudt_icoll *o)
{
    if (unlikely(!MPIR_Gpudt_takes_calls())) {
        o->state = MPIDI_GPUDT_ISTATE__STARTING;
        return;
    }
    o->own_end = form_of(o)->start(o);
    o->state = MPIDI_GPUDT_ISTATE__RUNNING;
}

/* All have told; this is the first call in the line. */
static void decide(struct MPIDI_Gpudt_icoll *o)
{
    const bool is_able = form_of(o)->judge(o);

    o->pace[o->form] = NULL;
    if (!is_able) {
        form_next(o);
    } else {
        for (int i = 0; i < MPIDI_GPUDT_NIFORMS; i++)
            o->pace[i] = NULL;
        if (form_of(o)->map(o))
            o->state = MPIDI_GPUDT_ISTATE__MAPPING;
        else
            start(o);
    }
}

/* Test what is on the GPU. Returns whether nothing is any more. */
static bool ops_test(struct MPIDI_Gpudt_icoll *o)
{
    bool is_busy = false;
    int mpi_errno, is_done;

    for (int i = 0; i < o->comm->local_size; i++) {
        if (o->op[i] == NULL)
            continue;
        mpi_errno = MPIR_Gpudt_test(o->op[i], &is_done);
        if (mpi_errno && o->own_end != MPIDI_GPUDT_END__FAILED) {
            o->own_end = MPIDI_GPUDT_END__FAILED;
            o->own_errno = mpi_errno;
        }
        if (mpi_errno || is_done)
            o->op[i] = NULL;
        else
            is_busy = true;
    }
    return !is_busy;
}

/* All have told how they have ended. */
static void ends_judge(struct MPIDI_Gpudt_icoll *o)
{
    int mpi_errno = MPIDI_Gpudt_coll_ends_judge(o->comm, o->ends, o->own_errno);

    if (mpi_errno || MPIDI_Gpudt_coll_ends_are_done(o->comm, o->ends))
        finish(o, mpi_errno);
    else
        plain_start(o, form_of(o)->rest);
}

/* What follows an exchange. It may have failed in this process and succeeded in others: as when
 * one has died that had told some of them. */
static void exchanged(struct MPIDI_Gpudt_icoll *o)
{
    if (o->x.mpi_errno && o->state == MPIDI_GPUDT_ISTATE__MAPPING) {
        /* The others may wait for how it ends */
        o->own_end = MPIDI_GPUDT_END__FAILED;
        o->own_errno = o->x.mpi_errno;
        error_keep(o, o->own_errno);
        o->state = MPIDI_GPUDT_ISTATE__RUNNING;
    } else if (o->x.mpi_errno) {
        fail(o, o->own_errno ? o->own_errno : o->x.mpi_errno);
    } else if (o->state == MPIDI_GPUDT_ISTATE__TELLING) {
        o->state = MPIDI_GPUDT_ISTATE__WAITING;
    } else if (o->state == MPIDI_GPUDT_ISTATE__MAPPING) {
        start(o);
    } else {
        ends_judge(o);
    }
}

/* MPICH's algorithm. */
static void plain_test(struct MPIDI_Gpudt_icoll *o)
{
    int mpi_errno = MPI_SUCCESS;

    if (o->plain && !MPIR_Request_is_complete(o->plain))
        return;
    if (o->plain) {
        mpi_errno = o->plain->status.MPI_ERROR;
        MPIR_Request_free(o->plain);
        o->plain = NULL;
    }
    finish(o, mpi_errno);
}

/* Do one step of an operation, if it need not wait. */
static void step(struct MPIDI_Gpudt_icoll *o)
{
    switch (o->state) {
        case MPIDI_GPUDT_ISTATE__ASKING:
            if (MPIDI_Gpudt_iline_can_ask(o))
                ask(o);
            break;
        case MPIDI_GPUDT_ISTATE__TELLING:
        case MPIDI_GPUDT_ISTATE__MAPPING:
        case MPIDI_GPUDT_ISTATE__ENDING:
            if (MPIDI_Gpudt_exchange_test(&o->x))
                exchanged(o);
            break;
        case MPIDI_GPUDT_ISTATE__WAITING:
            if (MPIDI_Gpudt_iline_is_first(o))
                decide(o);
            break;
        case MPIDI_GPUDT_ISTATE__STARTING:
            start(o);
            break;
        case MPIDI_GPUDT_ISTATE__RUNNING:
            if (ops_test(o)) {
                MPIDI_Gpudt_exchange_all(&o->x, o->comm, o->tag, &o->own_end, sizeof(o->own_end),
                                         o->ends);
                o->state = MPIDI_GPUDT_ISTATE__ENDING;
            }
            break;
        default:
            plain_test(o);
    }
}

/* Have icolls_settle free an operation. */
static void icoll_free(struct MPIDI_Gpudt_icoll *o)
{
    DL_DELETE(icolls, o);
    if (o->pcoll)
        o->pcoll->o = NULL;
    DL_APPEND(ended, o);
}

/* For MPIDI_Gpudt_hook_also. */
static void icolls_settle(void)
{
    struct MPIDI_Gpudt_icoll *o;

    while ((o = ended)) {
        DL_DELETE(ended, o);
        if (o->pcoll)
            MPIDI_Gpudt_pcoll_release(o->pcoll);
        else
            MPIDI_Gpudt_icall_release(&o->copy);
        MPIDI_Gpudt_icoll_mem_put(o);
    }
}

/* Advance an operation as far as is possible without waiting. Returns whether it has ended. */
static bool advance(struct MPIDI_Gpudt_icoll *o)
{
    enum MPIDI_Gpudt_istate_e before;
    MPIR_Request *req = o->req;

    do {
        before = o->state;
        step(o);
    } while (o->state != before && o->state != MPIDI_GPUDT_ISTATE__DONE);
    if (o->state != MPIDI_GPUDT_ISTATE__DONE)
        return false;
    icoll_free(o);
    MPIDI_Gpudt_request_complete(req);
    return true;
}

/* For MPIDI_Gpudt_hook_also. */
static bool icolls_advance(bool * has_ended)
{
    struct MPIDI_Gpudt_icoll *o, *next;

    DL_FOREACH_SAFE(icolls, o, next) {
        if (advance(o))
            *has_ended = true;
    }
    return icolls != NULL;
}

/* For MPIDI_Gpudt_hook_also: the program has never completed these. Messages cannot be cancelled
 * any more, nor do they arrive. */
static void icolls_end(void)
{
    struct MPIDI_Gpudt_icoll *o, *next;

    DL_FOREACH_SAFE(icolls, o, next) {
        for (int i = 0; i < o->comm->local_size; i++)
            MPIR_Gpudt_free(o->op[i]);
        MPIDI_Gpudt_iline_leave(o);
        form_of(o)->release(o);
        icoll_free(o);
    }
    icolls_settle();
}

/* ---- calls ---- */

/* Make an operation: a nonblocking call, the last one in the line, or a start of a persistent one.
 * If that fails, the others do not wait for this process.
 *   pcoll  (IN)  NULL: a nonblocking call */
static int icoll_make(const struct MPIDI_Gpudt_icall *call, struct MPIDI_Gpudt_pcoll *pcoll,
                      enum MPIDI_Gpudt_iform_e form,
                      struct MPIDI_Gpudt_pace *const pace[MPIDI_GPUDT_NIFORMS],
                      struct MPIDI_Gpudt_icoll **o_ptr)
{
    int mpi_errno = MPI_SUCCESS, tag;
    struct MPIDI_Gpudt_icoll *o = NULL;

    if (pcoll)
        tag = pcoll->tag;
    else
        mpi_errno = MPIR_Sched_next_tag(call->comm, &tag);
    if (mpi_errno)
        return mpi_errno;
    mpi_errno = MPIDI_Gpudt_hook_make();
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_Gpudt_hook_also(icolls_advance, icolls_settle, icolls_end);
    o = MPIDI_Gpudt_icoll_mem_get();
    MPIR_ERR_CHKANDJUMP1(!o, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s", "collective");
    o->req = MPIR_Request_create(MPIR_REQUEST_KIND__COLL);
    MPIR_ERR_CHKANDJUMP1(!o->req, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s", "request");
    /* For the user and for the operation */
    MPIR_Request_add_ref(o->req);
    MPIR_Comm_add_ref(call->comm);
    o->req->comm = o->comm = call->comm;
    o->tag = tag;
    o->form = form;
    for (int i = form; i < MPIDI_GPUDT_NIFORMS; i++)
        o->pace[i] = pace[i];
    DL_APPEND(icolls, o);
    o->pcoll = pcoll;
    if (pcoll) {
        o->call = call;
        o->past = &pcoll->past;
    } else {
        MPIDI_Gpudt_icall_keep(call, &o->copy);
        o->call = &o->copy.call;
        o->past = &o->comm->dev.gpudt_coll.past;
        MPIDI_Gpudt_iline_append(o);
    }
    MPIDI_Gpudt_wake();
    *o_ptr = o;

  fn_exit:
    return mpi_errno;
  fn_fail:
    if (o)
        MPIDI_Gpudt_icoll_mem_put(o);
    MPIDI_Gpudt_icall_refuse(call, tag, mpi_errno);
    goto fn_exit;
}

bool MPIDI_Gpudt_icoll_start(const struct MPIDI_Gpudt_icall *call,
                             struct MPIDI_Gpudt_pace *const pace[MPIDI_GPUDT_NIFORMS],
                             MPIR_Request ** request, int *mpi_errno_ptr)
{
    int mpi_errno = MPIDI_Gpudt_icall_tag_skip(call->comm);
    const bool is_later = MPIDI_Gpudt_iline_has_to(call->comm, pace);
    struct MPIDI_Gpudt_icoll *o;
    int i = 0;

    MPIR_ERR_CHECK(mpi_errno);
    while (i < MPIDI_GPUDT_NIFORMS &&
           !(pace[i] && (is_later || MPIDI_Gpudt_coll_asks(pace[i]))))
        i++;
    if (likely(i == MPIDI_GPUDT_NIFORMS))
        return false;
    mpi_errno = icoll_make(call, NULL, (enum MPIDI_Gpudt_iform_e) i, pace, &o);
    MPIR_ERR_CHECK(mpi_errno);
    *request = o->req;
    if (!is_later)
        tell(o);
    (void) advance(o);
    icolls_settle();

  fn_exit:
    *mpi_errno_ptr = mpi_errno;
    return true;
  fn_fail:
    goto fn_exit;
}

int MPIDI_Gpudt_icoll_restart(struct MPIDI_Gpudt_pcoll *p, enum MPIDI_Gpudt_iform_e form,
                              MPIR_Request ** request)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_Gpudt_pace *pace[MPIDI_GPUDT_NIFORMS];
    struct MPIDI_Gpudt_icoll *o;

    for (int i = 0; i < MPIDI_GPUDT_NIFORMS; i++)
        pace[i] = p->has_form[i] ? &p->pace[i] : NULL;
    mpi_errno = icoll_make(&p->copy.call, p, form, pace, &o);
    MPIR_ERR_CHECK(mpi_errno);
    p->o = o;
    p->nrefs++;
    *request = o->req;
    tell(o);
    (void) advance(o);
    icolls_settle();

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
