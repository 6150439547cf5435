/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The whole interface of the GPU datatype engine to the rest of the library: moves data between
 * buffers of which at least one is GPU memory. Same with and without CUDA, so it must not know
 * cuda.h; nothing here knows requests or messages. */

#ifndef GPUDT_H_INCLUDED
#define GPUDT_H_INCLUDED

#include "gpudt_error.h"

/* Whether a buffer of the process may be on a GPU; costs a few loads. */
bool MPIR_Gpudt_is_present(void);

/* An operation in flight. NULL stands for one that is complete. */
typedef struct MPIR_Gpudt_op MPIR_Gpudt_op;

/* What the calls below have in common
 *
 *   Memory. Each buffer may be memory of any GPU of the process, managed, pinned or pageable host
 *   memory, at any alignment; the blocks of one datatype may even lie in different kinds of memory.
 *   If all of it is host memory, the call does nothing, *handled is false and the caller uses the
 *   CPU. While no GPU memory can exist in the process, that answer costs a few loads.
 *
 *   Byte ranges. Positions are bytes of the packed stream, which is the type map in type-map order.
 *   Exactly the bytes asked for are moved, also when an end lies inside a primitive. Gaps of the
 *   destination are not written.
 *
 *   Completion. With op == NULL the data is in place when the call returns. Otherwise *op is the
 *   operation, to be given to MPIR_Gpudt_wait, _test or _free once; NULL if it is complete already.
 *   Until then the buffers must stay; the datatype may be freed. Kernels of the application that
 *   produce the input must be done before the call.
 *
 *   Errors. The driver's failures, with its own words; out of memory; a datatype the engine cannot
 *   take (sizes beyond 64 bits). *handled is then true, *op NULL and *actual 0; nothing is in
 *   flight, part of the destination may have been written.
 *
 *   Thread safe. The caller's CUDA context, device and stream capture are left as found. */

/* Pack a byte range of a buffer.
 *   inbuf, incount, datatype (IN)   the data
 *   inoffset                 (IN)   first position to pack, 0 or more
 *   outbuf                   (IN)   where that byte goes; not overlapping the data
 *   max_bytes                (IN)   most bytes to pack
 *   actual                   (OUT)  bytes packed: the smaller of max_bytes and what there is
 *   op                       (OUT)  see above; may be NULL
 *   handled                  (OUT)  false: not done, both sides are host memory */
int MPIR_Gpudt_ipack(const void *inbuf, MPI_Aint incount, MPI_Datatype datatype,
                     MPI_Aint inoffset, void *outbuf, MPI_Aint max_bytes, MPI_Aint * actual,
                     MPIR_Gpudt_op ** op, bool * handled);

/* Unpack into a byte range of a buffer.
 *   inbuf, insize              (IN)   packed data, bytes
 *   outbuf, outcount, datatype (IN)   where it goes; not overlapping inbuf
 *   outoffset                  (IN)   position of the first byte, 0 or more
 *   actual                     (OUT)  bytes unpacked: the smaller of insize and what has room
 *   op, handled                (OUT)  as for MPIR_Gpudt_ipack */
int MPIR_Gpudt_iunpack(const void *inbuf, MPI_Aint insize, void *outbuf, MPI_Aint outcount,
                       MPI_Datatype datatype, MPI_Aint outoffset, MPI_Aint * actual,
                       MPIR_Gpudt_op ** op, bool * handled);

/* Copy from datatype to datatype: the first nbytes of the one stream become those of the other.
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

/* MPI_Pack_external: pack all of a buffer in the external32 format.
 *   inbuf, incount, datatype (IN)   the data
 *   outbuf                   (IN)   where it goes; not overlapping the data
 *   actual                   (OUT)  bytes packed
 *   handled                  (OUT)  false: not done, both sides are host memory. Data at absolute
 *                                   addresses may be handled although it is host memory */
