/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Copies between GPU memory of one process and that of another, which maps it. Built with and
 * without CUDA, so it must not know cuda.h. Callers hold the lock of the progress engine. */

#ifndef GPUDT_DIRECT_H_INCLUDED
#define GPUDT_DIRECT_H_INCLUDED

#include "gpudt.h"

/* An *offer*: the description of a buffer in GPU memory by which another process of the node finds
 * and maps it. It is stored in memory that both processes share. */
typedef struct MPIR_Gpudt_offer MPIR_Gpudt_offer_t;

/* GPU memory into which a sender packs a message and from which the receiver unpacks it. */
typedef struct MPIR_Gpudt_stage MPIR_Gpudt_stage_t;

/* Whether other processes can map the memory of a buffer, so that an offer of it can be made. */
bool MPIR_Gpudt_may_offer(const MPIR_Gpudt_buffer * buffer);

/* Whether messages from a buffer may go to another GPU at all without passing through host memory:
 * it is GPU memory, and that is not forbidden. */
bool MPIR_Gpudt_is_direct(const MPIR_Gpudt_buffer * buffer);

/* The name of the GPU of a buffer (gpudt_shared.h); 0: it has none. */
uint64_t MPIR_Gpudt_buffer_gpu(const MPIR_Gpudt_buffer * buffer);

/* Bytes of an offer without the datatype. */
#define MPIR_GPUDT_OFFER_HEAD 1024

/* Bytes of the datatype of a buffer as an offer describes it, a multiple of 8; 0: it is
 * contiguous. */
size_t MPIR_Gpudt_offer_type_sz(const MPIR_Gpudt_buffer * buffer);

/* Write that description.
 *   mem  (OUT)  aligned to 8 */
void MPIR_Gpudt_offer_type_write(const MPIR_Gpudt_buffer * buffer, void *mem);

/* A pointer that belongs to the datatype of a buffer, for the caller to keep a description that is
 * too long to be part of each offer. NULL at first.
 *   free_fn  (IN)  called with the pointer when the datatype and all that use it are freed; the
 *                  same in all calls. Not called for NULL */
void **MPIR_Gpudt_buffer_published(const MPIR_Gpudt_buffer * buffer, void (*free_fn) (void *));

/* Instead of a place of the description. */
#define MPIR_GPUDT_TYPE__INLINE (-1)    /* it is part of the offer */
#define MPIR_GPUDT_TYPE__NONE   (-2)    /* there is none: the buffer cannot be read across */

/* Make the offer of a buffer.
 *   buffer   (IN)   the offer is valid as long as it is; not MPIR_Gpudt_may_offer: there is a stage,
 *                   or the offer is of use only for the receiver to offer its own buffer
 *   type_at  (IN)   where the receiver finds the description of the datatype; the caller chooses
 *                   what a number from 0 on means
 *   stage    (IN)   memory into which the sender could pack the message; NULL: none
 *   mem      (OUT)  where the offer is stored, aligned to 8: MPIR_GPUDT_OFFER_HEAD bytes and the
 *                   datatype's */
void MPIR_Gpudt_offer_make(MPIR_Gpudt_buffer * buffer, int type_at,
                           const MPIR_Gpudt_stage_t * stage, void *mem);

/* Copy an offer without the datatype.
 *   offer  (IN)   in shared memory, where the sender may be writing to it: then the copy is useless
 *   mem    (OUT)  MPIR_GPUDT_OFFER_HEAD bytes, aligned to 8 */
void MPIR_Gpudt_offer_read(const MPIR_Gpudt_offer_t * offer, void *mem);

/* Where the sender has put the description of the datatype, and its bytes; only of an offer that
 * the sender cannot withdraw.
 *   sz  (OUT)  bytes
 * Returns type_at of MPIR_Gpudt_offer_make. */
int MPIR_Gpudt_offer_type_at(const MPIR_Gpudt_offer_t * offer, size_t *sz);

