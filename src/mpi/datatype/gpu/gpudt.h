/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The interface of the GPU datatype engine to the rest of the library: moves data between buffers
 * of which at least one is GPU memory. The same with and without CUDA, so it must not know cuda.h.
 * Knows no requests or messages. */

#ifndef GPUDT_H_INCLUDED
#define GPUDT_H_INCLUDED

#include "gpudt_error.h"

#if defined(MPIR_GPUDT_HAVE_CUDA) && defined(__has_include)
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define MPIR_GPUDT_HAVE_SINGLE_THREADED
#endif
#endif

/* What is known of the CUDA driver. The state only moves forward; see driver/gpudt_driver.c. */
enum MPIR_Gpudt_driver_e {
    MPIR_GPUDT_DRIVER__UNSEEN,  /* libcuda is not loaded in this process yet */
    MPIR_GPUDT_DRIVER__HOPELESS,        /* nor will it find a GPU: no longer checked */
    MPIR_GPUDT_DRIVER__LOADED,  /* its functions are known; CUDA may be initialised or not */
    MPIR_GPUDT_DRIVER__ABSENT   /* final: it cannot be loaded, or has no GPU */
};

#ifdef MPIR_GPUDT_HAVE_CUDA
extern MPL_atomic_int_t MPIR_Gpudt_driver_state;
#endif

/* Whether the process can have GPU memory, as far as can be told without a call: at most two loads.
 * If not, none of the calls below has anything to do.
 *
 * The driver creates threads along with a context, so a process that never had a second thread has
 * no device memory. A forked child counts as single-threaded again, and CUDA is unusable there. */
static inline bool MPIR_Gpudt_is_possible(void)
{
#ifdef MPIR_GPUDT_HAVE_CUDA
    int state;

#ifdef MPIR_GPUDT_HAVE_SINGLE_THREADED
    if (likely(__libc_single_threaded))
        return false;
#endif
    state = MPL_atomic_relaxed_load_int(&MPIR_Gpudt_driver_state);
    return state == MPIR_GPUDT_DRIVER__UNSEEN || state == MPIR_GPUDT_DRIVER__LOADED;
#else
    return false;
#endif
}

/* Whether CUDA is enabled and libcuda loaded. */
bool MPIR_Gpudt_is_loaded(void);

/* Whether the driver takes calls of this thread: not in a host function of a stream
 * (cudaLaunchHostFunc). Costs a driver call until it has taken one. */
bool MPIR_Gpudt_takes_calls(void);

/* Whether any buffer of the process may be on a GPU. A program on the host only pays for
 * MPIR_Gpudt_is_possible. */
static inline bool MPIR_Gpudt_is_present(void)
{
    return unlikely(MPIR_Gpudt_is_possible()) && MPIR_Gpudt_is_loaded();
}

/* Whether any buffer of the process is or may ever be on a GPU, as far as the library finds out by itself: not
 * without a driver on a node without a GPU. */
bool MPIR_Gpudt_may_become_present(void);

/* An operation in flight. NULL stands for a complete operation. */
typedef struct MPIR_Gpudt_op MPIR_Gpudt_op;

/* What the calls below have in common
 *
 *   Memory. Each buffer may be memory of any GPU of the process, managed, pinned or pageable host
 *   memory, at any alignment. The blocks of one datatype may even be in different kinds of memory.
 *   If all of it is host memory, the call does nothing, *handled is false and the caller uses the
 *   CPU. While no GPU memory can exist in the process, that answer costs a few loads.
 *
 *   Byte ranges. Positions are bytes of the packed stream: the type map's data in type-map order.
 *   Exactly the requested bytes are moved, even if an end is inside a primitive. Gaps of the
 *   destination are not written.
 *
 *   Completion. With op == NULL the data is in place when the call returns. Otherwise *op is the
 *   operation, or NULL if it is complete already. The caller passes it to MPIR_Gpudt_wait, _test
 *   or _free. Until it is complete the buffers must stay valid; the datatype may be freed. Kernels
 *   of the application that produce the input must be complete before the call.
 *
 *   Errors. Failures of the driver, with its own text; out of memory; a datatype that the engine
 *   cannot represent (sizes beyond 64 bits). On error *handled is true, *op NULL and *actual 0.
 *   Nothing is in flight; part of the destination may have been written.
 *
 *   Thread safe. The caller's CUDA context, device and stream capture are preserved. */

