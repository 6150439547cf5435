/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Persistent collectives between GPUs of a node. Each start does what a nonblocking call does
 * (ch3u_gpudt_icoll.c), or MPICH's algorithm, by the schedule of the persistent request.
 *
 * MPI lets the processes start the persistent collectives of a communicator in different orders, and in
 * different orders relative to other collectives: only the calls that make the requests are in the same
 * order in all, and the starts of each request. So a call has the tag of its schedule, which it got
 * when it was made, and decides by what its own starts before have shown; no start waits for another
 * call.
 *
 * A start is complete in a process before the next one begins there, and each process receives all that
 * the others send it in a start. So all starts can have one tag, unless messages remain of one in which
 * an exchange has failed: each later start then fails, too. */

#include "mpidimpl.h"
#include "mpidi_gpudt_icoll.h"

void MPIDI_Gpudt_pcoll_release(struct MPIDI_Gpudt_pcoll *p)
{
    p->nrefs--;
    if (p->nrefs > 0)
        return;
    MPIDI_Gpudt_icall_release(&p->copy);
    MPIDI_Gpudt_past_free(&p->past);
    MPL_free(p);
}

bool MPIDI_Gpudt_pcoll_make(const struct MPIDI_Gpudt_icall *call, MPIR_Request ** request,
                            int *mpi_errno_ptr)
{
    MPIR_Request *req = *request;
    struct MPIDI_Gpudt_pace *pace[MPIDI_GPUDT_NIFORMS];
    struct MPIDI_Gpudt_pcoll *p;

    if (req->u.persist_coll.sched_type != MPIR_SCHED_NORMAL ||
        !MPIDI_Gpudt_icall_forms(call, pace))
        return false;
    p = MPL_calloc(1, sizeof(*p), MPL_MEM_COMM);
    if (p == NULL) {
        *mpi_errno_ptr = MPI_SUCCESS;
        MPIR_ERR_SET1(*mpi_errno_ptr, MPI_ERR_NO_MEM, "**nomem", "**nomem %s", "collective");
        MPIR_Persist_coll_free_cb(req);
        MPIR_Request_free(req);
        *request = NULL;
        return true;
    }
    p->nrefs = 1;
    p->sched = req->u.persist_coll.sched;
    p->tag = p->sched->tag;
    p->past.is_of_one = true;
    for (int i = 0; i < MPIDI_GPUDT_NIFORMS; i++)
        p->has_form[i] = pace[i] != NULL;
    MPIDI_Gpudt_icall_keep(call, &p->copy);
    req->u.persist_coll.gpudt = p;
    return false;
}

/* The form that a start asks for first; MPIDI_GPUDT_NIFORMS: it does not ask. */
static int first_form(struct MPIDI_Gpudt_pcoll *p)
{
    int i = 0;

    while (i < MPIDI_GPUDT_NIFORMS && !(p->has_form[i] && MPIDI_Gpudt_coll_asks(&p->pace[i])))
        i++;
    return i;
}

bool MPIDI_Gpudt_pcoll_start(MPIR_Request * req, int *mpi_errno_ptr)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_Gpudt_pcoll *p = req->u.persist_coll.gpudt;
    MPIR_Request *real = NULL;
    int form, errclass;

    if (p == NULL)
        return false;
    errclass = p->error_class;
    if (errclass) {
        MPIR_ERR_SET(mpi_errno, errclass, "**gpudt_pcoll");
        /* Others may not have seen the error, and go on */
        MPIDI_Gpudt_icall_refuse(&p->copy.call, p->tag, mpi_errno);
        goto fn_fail;
    }
    form = first_form(p);
    if (likely(form == MPIDI_GPUDT_NIFORMS))
        return false;
    p->is_scheduled = false;
    mpi_errno = MPIDI_Gpudt_icoll_restart(p, (enum MPIDI_Gpudt_iform_e) form, &real);
    if (mpi_errno) {
        p->error_class = MPIR_ERR_GET_CLASS(mpi_errno);
        goto fn_fail;
    }
    req->u.persist_coll.real_request = real;
    req->status.MPI_ERROR = MPI_SUCCESS;
    req->cc_ptr = &real->cc;

  fn_exit:
    *mpi_errno_ptr = mpi_errno;
    return true;
  fn_fail:
    /* As MPIR_Persist_coll_start does */
    req->status.MPI_ERROR = mpi_errno;
    goto fn_exit;
}

int MPIDI_Gpudt_pcoll_plain(struct MPIDI_Gpudt_pcoll *p, MPIR_Request ** request)
{
    int mpi_errno;

    *request = NULL;
    if (p->sched == NULL)
        return MPIDI_Gpudt_icall_plain(&p->copy.call, p->tag, request);
    mpi_errno = MPIR_Sched_reset(p->sched);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = MPIR_Sched_start(p->sched, p->copy.call.comm, request);
    p->is_scheduled = mpi_errno == MPI_SUCCESS;
    return mpi_errno;
}

/* Whether the request's schedule is running on behalf of the start in flight. */
static bool is_scheduled(const struct MPIDI_Gpudt_pcoll *p)
{
    return p->is_scheduled && p->o->plain && !MPIR_Request_is_complete(p->o->plain);
}

void MPIDI_Gpudt_pcoll_free(MPIR_Request * req)
{
    struct MPIDI_Gpudt_pcoll *p = req->u.persist_coll.gpudt;

    if (p == NULL)
        return;
    if (p->o && !is_scheduled(p)) {
        /* The start goes on without the schedule, which can be freed at once */
        MPIR_Request_free(req->u.persist_coll.real_request);
        req->u.persist_coll.real_request = NULL;
    }
    p->sched = NULL;
    req->u.persist_coll.gpudt = NULL;
    MPIDI_Gpudt_pcoll_release(p);
}