/* What a process calls the datatype of an offered buffer, in a description that is not part of the offer.
 *   type  (IN)  the description */
struct MPIR_Gpudt_peer_type {
    uint64_t process, id;       /* never used again; an id of 0: the description has been cleared */
};
struct MPIR_Gpudt_peer_type MPIR_Gpudt_offer_type_name(const MPIR_Gpudt_offer_t * offer,
                                                       const void *type);

/* Whether a description is, or still is, that of a datatype. Clear it when the datatype is freed. Not for those
 * that are part of offers; other processes may be reading it. */
bool MPIR_Gpudt_offer_type_is(const void *type, const struct MPIR_Gpudt_peer_type *name);
void MPIR_Gpudt_offer_type_clear(void *type);

/* Free what is kept of a datatype that its process has freed; its id is not 0. */
void MPIR_Gpudt_peer_type_free(const struct MPIR_Gpudt_peer_type *name);

/* How a message gets from the sender's buffer to the receiver's. */
enum MPIR_Gpudt_way_e {
    MPIR_GPUDT_WAY__HOST = 0,   /* through host memory */
    MPIR_GPUDT_WAY__PULLED = 1, /* copied by the receiver, by MPIR_Gpudt_offer_pull */
    MPIR_GPUDT_WAY__STAGED = 2, /* through the sender's staging memory, by MPIR_Gpudt_stage_move */
    MPIR_GPUDT_WAY__PUSHED = 4, /* copied by the sender, by MPIR_Gpudt_offer_push of an offer of the
                                 * receiver's */
    MPIR_GPUDT_WAY__DECLINED = 8        /* no way: the sender has been asked to copy this message, and
                                         * may copy others */
};

/* Choose the way of a message that is offered.
 *   offer   (IN)  from another process of the node, or a copy by MPIR_Gpudt_offer_read
 *   buffer  (IN)  where the data is to go
 *   n       (IN)  bytes of the message
 *   which   (IN/OUT)  sum of the ways that may be chosen, besides MPIR_GPUDT_WAY__HOST; without those
 *                     that were found not to be possible. MPIR_GPUDT_WAY__DECLINED may be added
 * Memory that cannot be mapped is not used, nor is memory that is not mapped yet if mapping it
 * takes longer than messages could save so far. Whether the sender can map the buffer is not known
 * here. */
enum MPIR_Gpudt_way_e MPIR_Gpudt_offer_way(const MPIR_Gpudt_offer_t * offer,
                                           const MPIR_Gpudt_buffer * buffer, MPI_Aint n,
                                           int *which);

/* Accept an offer, which the sender cannot withdraw any more: start to copy the first n bytes of
 * the sender's stream to those of the buffer's.
 *   type      (IN)   description of the sender's datatype, if that is not part of the offer
 *   buffer    (IN)   made or checked just now: its memory is not checked again
 *   n         (IN)   greater than 0
 *   op        (OUT)  as for MPIR_Gpudt_ipack
 *   is_taken  (OUT)  false: the memory could not be mapped, and nothing was started */
int MPIR_Gpudt_offer_pull(const MPIR_Gpudt_offer_t * offer, const void *type,
                          MPIR_Gpudt_buffer * buffer, MPI_Aint n, MPIR_Gpudt_op ** op,
                          bool * is_taken);

/* The same for a caller who has decided that the memory is worth mapping, and whose offers have the
 * description of the datatype in them. */
int MPIR_Gpudt_offer_pull_now(const MPIR_Gpudt_offer_t * offer, MPIR_Gpudt_buffer * buffer,
                              MPI_Aint n, MPIR_Gpudt_op ** op, bool * is_taken);

/* What a receive gives. */
struct MPIR_Gpudt_receive {
    void *buf;
    MPI_Aint count;
    MPI_Datatype datatype;
    int ways;                   /* that may be chosen, as for MPIR_Gpudt_offer_way */
};

/* Messages that one of the same kind can join, so that they are pulled together. */
typedef struct MPIR_Gpudt_pulls MPIR_Gpudt_pulls_t;

