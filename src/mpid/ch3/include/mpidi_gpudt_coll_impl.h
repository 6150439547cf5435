/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Collectives between GPUs of a node: what their files share. ch3u_gpudt_coll.c is about whether
 * the processes do a reduction this way, ch3u_gpudt_coll_part.c about what each of them does,
 * and ch3u_gpudt_agree.c about how they tell each other. */

#ifndef MPIDI_GPUDT_COLL_IMPL_H_INCLUDED
#define MPIDI_GPUDT_COLL_IMPL_H_INCLUDED

#include "mpidi_gpudt_coll.h"
#include "gpudt_combine.h"

/* The tag of messages that do the parts of a blocking call which processes could not start. No other messages
 * have it, while the tags of schedules are those of nonblocking calls, whose messages the communicator of the
 * node takes as well. */
#define MPIDI_GPUDT_PARTS_TAG MPIR_LOCALCOPY_TAG

/* What each process tells the others. */
struct MPIDI_Gpudt_coll_name {
    struct MPIR_Gpudt_operand in, out;
    uint64_t gpu;
    int64_t bytes;              /* of the operand */
    int32_t is_able;            /* false: its buffers are not for this way */
    int16_t has_gpu;            /* false: not even one with datatypes is */
    int16_t can_have_gpu;       /* false: nor will there be one, MPIR_Gpudt_may_become_present */
};

/* How the buffers of a process are mapped. */
struct MPIDI_Gpudt_coll_exports {
    uint64_t in[MPIR_GPUDT_EXPORT_SZ / 8], out[MPIR_GPUDT_EXPORT_SZ / 8];
};

/* The buffers of all processes in some call before. */
struct MPIDI_Gpudt_known {
    uint64_t key;               /* other sets most often have another one */
    uint64_t last_use;          /* number of the call */
    int nrefused;               /* calls left that do not try to map them, as a process could not */
    bool is_exchanged;          /* exports is valid */
    double lost_us;             /* by messages, so far */
    struct MPIDI_Gpudt_coll_name *name; /* of each process */
    struct MPIDI_Gpudt_coll_exports *exports;
};

struct MPIDI_Gpudt_coll_call {
    enum MPIDI_Gpudt_coll_e kind;
    const void *in;             /* operand of this process */
    void *out;                  /* result; NULL: none in this process */
    MPI_Aint n, n_out;          /* elements of operand and result */
    const MPI_Aint *counts;     /* of REDUCE_SCATTER: of the results of all processes */
    MPI_Datatype datatype;
    MPI_Op op;
    int root;                   /* of REDUCE and BCAST_LONG */
    bool is_in_place;
    bool is_apt;                /* false: the buffers are not for this way */
    MPIR_Comm *comm;
    MPIR_Errflag_t *errflag;
    struct MPIDI_Gpudt_past *past;      /* of the communicator, or of a persistent call */
    MPI_Aint extent;
    struct MPIDI_Gpudt_pace *pace;      /* of the communicator, for this kind and size */
    MPIR_Gpudt_buffer *in_buffer, *out_buffer;  /* NULL: not described */
    struct MPIDI_Gpudt_coll_name *name; /* of all processes */
    bool is_on_host;            /* no process has GPU memory; known once they have told */
    bool can_have_gpu;          /* one may have later; known at that time, too */
};

/* How a process ended a call. */
enum MPIDI_Gpudt_end_e {
    MPIDI_GPUDT_END__DONE,
    MPIDI_GPUDT_END__NOT_STARTED,
    MPIDI_GPUDT_END__FAILED
};

/* Find out where the processes of a communicator are. Only what is the same in all of them may count. */
enum MPIDI_Gpudt_coll_place_e MPIDI_Gpudt_coll_place_find(const MPIR_Comm * comm);

/* Whether the processes are in such a place, and may do calls in another way than MPICH's. */
static inline bool MPIDI_Gpudt_coll_is_at(MPIR_Comm * comm, enum MPIDI_Gpudt_coll_place_e place)
{
    MPIDI_Gpudt_coll_t *coll = &comm->dev.gpudt_coll;

    if (unlikely(coll->place == MPIDI_GPUDT_COLL__NEW))
        coll->place = MPIDI_Gpudt_coll_place_find(comm);
    return coll->place == place && MPIR_CVAR_GPUDT_COLL != MPIR_CVAR_GPUDT_COLL_never;
}

/* No process of a communicator can have a GPU, now or later: let none ask again. To be called by all of
 * them in a blocking call, when no other call depends on a pace. */