int MPIR_Gpudt_pack_external(const void *inbuf, MPI_Aint incount, MPI_Datatype datatype,
                             void *outbuf, MPI_Aint * actual, bool * handled);

/* MPI_Unpack_external: the reverse.
 *   inbuf                      (IN)   data in the external32 format, of all of the buffer
 *   outbuf, outcount, datatype (IN)   where it goes; not overlapping inbuf
 *   actual                     (OUT)  bytes of inbuf read
 *   handled                    (OUT)  as for MPIR_Gpudt_pack_external */
int MPIR_Gpudt_unpack_external(const void *inbuf, void *outbuf, MPI_Aint outcount,
                               MPI_Datatype datatype, MPI_Aint * actual, bool * handled);

/* A buffer of the program in GPU memory, described once for any number of moves of its parts: what
 * memory it is in and the state of its datatype, to which it holds a reference. */
typedef struct MPIR_Gpudt_buffer MPIR_Gpudt_buffer;

/* Describe a buffer. Costs two queries of the driver if it is on a GPU, at most one if not, and none
 * while the process has no GPU; more if its blocks are at absolute addresses.
 *   buf, count, datatype (IN)   the buffer; the datatype may be freed afterwards
 *   buffer               (OUT)  NULL on failure, or if all of the buffer is host memory; else for
 *                               MPIR_Gpudt_buffer_free */
int MPIR_Gpudt_buffer_make(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                           MPIR_Gpudt_buffer ** buffer);

/* Free a description; operations that were started from it go on.
 *   buffer  (IN)  may be NULL */
void MPIR_Gpudt_buffer_free(MPIR_Gpudt_buffer * buffer);

/* An address of the buffer in GPU memory; NULL if its blocks are at absolute addresses. */
const void *MPIR_Gpudt_buffer_addr(const MPIR_Gpudt_buffer * buffer);

/* Start to move bytes [first, first + n) of the stream between a buffer and packed memory.
 *   first, n  (IN)   within the stream, n more than 0
 *   packed    (IN)   where byte first is or goes; any memory, not overlapping the buffer
 *   unpack    (IN)   true: from packed memory to the buffer
 *   op        (OUT)  as for MPIR_Gpudt_ipack */
int MPIR_Gpudt_buffer_move(MPIR_Gpudt_buffer * buffer, MPI_Aint first, MPI_Aint n, void *packed,
                           bool unpack, MPIR_Gpudt_op ** op);

/* Let an operation make progress without blocking on the GPU. The last part of an operation with
 * pageable host memory is a copy by the CPU, done in here.
 *   op    (IN)   not NULL; gone if *done
 *   done  (OUT)  whether the operation is complete
 * Returns the operation's error, which completes it too. */
int MPIR_Gpudt_test(MPIR_Gpudt_op * op, int *done);

/* Block until an operation is complete, and free it.
 *   op  (IN)  gone afterwards; NULL is complete
 * Returns the operation's error. */
int MPIR_Gpudt_wait(MPIR_Gpudt_op * op);

/* Give an operation up: wait for what the GPU is doing for it, start nothing more, and free it.
 * Part of the destination may have been written.
 *   op  (IN)  gone afterwards; may be NULL */
void MPIR_Gpudt_free(MPIR_Gpudt_op * op);

/* A datatype has been committed: prepare what takes long of what its first use would need, if a GPU is
 * in use.
 *   datatype  (IN)  not a predefined type without gaps
 * Never fails: what cannot be built now is reported by the first operation that needs it. */
void MPIR_Gpudt_commit_hook(MPI_Datatype datatype);

/* A datatype object is about to be freed: drop what the engine keeps with it.
 *   dtp  (IN)  no operation may start on it any more, those in flight go on */
void MPIR_Gpudt_type_free(MPIR_Datatype * dtp);

/* Declare the engine's performance variables; part of the initialization of MPI_T. */
void MPIR_Gpudt_pvar_init(void);

#endif /* GPUDT_H_INCLUDED */