/* Remember that a message is pulled, so that others may join it.
 *   buffer  (IN)  what r describes
 *   op      (IN)  from MPIR_Gpudt_offer_pull of the whole message; NULL: complete */
void MPIR_Gpudt_pulls_note(const MPIR_Gpudt_offer_t * offer, const struct MPIR_Gpudt_receive *r,
                           const MPIR_Gpudt_buffer * buffer, const MPIR_Gpudt_op * op);

/* Whether there may be messages that others can join. */
bool MPIR_Gpudt_pulls_exist(void);

/* Messages that one of n bytes can join. NULL: there are none. Valid until the next call of a function
 * of this file. The offer may be one that the sender withdraws meanwhile: then the answer is useless. */
const MPIR_Gpudt_pulls_t *MPIR_Gpudt_pulls_find(const MPIR_Gpudt_offer_t * offer,
                                                const struct MPIR_Gpudt_receive *r, MPI_Aint n);

/* Join them, by an offer that was accepted. Returns the operation, which is in flight; NULL: they wait no
 * more, or there is no memory, and nothing was started. */
MPIR_Gpudt_op *MPIR_Gpudt_pulls_join(const MPIR_Gpudt_pulls_t * pulls, const MPIR_Gpudt_offer_t * offer,
                                     const struct MPIR_Gpudt_receive *r);

/* Count a collective for which offers were not exchanged. */
void MPIR_Gpudt_count_offers_kept(void);

/* As MPIR_Gpudt_offer_pull_now, for what a process sends itself: the arguments are those of
 * MPIR_Gpudt_ilocalcopy. */
int MPIR_Gpudt_pull_own(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                        void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, MPI_Aint nbytes,
                        MPIR_Gpudt_op ** op, bool * handled);

/* Launch short ones of the following pulls together, to the memory of the GPU of one of their
 * buffers, until MPIR_Gpudt_pulls_end, which must follow without a wait. */
void MPIR_Gpudt_pulls_begin(const MPIR_Gpudt_buffer * buffer);
void MPIR_Gpudt_pulls_end(const MPIR_Gpudt_buffer * buffer);

/* Begin or end a burst: operations of MPIR_Gpudt_offer_pull that start wait for others, until they are
 * enough for a launch or the burst has ended. MPIR_Gpudt_test launches what has waited then, unless it
 * waits for the GPU as without a burst. */
void MPIR_Gpudt_burst_set(bool is_on);

/* Start to copy the first n bytes of a buffer's stream to those of the buffer that a receiver has
 * offered to the sender of a message, who does not use it in any other way meanwhile.
 *   type      (IN)   description of the receiver's datatype, if that is not part of the offer
 *   is_taken  (OUT)  false: the memory cannot be mapped, or that takes longer than messages could
 *                    save so far, and nothing was started
 *   is_final  (OUT)  it never can be
 * The others as of MPIR_Gpudt_offer_pull, but the buffer's memory is checked. */
int MPIR_Gpudt_offer_push(const MPIR_Gpudt_offer_t * offer, const void *type,
                          MPIR_Gpudt_buffer * buffer, MPI_Aint n, MPIR_Gpudt_op ** op,
                          bool * is_taken, bool * is_final);

/* ---- staging memory ---- */

/* Staging memory consists of so many places for a segment, which all messages from a GPU share; one
 * message uses at most STAGE_DEPTH at a time: while one is read, the next ones are packed. A segment of
 * a message that is alone is half as long, since nothing else passes while its first one is packed. */
#define MPIR_GPUDT_STAGE_PLACES 8
#define MPIR_GPUDT_STAGE_DEPTH  4

/* Get the staging memory of the GPU of a buffer for a long message from it.
 *   may_pull  (IN)  whether the receiver could read it from the buffer
 *   nothers   (IN)  other long messages that are on their way
 * Returns NULL if reading from the buffer is better, or if there is no memory. Owned by the caller
 * until MPIR_Gpudt_stage_free. */