static inline void MPIDI_Gpudt_coll_give_up(MPIR_Comm * comm)
{
    if (MPIR_CVAR_GPUDT_COLL != MPIR_CVAR_GPUDT_COLL_always)
        comm->dev.gpudt_coll.place = MPIDI_GPUDT_COLL__FAR;
}

/* The pace of a kind and size of calls.
 *   bytes  (IN)  the same in all processes */
static inline struct MPIDI_Gpudt_pace *MPIDI_Gpudt_coll_pace_at(MPIR_Comm * comm,
                                                                enum MPIDI_Gpudt_coll_e kind,
                                                                uint64_t bytes)
{
    return &comm->dev.gpudt_coll.pace[kind][63 - __builtin_clzll(bytes | 1)];
}

/* The same among processes of one node; NULL: they never ask. */
static inline struct MPIDI_Gpudt_pace *MPIDI_Gpudt_coll_pace(MPIR_Comm * comm,
                                                             enum MPIDI_Gpudt_coll_e kind,
                                                             uint64_t bytes)
{
    return MPIDI_Gpudt_coll_is_at(comm, MPIDI_GPUDT_COLL__ON_NODE) ?
        MPIDI_Gpudt_coll_pace_at(comm, kind, bytes) : NULL;
}

/* Whether a call of that kind and size asks. To be called once for each, in their order. */
static inline bool MPIDI_Gpudt_coll_asks(struct MPIDI_Gpudt_pace *pace)
{
    bool is_first;

    if (likely(pace->pause > 0)) {
        pace->pause--;
        return false;
    }
    /* A communicator may be made for a single call, on the host */
    is_first = !pace->has_begun;
    pace->has_begun = true;
    return !is_first || MPIR_CVAR_GPUDT_COLL == MPIR_CVAR_GPUDT_COLL_always;
}

/* Wait until the nonblocking calls of a communicator no longer depend on a pace, or until all of
 * them have ended, or left this way (ch3u_gpudt_icoll.c). */
void MPIDI_Gpudt_icoll_pace_wait(MPIR_Comm * comm, const struct MPIDI_Gpudt_pace *pace);
void MPIDI_Gpudt_icoll_wait(MPIR_Comm * comm);

/* Whether a blocking call asks the other processes of its node: how often that is done depends on
 * what they were told before by calls of that kind and size, which is the same in all of them.
 *   bytes  (IN)  the same in all processes
 * Returns the pace, to be set afterwards; NULL: the call does not ask. */
static inline struct MPIDI_Gpudt_pace *MPIDI_Gpudt_coll_ask(MPIR_Comm * comm,
                                                            enum MPIDI_Gpudt_coll_e kind,
                                                            uint64_t bytes)
{
    struct MPIDI_Gpudt_pace *pace = MPIDI_Gpudt_coll_pace(comm, kind, bytes);

    if (pace == NULL)
        return NULL;
    if (unlikely(comm->dev.gpudt_coll.line))
        MPIDI_Gpudt_icoll_pace_wait(comm, pace);
    return unlikely(MPIDI_Gpudt_coll_asks(pace)) ? pace : NULL;
}

/* Let the next calls ask less and less often, or each of them. */
void MPIDI_Gpudt_coll_pace_set(struct MPIDI_Gpudt_pace *pace, bool is_possible);

/* Whether calls have lost enough time by messages to map memory; this one loses more.
 *   lost_us  (IN/OUT)  so far
 *   bytes    (IN)      the same in all processes */
bool MPIDI_Gpudt_coll_is_worth_mapping(double *lost_us, MPI_Aint bytes);

/* The bytes by which reductions are classed; 0: one that is never done this way. With an operation of
 * the user, the processes' datatypes may have different extents; predefined ones are of predefined
 * datatypes. */
static inline uint64_t MPIDI_Gpudt_coll_bytes(MPI_Aint n, MPI_Datatype datatype, MPI_Op op)
{
    MPI_Aint extent;

    if (n == 0 || !HANDLE_IS_BUILTIN(op))
        return 0;
    MPIR_Datatype_get_extent_macro(datatype, extent);
    return (uint64_t) n * (uint64_t) MPL_MAX(extent, 1);
}

/* Whether kernels may write to memory of other processes. With fault tolerance, another process may have
 * returned an error that this one does not know of yet, and use the memory for something else. */
static inline bool MPIDI_Gpudt_coll_may_write(void)
{
    return !MPIR_CVAR_ENABLE_FT;
}

/* Set the members of an allgather but comm, errflag and pace. Returns false if it is not for this way, which all
 * processes know. */
bool MPIDI_Gpudt_coll_allgather_set(struct MPIDI_Gpudt_coll_call *c, const void *sendbuf,
                                    MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount,
                                    MPI_Datatype recvtype);