/* Pack a byte range of a buffer.
 *   inbuf, incount, datatype (IN)   the data
 *   inoffset                 (IN)   first position to pack, 0 or more
 *   outbuf                   (IN)   destination of that byte; not overlapping the data
 *   max_bytes                (IN)   maximum number of bytes to pack
 *   actual                   (OUT)  bytes packed: max_bytes, or all bytes from inoffset if fewer
 *   op                       (OUT)  see above; may be NULL
 *   handled                  (OUT)  false: not done, both sides are host memory */
int MPIR_Gpudt_ipack(const void *inbuf, MPI_Aint incount, MPI_Datatype datatype,
                     MPI_Aint inoffset, void *outbuf, MPI_Aint max_bytes, MPI_Aint * actual,
                     MPIR_Gpudt_op ** op, bool * handled);

/* Unpack into a byte range of a buffer.
 *   inbuf, insize              (IN)   packed data, bytes
 *   outbuf, outcount, datatype (IN)   destination; not overlapping inbuf
 *   outoffset                  (IN)   position of the first byte, 0 or more
 *   actual                     (OUT)  bytes unpacked: insize, or all bytes from outoffset if fewer
 *   op, handled                (OUT)  as for MPIR_Gpudt_ipack */
int MPIR_Gpudt_iunpack(const void *inbuf, MPI_Aint insize, void *outbuf, MPI_Aint outcount,
                       MPI_Datatype datatype, MPI_Aint outoffset, MPI_Aint * actual,
                       MPIR_Gpudt_op ** op, bool * handled);

/* Copy from datatype to datatype: the first nbytes of one stream to those of the other.
 *   sendbuf, sendcount, sendtype (IN)   source
 *   recvbuf, recvcount, recvtype (IN)   destination, not overlapping the source
 *   nbytes                       (IN)   at most the size of either side
 *   op, handled                  (OUT)  as for MPIR_Gpudt_ipack */
int MPIR_Gpudt_ilocalcopy(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                          void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                          MPI_Aint nbytes, MPIR_Gpudt_op ** op, bool * handled);

/* Copy contiguous bytes.
 *   outbuf, inbuf, nbytes (IN)   not overlapping
 *   op, handled           (OUT)  as for MPIR_Gpudt_ipack */
int MPIR_Gpudt_icopy(void *outbuf, const void *inbuf, MPI_Aint nbytes, MPIR_Gpudt_op ** op,
                     bool * handled);

/* MPI_Pack_external: pack a whole buffer in the external32 format.
 *   inbuf, incount, datatype (IN)   the data
 *   outbuf                   (IN)   destination; not overlapping the data
 *   actual                   (OUT)  bytes packed
 *   handled                  (OUT)  false: not done, both sides are host memory. Data at absolute
 *                                   addresses may be handled although it is host memory */
int MPIR_Gpudt_pack_external(const void *inbuf, MPI_Aint incount, MPI_Datatype datatype,
                             void *outbuf, MPI_Aint * actual, bool * handled);

/* MPI_Unpack_external: the reverse.
 *   inbuf                      (IN)   data in the external32 format, of the whole buffer
 *   outbuf, outcount, datatype (IN)   destination; not overlapping inbuf
 *   actual                     (OUT)  bytes of inbuf read
 *   handled                    (OUT)  as for MPIR_Gpudt_pack_external */
int MPIR_Gpudt_unpack_external(const void *inbuf, void *outbuf, MPI_Aint outcount,
                               MPI_Datatype datatype, MPI_Aint * actual, bool * handled);