MPIR_Gpudt_stage_t *MPIR_Gpudt_stage_get(const MPIR_Gpudt_buffer * buffer, bool may_pull,
                                         int nothers);

/* Take n places of staging memory of this process.
 *   place  (OUT)  addresses of n places
 * Returns false, and takes none, if fewer are free. */
bool MPIR_Gpudt_stage_take(const MPIR_Gpudt_stage_t * stage, int n, char **place);

/* Return a place, which no receiver reads any more. */
void MPIR_Gpudt_stage_put(const MPIR_Gpudt_stage_t * stage, char *place);

/* Map the staging memory of an offer whose way is MPIR_GPUDT_WAY__STAGED for unpacking into a
 * buffer. Returns NULL if that is not possible. Owned by the caller until MPIR_Gpudt_stage_free. */
MPIR_Gpudt_stage_t *MPIR_Gpudt_stage_map(const MPIR_Gpudt_offer_t * offer,
                                         const MPIR_Gpudt_buffer * buffer);

/* Release staging memory; NULL is allowed. */
void MPIR_Gpudt_stage_free(MPIR_Gpudt_stage_t * stage);

/* The address of staging memory in this process. */
char *MPIR_Gpudt_stage_mem(const MPIR_Gpudt_stage_t * stage);

/* Bytes of a segment of the message for which staging memory was got, or mapped, at most. */
int64_t MPIR_Gpudt_stage_segment(const MPIR_Gpudt_stage_t * stage);

/* Take a place of staging memory of this process for a message from a buffer that is packed before its
 * receiver has asked for that. To be called before the offer is made, which tells the receiver.
 *   place  (OUT)  its address
 * Returns false if there is none that suits. */
bool MPIR_Gpudt_stage_early_take(MPIR_Gpudt_stage_t * stage, const MPIR_Gpudt_buffer * buffer,
                                 char **place);

/* The place into which the message of an offer is packed, in either process; NULL: it is not.
 *   value  (OUT)  for MPIR_Gpudt_stage_move */
char *MPIR_Gpudt_stage_early(const MPIR_Gpudt_stage_t * stage, int *value);

/* Start to pack bytes [first, first + n) of a buffer into staging memory of this process, or to
 * unpack them from that of another one.
 *   packed  (IN)   in the staging memory; if value is not 0, at the beginning of a place
 *   value   (IN/OUT)  pack: 0, or from MPIR_Gpudt_stage_early; set to the value by which the semaphore
 *                     of the place tells the end; 0: it does not.
 *                     Unpack: 0 if the data is there. Else that value: a kernel is launched that waits
 *                     for it, though not for long; set to 0 if nothing was started instead
 *   op      (OUT)  as for MPIR_Gpudt_ipack */
int MPIR_Gpudt_stage_move(MPIR_Gpudt_stage_t * stage, MPIR_Gpudt_buffer * buffer, MPI_Aint first,
                          MPI_Aint n, char *packed, bool unpack, int *value, MPIR_Gpudt_op ** op);

/* After the end of an operation that unpacked with a value: whether that is to be done again, as its
 * kernel did not wait long enough. To be called once. */
bool MPIR_Gpudt_stage_is_missed(MPIR_Gpudt_stage_t * stage, const char *packed);

/* The number of the process that made an offer; 0: not known. */
uint64_t MPIR_Gpudt_offer_process(const MPIR_Gpudt_offer_t * offer);

/* Whether memory can be unmapped now. If not, kernels of the program would be waited for. */
bool MPIR_Gpudt_may_unmap(void);

/* Unmap what is mapped of a process whose offers are no longer used, while MPIR_Gpudt_may_unmap, and free what is
 * kept of its datatypes.
 *   process  (IN)  from MPIR_Gpudt_offer_process; 0: nothing to do */
void MPIR_Gpudt_process_drop(uint64_t process);

#endif /* GPUDT_DIRECT_H_INCLUDED */