/* Set the members of a long broadcast but comm, errflag and pace. Returns false, by what is the same in all
 * processes, if it is not done by shares. */
bool MPIDI_Gpudt_coll_bcast_set(struct MPIDI_Gpudt_coll_call *c, void *buffer, MPI_Aint count,
                                MPI_Datatype datatype, int root);

/* The same of an all-to-all, not in place: false if its blocks are not written by their senders. */
bool MPIDI_Gpudt_coll_alltoall_set(struct MPIDI_Gpudt_coll_call *c, const void *sendbuf,
                                   MPI_Aint sendcount, MPI_Datatype sendtype, void *recvbuf,
                                   MPI_Aint recvcount, MPI_Datatype recvtype);

/* Forget all buffers (ch3u_gpudt_known.c). */
void MPIDI_Gpudt_past_free(struct MPIDI_Gpudt_past *past);

/* Describe the buffers of this process, and set the extent.
 *   own  (OUT)  what it tells the others */
void MPIDI_Gpudt_coll_describe(struct MPIDI_Gpudt_coll_call *c, struct MPIDI_Gpudt_coll_name *own);

/* Judge by c->name what is known of the buffers of a call, and set the pace. The calls of a
 * communicator, or the starts of a persistent call, come here in the order in which they were made,
 * when those before have ended.
 * Returns NULL if the call is not done this way; otherwise, before its parts, exports are to be
 * exchanged unless that was done. */
struct MPIDI_Gpudt_known *MPIDI_Gpudt_coll_judge(struct MPIDI_Gpudt_coll_call *c);

/* Note that a process could not map the buffers of a call: some of the next ones do not try to. To be
 * called by all processes. */
void MPIDI_Gpudt_known_refuse(struct MPIDI_Gpudt_known *k);

/* Write how the buffers of this process are mapped. */
void MPIDI_Gpudt_coll_export(const struct MPIDI_Gpudt_coll_call *c,
                             struct MPIDI_Gpudt_coll_exports *own);

/* Note how those of all are. */
void MPIDI_Gpudt_coll_exported(const struct MPIDI_Gpudt_coll_call *c, struct MPIDI_Gpudt_known *k,
                               const struct MPIDI_Gpudt_coll_exports *all);

/* Exchanges of what the processes tell each other (ch3u_gpudt_agree.c): the collectives of these
 * names on sz bytes from and to each process, in memory of which no driver is asked, such as the
 * stack. A process may call these only if all do, in the same order. */
int MPIDI_Gpudt_agree_allgather(MPIR_Comm * comm, MPIR_Errflag_t * errflag, const void *own, int sz,
                                void *all);
int MPIDI_Gpudt_agree_bcast(MPIR_Comm * comm, MPIR_Errflag_t * errflag, int root, void *mem,
                            int sz);
int MPIDI_Gpudt_agree_gather(MPIR_Comm * comm, MPIR_Errflag_t * errflag, int root, const void *own,
                             int sz, void *all);
int MPIDI_Gpudt_agree_scatter(MPIR_Comm * comm, MPIR_Errflag_t * errflag, int root, const void *all,
                              int sz, void *own);
int MPIDI_Gpudt_agree_alltoall(MPIR_Comm * comm, MPIR_Errflag_t * errflag, const void *from, int sz,
                               void *to);

/* Note an error in an exchange, of which the others are told by errflag. */
void MPIDI_Gpudt_agree_note(int mpi_errno, int *mpi_errno_ret, MPIR_Errflag_t * errflag);

/* What an exchange returns: the errors of this process, or that another one has told of its own. */
int MPIDI_Gpudt_agree_result(int mpi_errno, MPIR_Errflag_t errflag);

/* Let later allgathers of a communicator, of processes of one node, be in memory that they share
 * (ch3u_gpudt_agree_shm.c); the first time that this is called, unless processes may die
 * (MPIR_CVAR_ENABLE_FT, the same in all). Collective. */
int MPIDI_Gpudt_agree_prepare(MPIR_Comm * comm);

/* Let the processes of a communicator agree; any number of them, and any memory.
 *   is_agreed  (IN/OUT)  whether this process, then whether all do
 * Returns an error if there was one here, or in another process as far as this one was told. A
 * process that had died before is known to all afterwards. */
int MPIDI_Gpudt_agree_all(MPIR_Comm * comm, MPIR_Errflag_t * errflag, bool * is_agreed);

/* To be called again and again while the GPU works: messages go on, and other threads can call
 * MPI. */
void MPIDI_Gpudt_coll_yield(void);