/* A buffer of the program in GPU memory, described once for any number of moves. The description
 * has the kind of memory, and holds a reference to the state of the datatype. */
typedef struct MPIR_Gpudt_buffer MPIR_Gpudt_buffer;

/* Describe a buffer. Costs two driver queries if the buffer is on a GPU, at most one if not, and
 * none while the process has no GPU; more if its blocks are at absolute addresses.
 *   buf, count, datatype (IN)   the buffer; the datatype may be freed afterwards
 *   buffer               (OUT)  NULL on failure, or if the whole buffer is host memory. Freed by
 *                               MPIR_Gpudt_buffer_free */
int MPIR_Gpudt_buffer_make(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                           MPIR_Gpudt_buffer ** buffer);

/* Free a description. Operations started from it continue.
 *   buffer  (IN)  may be NULL */
void MPIR_Gpudt_buffer_free(MPIR_Gpudt_buffer * buffer);

/* An address of the buffer in GPU memory; NULL if its blocks are at absolute addresses. */
const void *MPIR_Gpudt_buffer_addr(const MPIR_Gpudt_buffer * buffer);

/* Check that the memory of a buffer still exists: an error if the program has freed it since it was
 * described, or has destroyed its context. Costs one driver query. */
int MPIR_Gpudt_buffer_check(const MPIR_Gpudt_buffer * buffer);

/* Start to move bytes [first, first + n) of the stream between a buffer and packed memory.
 *   first, n  (IN)   within the stream, n greater than 0
 *   packed    (IN)   address of byte first in packed memory; any memory, not overlapping the buffer
 *   unpack    (IN)   true: from packed memory to the buffer
 *   op        (OUT)  as for MPIR_Gpudt_ipack */
int MPIR_Gpudt_buffer_move(MPIR_Gpudt_buffer * buffer, MPI_Aint first, MPI_Aint n, void *packed,
                           bool unpack, MPIR_Gpudt_op ** op);

/* Let an operation make progress without blocking on the GPU. If pageable host memory takes part,
 * this includes copies by the CPU.
 *   op    (IN)   not NULL; freed if *done
 *   done  (OUT)  whether the operation is complete
 * Returns the operation's error; a failed operation is complete. */
int MPIR_Gpudt_test(MPIR_Gpudt_op * op, int *done);

/* Block until an operation is complete, and free it.
 *   op  (IN)  freed; NULL is complete
 * Returns the operation's error. */
int MPIR_Gpudt_wait(MPIR_Gpudt_op * op);

/* Launch an operation in flight now, if it waits for others. */
void MPIR_Gpudt_urge(MPIR_Gpudt_op * op);

/* As MPIR_Gpudt_test, by a caller that waits for the operation but has other things to do if that takes
 * long: urges it, and spins for some ten microseconds. */
int MPIR_Gpudt_test_urgent(MPIR_Gpudt_op * op, int *done);

/* Cancel an operation: wait for its work that is in flight on GPUs, start nothing more, and free
 * it. Part of the destination may have been written.
 *   op  (IN)  freed; may be NULL */
void MPIR_Gpudt_free(MPIR_Gpudt_op * op);

/* Called when a datatype has been committed. If a GPU is in use, prepares the slow parts of the
 * first use.
 *   datatype  (IN)  not a predefined type without gaps
 * Never fails: the first operation that needs the datatype reports the error. */
void MPIR_Gpudt_commit_hook(MPI_Datatype datatype);

/* Called before a datatype object is freed. Drops what the engine keeps with it.
 *   dtp  (IN)  no new operation may use it, operations in flight continue */
void MPIR_Gpudt_type_free(MPIR_Datatype * dtp);

/* Register the engine's performance variables; part of the initialization of MPI_T. */
void MPIR_Gpudt_pvar_init(void);

#endif /* GPUDT_H_INCLUDED */
