/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Moves parts of messages between the user's buffer and the chunks that they are in. Must not know where
 * chunks come from. */

#include "mpidi_gpudt_msg.h"
#include "mpidi_pack_cut.h"

/* Move a part of a buffer in host memory. The CPU moves whole elements of the datatype only. */
static int part_move_host(struct MPIDI_Gpudt_part *part, bool is_pack)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Request *req = part->msg->req;
    const MPIDI_Request *dev = &req->dev;
    MPI_Aint actual = 0;

    if (is_pack)
        mpi_errno = MPIR_Typerep_pack_host(dev->user_buf, dev->user_count, dev->datatype,
                                           part->off, part->mem, part->len, &actual);
    else
        mpi_errno = MPIR_Typerep_unpack_host(part->mem, part->len, dev->user_buf, dev->user_count,
                                             dev->datatype, part->off, &actual);
    if (mpi_errno || actual == part->len)
        return mpi_errno;

    if (!is_pack)
        MPIDI_CH3U_Unpack_cut(req, part->off + actual, part->msg->total);
    else if (actual == 0)
        MPIDI_CH3U_Pack_cut(req, part->off, part->mem, part->len);
    else
        part->len = actual;
    return MPI_SUCCESS;
}

void MPIDI_Gpudt_part_move(struct MPIDI_Gpudt_part *part, bool is_pack)
{
    int mpi_errno;

    part->op = NULL;
    part->state = MPIDI_GPUDT_PART__MOVING;
    if (part->len == 0)
        return;
    if (part->msg->buffer)
        mpi_errno = MPIR_Gpudt_buffer_move(part->msg->buffer, part->off, part->len, part->mem,
                                           !is_pack, &part->op);
    else
        mpi_errno = part_move_host(part, is_pack);
    if (mpi_errno)
        MPIDI_Gpudt_msg_fail(part->msg, mpi_errno);
}

/* Whether a part's bytes are there. */
static bool part_is_moved(struct MPIDI_Gpudt_part *part)
{
    int mpi_errno, is_done = true;

    if (part->op) {
        mpi_errno = MPIR_Gpudt_test(part->op, &is_done);
        if (mpi_errno) {
            is_done = true;
            MPIDI_Gpudt_msg_fail(part->msg, mpi_errno);
        }
        if (is_done)
            part->op = NULL;
    }
    return is_done;
}

struct MPIDI_Gpudt_part *MPIDI_Gpudt_msg_moved(struct MPIDI_Gpudt_msg *msg)
{
    struct MPIDI_Gpudt_part *first = NULL;

    for (int i = 0; i < msg->nparts; i++) {
        struct MPIDI_Gpudt_part *part = &msg->part[i];
        if (part->state == MPIDI_GPUDT_PART__MOVING && (first == NULL || part->off < first->off))
            first = part;
    }
    return first && part_is_moved(first) ? first : NULL;
}

struct MPIDI_Gpudt_part *MPIDI_Gpudt_part_find(struct MPIDI_Gpudt_msg *msg)
{
    int i = 0;

    while (msg->part[i].state != MPIDI_GPUDT_PART__IDLE)
        i++;
    return &msg->part[i];
}

void MPIDI_Gpudt_part_unpack(struct MPIDI_Gpudt_part *part)
{
    if (part->msg->mpi_errno)
        part->len = 0;
    MPIDI_Gpudt_part_move(part, false);
}

void MPIDI_Gpudt_moved_clear(struct MPIDI_Gpudt_msg *msg)
{
    struct MPIDI_Gpudt_part *part;

    while ((part = MPIDI_Gpudt_msg_moved(msg)) != NULL)
        MPIDI_Gpudt_part_clear(part);
}