/* Exchange how a call ended. Nothing of it is in flight in any process afterwards, unless a process
 * has died.
 *   own        (IN)   in this process
 *   own_errno  (IN)   its error, if it failed
 *   ends       (OUT)  in all processes
 * Returns an error if the call failed in any of them. */
int MPIDI_Gpudt_coll_ends_exchange(MPIR_Comm * comm, MPIR_Errflag_t * errflag,
                                   enum MPIDI_Gpudt_end_e own, int own_errno, int32_t * ends);

/* The error of a call by how it ended in all processes, and the error of this one. */
int MPIDI_Gpudt_coll_ends_judge(MPIR_Comm * comm, const int32_t * ends, int own_errno);

/* Whether all processes have done their parts. */
bool MPIDI_Gpudt_coll_ends_are_done(const MPIR_Comm * comm, const int32_t * ends);

/* Whether a process combines a part: of those that share a GPU only one does, as the others would
 * wait for the GPU to switch between processes.
 *   from  (IN)  the process that comes first */
bool MPIDI_Gpudt_coll_is_worker(const struct MPIDI_Gpudt_coll_call *c, int from, int rank);

/* Do a call of which all buffers can be mapped, as far as is known. Parts that their processes
 * could not start are done by messages, and the buffers are then refused.
 *   own_errno  (IN)  why this process cannot do its part, or MPI_SUCCESS */
int MPIDI_Gpudt_coll_parts(struct MPIDI_Gpudt_coll_call *c, struct MPIDI_Gpudt_known *k,
                           int own_errno);

/* Start the part of this process in such a call. Returns how that ended.
 *   op             (OUT)  NULL: nothing is in flight
 *   mpi_errno_ptr  (OUT)  the error, if it FAILED */
enum MPIDI_Gpudt_end_e MPIDI_Gpudt_coll_part_start(const struct MPIDI_Gpudt_coll_call *c,
                                                   const struct MPIDI_Gpudt_known *k,
                                                   MPIR_Gpudt_op ** op, int *mpi_errno_ptr);

/* Let messages with a tag do the parts that their processes did not start. */
int MPIDI_Gpudt_coll_parts_by_messages(const struct MPIDI_Gpudt_coll_call *c, const int32_t * ends,
                                       int tag, MPIR_Request ** request);

/* Let the other processes get an error from this one wherever they may wait for it in a call
 * that it returns an error of: if a process has died, which they may not know
 * (ch3u_gpudt_refuse.c). */
void MPIDI_Gpudt_coll_refuse(const struct MPIDI_Gpudt_coll_call *c, int mpi_errno);

/* The collectives of these names, of blocks of any datatypes and size, that ask (ch3u_gpudt_move.c).
 *   pace           (IN/OUT)  from MPIDI_Gpudt_coll_ask
 *   mpi_errno_ptr  (OUT)     the error; untouched where false is returned
 * Return whether it was done, or failed; the same in all processes. */
bool MPIDI_Gpudt_allgather_typed(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                                 void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                                 MPIR_Comm * comm, MPIR_Errflag_t * errflag,
                                 struct MPIDI_Gpudt_pace *pace, int *mpi_errno_ptr);
bool MPIDI_Gpudt_bcast_typed(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                             MPIR_Comm * comm, MPIR_Errflag_t * errflag,
                             struct MPIDI_Gpudt_pace *pace, int *mpi_errno_ptr);
bool MPIDI_Gpudt_alltoall_typed(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                                void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                                MPIR_Comm * comm, MPIR_Errflag_t * errflag,
                                struct MPIDI_Gpudt_pace *pace, int *mpi_errno_ptr);

/* The collectives of these names among processes on several nodes, each node's part by a collective
 * of its own (ch3u_gpudt_nodes.c). Return as MPIDI_Gpudt_bcast_typed.
 *   bytes  (IN)  by which calls are classed, the same in all processes */
bool MPIDI_Gpudt_nodes_allreduce(const void *sendbuf, void *recvbuf, MPI_Aint count,
                                 MPI_Datatype datatype, MPI_Op op, MPIR_Comm * comm,
                                 MPIR_Errflag_t * errflag, int *mpi_errno_ptr);
bool MPIDI_Gpudt_nodes_reduce(const void *sendbuf, void *recvbuf, MPI_Aint count,
                              MPI_Datatype datatype, MPI_Op op, int root, MPIR_Comm * comm,
                              MPIR_Errflag_t * errflag, int *mpi_errno_ptr);
bool MPIDI_Gpudt_nodes_bcast(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                             uint64_t bytes, MPIR_Comm * comm, MPIR_Errflag_t * errflag,
                             int *mpi_errno_ptr);

#endif /* MPIDI_GPUDT_COLL_IMPL_H_INCLUDED */
