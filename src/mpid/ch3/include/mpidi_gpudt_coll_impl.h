/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Collectives between GPUs of a node: what their files share. ch3u_gpudt_coll.c is about whether the
 * processes do a reduction this way, ch3u_gpudt_coll_part.c about what each of them does, and
 * ch3u_gpudt_agree.c about how they tell each other. */

#ifndef MPIDI_GPUDT_COLL_IMPL_H_INCLUDED
#define MPIDI_GPUDT_COLL_IMPL_H_INCLUDED

#include "mpidi_gpudt_coll.h"
#include "gpudt_combine.h"

/* What each process tells the others. */
struct MPIDI_Gpudt_coll_name {
    struct MPIR_Gpudt_operand in, out;
    uint64_t gpu;
    int32_t is_able;            /* false: its buffers are not for this way */
    int32_t has_gpu;            /* false: not even one with datatypes is */
};

/* How the buffers of a process are mapped. */
struct MPIDI_Gpudt_coll_exports {
    uint64_t in[MPIR_GPUDT_EXPORT_SZ / 8], out[MPIR_GPUDT_EXPORT_SZ / 8];
};

/* The buffers of all processes in some call before. */
struct MPIDI_Gpudt_known {
    uint64_t last_use;          /* number of the call; 0: none yet */
    bool is_refused;            /* a process could not map them */
    bool is_exchanged;          /* exports is valid */
    double lost_us;             /* by messages, so far */
    struct MPIDI_Gpudt_coll_name name[MPIR_GPUDT_COMBINE_MAX];
    struct MPIDI_Gpudt_coll_exports exports[MPIR_GPUDT_COMBINE_MAX];
};

struct MPIDI_Gpudt_coll_call {
    enum MPIDI_Gpudt_coll_e kind;
    const void *in;             /* operand of this process */
    void *out;                  /* result; NULL: none in this process */
    MPI_Aint n, n_out;          /* elements of operand and result */
    const MPI_Aint *counts;     /* of REDUCE_SCATTER: of the results of all processes */
    MPI_Datatype datatype;
    MPI_Op op;
    int root;                   /* of REDUCE */
    bool is_in_place;
    bool is_apt;                /* false: the buffers are not for this way */
    MPIR_Comm *comm;
    MPIR_Errflag_t *errflag;
    MPI_Aint extent;
    struct MPIDI_Gpudt_pace *pace;      /* of the communicator, for this kind and size */
    MPIR_Gpudt_buffer *in_buffer, *out_buffer;  /* NULL: not described */
    struct MPIDI_Gpudt_coll_name *name; /* of all processes */
    bool is_on_host;            /* no process can have GPU memory; known once they have told */
};

/* How a process ended a call. */
enum MPIDI_Gpudt_end_e {
    MPIDI_GPUDT_END__DONE,
    MPIDI_GPUDT_END__NOT_STARTED,
    MPIDI_GPUDT_END__FAILED
};

/* Whether a call asks the other processes: how often that is done depends on what they were told
 * before by calls of that kind and size, which is the same in all of them.
 *   bytes  (IN)  the same in all processes
 * Returns the pace, to be set afterwards; NULL: the call does not ask. */
struct MPIDI_Gpudt_pace *MPIDI_Gpudt_coll_ask(MPIR_Comm * comm, enum MPIDI_Gpudt_coll_e kind,
                                              uint64_t bytes);

/* Let the next calls ask less and less often, or each of them. */
void MPIDI_Gpudt_coll_pace_set(struct MPIDI_Gpudt_pace *pace, bool is_possible);

/* Whether calls that move data have lost enough time by messages to map memory; this one loses more.
 *   bytes  (IN)  the same in all processes */
bool MPIDI_Gpudt_coll_is_worth_mapping(MPIR_Comm * comm, MPI_Aint bytes);

/* Exchanges of what the processes tell each other (ch3u_gpudt_agree.c): the collectives of these names
 * on sz bytes from and to each process, in memory of which no driver is asked, such as the stack. A
 * process may call these only if all do, in the same order. */
int MPIDI_Gpudt_agree_allgather(MPIR_Comm * comm, MPIR_Errflag_t * errflag, const void *own, int sz,
                                void *all);
int MPIDI_Gpudt_agree_bcast(MPIR_Comm * comm, MPIR_Errflag_t * errflag, int root, void *mem, int sz);
int MPIDI_Gpudt_agree_gather(MPIR_Comm * comm, MPIR_Errflag_t * errflag, int root, const void *own,
                             int sz, void *all);
int MPIDI_Gpudt_agree_scatter(MPIR_Comm * comm, MPIR_Errflag_t * errflag, int root, const void *all,
                              int sz, void *own);
int MPIDI_Gpudt_agree_alltoall(MPIR_Comm * comm, MPIR_Errflag_t * errflag, const void *from, int sz,
                               void *to);

/* To be called again and again while the GPU works: messages go on, and other threads can call MPI. */
void MPIDI_Gpudt_coll_yield(void);

/* Exchange how a call ended. Nothing of it is in flight in any process afterwards, unless a process
 * has died.
 *   own        (IN)   in this process
 *   own_errno  (IN)   its error, if it failed
 *   ends       (OUT)  in all processes
 * Returns an error if the call failed in any of them. */
int MPIDI_Gpudt_coll_ends_exchange(MPIR_Comm * comm, MPIR_Errflag_t * errflag,
                                   enum MPIDI_Gpudt_end_e own, int own_errno, int32_t * ends);

/* Whether a process combines a part: of those that share a GPU only one does, as the others would
 * wait for the GPU to switch between processes.
 *   from  (IN)  the process that comes first */
bool MPIDI_Gpudt_coll_is_worker(const struct MPIDI_Gpudt_coll_call *c, int from, int rank);

/* Do a call of which all buffers can be mapped, as far as is known. Parts that their processes
 * could not start are done by messages, and the buffers are then refused. */
int MPIDI_Gpudt_coll_parts(struct MPIDI_Gpudt_coll_call *c, struct MPIDI_Gpudt_known *k);

/* As MPIDI_Gpudt_allgather, with any datatypes (ch3u_gpudt_move.c). */
bool MPIDI_Gpudt_allgather_typed(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                                 void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                                 MPIR_Comm * comm, MPIR_Errflag_t * errflag, int *mpi_errno_ptr);

#endif /* MPIDI_GPUDT_COLL_IMPL_H_INCLUDED */
