/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* One-sided communication with GPU memory: the interface for MPICH's own files of ch3. Included by
 * mpidi_gpudt.h. Callers hold the lock of the progress engine.
 *
 * Operations go over ch3's messages. A buffer on a GPU, of either process, is packed into the
 * channel's memory and unpacked from it as a noncontiguous one is. Addresses are classified only in
 * the process that they belong to: the origin's when an operation is issued, and the window's when
 * the target handles it.
 *
 * A target that cannot access its window goes on with the protocol, so that no origin waits. The
 * error is kept in its window, and the window's next synchronization returns it, or MPI_Win_free. What
 * an origin then gets is zero, or, if the data is a message of its own, an error. */

#ifndef MPIDI_GPUDT_RMA_H_INCLUDED
#define MPIDI_GPUDT_RMA_H_INCLUDED

#include "gpudt.h"
#include "gpudt_host.h"
#include "mpidi_gpudt_window.h"

/* ---- buffers ---- */

/* Whether a buffer of this process is on a GPU, or an error prevents that from being known, which a
 * copy will report. At most one query of the driver. */
bool MPIDI_Gpudt_rma_ask(const void *buf, MPI_Aint count, MPI_Datatype datatype);

static inline bool MPIDI_Gpudt_rma_is_gpu(const void *buf, MPI_Aint count, MPI_Datatype datatype)
{
    return unlikely(MPIR_Gpudt_is_possible()) && MPIDI_Gpudt_rma_ask(buf, count, datatype);
}

/* The same for the buffer of an RMA operation's request; false for any other request. */
static inline bool MPIDI_Gpudt_request_is_gpu(const MPIR_Request * req)
{
    const MPIDI_Request *dev = &req->dev;

    return unlikely(MPIR_Gpudt_is_possible()) && !dev->drop_data &&
        (dev->target_win_handle != MPI_WIN_NULL || dev->source_win_handle != MPI_WIN_NULL) &&
        MPIDI_Gpudt_rma_ask(dev->user_buf, dev->user_count, dev->datatype);
}

/* Called when memory is exposed by a window, whose both ends are classified: the engine then knows
 * the addresses as GPU memory also when the program has freed it. */
void MPIDI_Gpudt_win_look_any(const void *base, MPI_Aint size);

static inline void MPIDI_Gpudt_win_look(const void *base, MPI_Aint size)
{
    if (unlikely(MPIR_Gpudt_is_possible()) && base && size > 0)
        MPIDI_Gpudt_win_look_any(base, size);
}

/* ---- errors ---- */

/* Keep an error for the next synchronization of a window; the first one counts. */
void MPIDI_Gpudt_win_fail(MPI_Win win, int mpi_errno);

/* Move an error, if there is one, to the window. */
static inline void MPIDI_Gpudt_win_keep(const MPIR_Win * win, int *mpi_errno_ptr)
{
    if (unlikely(*mpi_errno_ptr)) {
        MPIDI_Gpudt_win_fail(win->handle, *mpi_errno_ptr);
        *mpi_errno_ptr = MPI_SUCCESS;
    }
}

/* The result of a synchronization: its own error, or else the one that the window keeps. */
static inline int MPIDI_Gpudt_win_result(MPIR_Win * win, int mpi_errno)
{
    if (unlikely(win->gpudt_errno) && mpi_errno == MPI_SUCCESS) {
        mpi_errno = win->gpudt_errno;
        win->gpudt_errno = MPI_SUCCESS;
    }
    return mpi_errno;
}

/* To be called before a window is freed, when no operation can be under way: give the error that it
 * keeps to its error handler. Returns the error, or MPI_SUCCESS. */
int MPIDI_Gpudt_win_last(MPIR_Win * win);

/* ---- requests: streams of bytes to and from buffers ---- */

/* As MPIR_Typerep_pack and MPIR_Typerep_unpack, with a request's buffer. If an operation on a
 * window fails, the window keeps the error, zeros are packed, and all bytes count as moved. */
int MPIDI_Gpudt_rma_pack(const MPIR_Request * sreq, MPI_Aint first, void *out, MPI_Aint max_bytes,
                         MPI_Aint * actual);
int MPIDI_Gpudt_rma_unpack(const MPIR_Request * rreq, const void *in, MPI_Aint n, MPI_Aint first,
                           MPI_Aint * actual);

/* Pack the next part of a GPU buffer into the request's SRBuf, as MPIDI_CH3U_Request_load_send_iov
 * does if an iovec of the buffer would be too fine. This and the next function fail if there is no
 * memory for an SRBuf.
 *   iov    (OUT)  one element
 *   iov_n  (OUT)  1 */
int MPIDI_Gpudt_load_send(MPIR_Request * sreq, struct iovec *iov, int *iov_n);

/* Get an SRBuf for a receive into a GPU buffer, which MPIDI_CH3U_Request_load_recv_iov then uses
 * for all of the data. */
int MPIDI_Gpudt_load_recv(MPIR_Request * rreq);

/* The window of an operation's packet, in the origin. */
MPI_Win MPIDI_Gpudt_op_window(const MPIDI_CH3_Pkt_t * pkt);

/* ---- windows and results: the data of packets ---- */

void MPIDI_Gpudt_win_read_any(const MPIR_Win * win, void *out, const void *addr, MPI_Aint n);
void MPIDI_Gpudt_win_write_any(const MPIR_Win * win, void *addr, const void *in, MPI_Aint n);

/* Copy contiguous bytes from a window to host memory. On failure the window keeps the error and
 * the bytes are zero. */
static inline void MPIDI_Gpudt_win_read(const MPIR_Win * win, void *out, const void *addr,
                                        MPI_Aint n)
{
    if (likely(!MPIR_Gpudt_is_possible()))
        MPIR_Memcpy(out, addr, n);
    else
        MPIDI_Gpudt_win_read_any(win, out, addr, n);
}

/* Copy contiguous bytes from host memory to a window, or to the result of an operation on it. On
 * failure the window keeps the error. */
static inline void MPIDI_Gpudt_win_write(const MPIR_Win * win, void *addr, const void *in,
                                         MPI_Aint n)
{
    if (likely(!MPIR_Gpudt_is_possible()))
        MPIR_Memcpy(addr, in, n);
    else
        MPIDI_Gpudt_win_write_any(win, addr, in, n);
}

/* MPIR_Typerep_pack from a window to host memory, with errors as above. */
void MPIDI_Gpudt_win_pack(const MPIR_Win * win, const void *buf, MPI_Aint count,
                          MPI_Datatype datatype, MPI_Aint first, void *out, MPI_Aint max_bytes,
                          MPI_Aint * actual);

/* ---- operations that compute (ch3u_gpudt_accumulate.c) ----
 *
 * Each returns whether any of its buffers is on a GPU. If so the operation is done, or
 * *mpi_errno_ptr is its error. They are atomic as far as the caller is: it is the progress engine
 * of the window's owner, or holds the mutex of a shared window. */

/* An accumulate, or a part of one: do_accumulate_op.
 *   source, count, basic  (IN)  elements of a predefined type
 *   target, tcount, ttype (IN)  the target buffer of the whole operation
 *   first                 (IN)  position in its stream where the part begins */
bool MPIDI_Gpudt_accumulate(const void *source, MPI_Aint count, MPI_Datatype basic,
                            void *target, MPI_Aint tcount, MPI_Datatype ttype, MPI_Aint first,
                            MPI_Op op, int *mpi_errno_ptr);

/* MPI_Compare_and_swap.
 *   dest                     (IN)   address in the window
 *   compare, origin, result  (IN)   in packets, or the program's buffers */
bool MPIDI_Gpudt_cas(void *dest, const void *compare, const void *origin, void *result,
                     MPI_Datatype datatype, int *mpi_errno_ptr);

/* MPI_Fetch_and_op. */
bool MPIDI_Gpudt_fetch_and_op(void *dest, const void *origin, void *result, MPI_Datatype datatype,
                              MPI_Op op, int *mpi_errno_ptr);

#define MPIDI_Gpudt_takes_accumulate(...)                               \
    (unlikely(MPIR_Gpudt_is_possible()) && MPIDI_Gpudt_accumulate(__VA_ARGS__))
#define MPIDI_Gpudt_takes_cas(...)                                      \
    (unlikely(MPIR_Gpudt_is_possible()) && MPIDI_Gpudt_cas(__VA_ARGS__))
#define MPIDI_Gpudt_takes_fetch_and_op(...)                             \
    (unlikely(MPIR_Gpudt_is_possible()) && MPIDI_Gpudt_fetch_and_op(__VA_ARGS__))

#endif /* MPIDI_GPUDT_RMA_H_INCLUDED */
