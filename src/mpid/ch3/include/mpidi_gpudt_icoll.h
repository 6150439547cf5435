/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Nonblocking and persistent collectives between GPUs of a node: what their files share.
 * ch3u_gpudt_icall.c is about their arguments, ch3u_gpudt_icoll.c about their progress,
 * ch3u_gpudt_iline.c about the order of nonblocking ones, ch3u_gpudt_pcoll.c about what persistent
 * ones keep, ch3u_gpudt_iform.c about how reductions and moves of data differ, and
 * ch3u_gpudt_exchange.c about how the processes tell each other. */

#ifndef MPIDI_GPUDT_ICOLL_H_INCLUDED
#define MPIDI_GPUDT_ICOLL_H_INCLUDED

#include "mpidi_gpudt_move_impl.h"

/* ---- exchanges in host memory ---- */

/* Messages from and to the other processes in flight. */
struct MPIDI_Gpudt_exchange {
    MPIR_Request *send[MPIR_GPUDT_COMBINE_MAX], *recv[MPIR_GPUDT_COMBINE_MAX];  /* NULL: none */
    int recv_sz[MPIR_GPUDT_COMBINE_MAX];        /* bytes that are to arrive */
    int mpi_errno;              /* the first error */
};

/* Begin an exchange: nothing is in flight yet. */
void MPIDI_Gpudt_exchange_begin(struct MPIDI_Gpudt_exchange *x);

/* Add a message from or to a process, of sz bytes in memory that MPIR_Gpudt_is_near is true of.
 * Errors are kept for the end. */
void MPIDI_Gpudt_exchange_recv(struct MPIDI_Gpudt_exchange *x, MPIR_Comm * comm, int tag, int rank,
                               void *mem, int sz);
void MPIDI_Gpudt_exchange_send(struct MPIDI_Gpudt_exchange *x, MPIR_Comm * comm, int tag, int rank,
                               const void *mem, int sz);

/* Begin an exchange in which all tell all the same.
 *   all  (OUT)  sz bytes for each process, this one as well */
void MPIDI_Gpudt_exchange_all(struct MPIDI_Gpudt_exchange *x, MPIR_Comm * comm, int tag,
                              const void *own, int sz, void *all);

/* Whether an exchange has ended. Never waits. */
bool MPIDI_Gpudt_exchange_test(struct MPIDI_Gpudt_exchange *x);

/* ---- calls ---- */

/* A call, such that MPICH's algorithm can do it as well. Reductions have their datatype in recv. */
struct MPIDI_Gpudt_icall {
    enum MPIDI_Gpudt_coll_e kind;
    struct MPIDI_Gpudt_vector send, recv;
    MPI_Op op;
    int root;                   /* -1: none */
    MPIR_Comm *comm;
};

/* A copy of a call that outlives its arguments. */
struct MPIDI_Gpudt_icall_copy {
    struct MPIDI_Gpudt_icall call;      /* its communicator may be gone when it is released */
    int n;                      /* processes */
    struct MPIDI_Gpudt_icall_arrays {
        MPI_Aint counts[MPIR_GPUDT_COMBINE_MAX], displs[MPIR_GPUDT_COMBINE_MAX];
        MPI_Datatype datatypes[MPIR_GPUDT_COMBINE_MAX];
    } send, recv;
};

/* Copy a call, with references to its datatypes; and release these. */
void MPIDI_Gpudt_icall_keep(const struct MPIDI_Gpudt_icall *call,
                            struct MPIDI_Gpudt_icall_copy *copy);
void MPIDI_Gpudt_icall_release(struct MPIDI_Gpudt_icall_copy *copy);

/* Describe a call as a reduction, or as a move. Of the first, false: it is never done as one, by what is the
 * same in all processes. */
bool MPIDI_Gpudt_icall_reduction(const struct MPIDI_Gpudt_icall *call,
                                 struct MPIDI_Gpudt_coll_call *c);
void MPIDI_Gpudt_icall_move(const struct MPIDI_Gpudt_icall *call, struct MPIDI_Gpudt_move *m);

/* Leave out the next tag of a communicator if that is one at which MPICH looks whether tags of older
 * calls are still in use. To be called by each call that may become an operation. */
int MPIDI_Gpudt_icall_tag_skip(MPIR_Comm * comm);

/* Start MPICH's algorithm.
 *   tag      (IN)   reserved for it
 *   request  (OUT)  NULL: complete */
int MPIDI_Gpudt_icall_plain(const struct MPIDI_Gpudt_icall *call, int tag, MPIR_Request ** request);

/* Let the other processes get an error from this one wherever they may wait for it in a call, as it
 * takes no part any more (ch3u_gpudt_refuse.c).
 *   tag  (IN)  reserved for the call */
void MPIDI_Gpudt_icall_refuse(const struct MPIDI_Gpudt_icall *call, int tag, int mpi_errno);

/* ---- operations ---- */

/* The forms that a call may have, in the order in which they are tried. */
enum MPIDI_Gpudt_iform_e {
    MPIDI_GPUDT_IFORM__REDUCTION,
    MPIDI_GPUDT_IFORM__MOVE,
    MPIDI_GPUDT_NIFORMS
};

/* Which forms a call may have, the same in all processes.
 *   pace  (OUT)  of each form, of the communicator; NULL: it is not possible
 * Returns whether there is one. */
bool MPIDI_Gpudt_icall_forms(const struct MPIDI_Gpudt_icall *call,
                             struct MPIDI_Gpudt_pace *pace[MPIDI_GPUDT_NIFORMS]);

/* What an operation does or waits for. */
enum MPIDI_Gpudt_istate_e {
    MPIDI_GPUDT_ISTATE__ASKING, /* to know whether to ask the other processes */
    MPIDI_GPUDT_ISTATE__TELLING,        /* exchanges descriptions of buffers */
    MPIDI_GPUDT_ISTATE__WAITING,        /* for the calls before it */
    MPIDI_GPUDT_ISTATE__MAPPING,        /* exchanges how to map buffers */
    MPIDI_GPUDT_ISTATE__STARTING,       /* not in this thread */
    MPIDI_GPUDT_ISTATE__RUNNING,        /* on the GPU */
    MPIDI_GPUDT_ISTATE__ENDING, /* exchanges how that ended */
    MPIDI_GPUDT_ISTATE__PLAIN,  /* MPICH's algorithm */
    MPIDI_GPUDT_ISTATE__DONE
};

struct MPIDI_Gpudt_icoll {
    struct MPIDI_Gpudt_icoll *next, *prev;      /* all in flight */
    struct MPIDI_Gpudt_icoll *line_next, *line_prev;    /* those in the line of a communicator */
    bool is_in_line;
    enum MPIDI_Gpudt_istate_e state;
    enum MPIDI_Gpudt_iform_e form;
    MPIR_Request *req;          /* the user's */
    MPIR_Comm *comm;
    int tag;
    const struct MPIDI_Gpudt_icall *call;
    struct MPIDI_Gpudt_pcoll *pcoll;    /* of which this is a start; NULL: a nonblocking call */
    struct MPIDI_Gpudt_icall_copy copy; /* of a nonblocking call */
    struct MPIDI_Gpudt_past *past;      /* of the communicator, or the persistent call */
    struct MPIDI_Gpudt_pace *pace[MPIDI_GPUDT_NIFORMS]; /* of each form; NULL: it is over, or not
                                                         * possible */
    struct MPIDI_Gpudt_exchange x;
    MPIR_Gpudt_op *op[MPIR_GPUDT_COMBINE_MAX];  /* in flight; NULL: none */
    int own_errno;
    int32_t own_end, ends[MPIR_GPUDT_COMBINE_MAX];      /* enum MPIDI_Gpudt_end_e */
    MPIR_Request *plain;        /* of MPICH's algorithm; NULL: complete */
    struct MPIDI_Gpudt_coll_call c;     /* as a reduction */
    struct MPIDI_Gpudt_known *known;
    struct MPIDI_Gpudt_coll_name own_name, name[MPIR_GPUDT_COMBINE_MAX];
    struct MPIDI_Gpudt_move m;  /* as a move */
    struct MPIDI_Gpudt_pace *move_pace;
    struct MPIDI_Gpudt_ability own_ability, ability[MPIR_GPUDT_COMBINE_MAX];
    /* From here on not initialized */
    struct MPIDI_Gpudt_coll_exports own_exports, exports[MPIR_GPUDT_COMBINE_MAX];
    uint64_t slots[2 * MPIR_GPUDT_COMBINE_MAX * MPIDI_GPUDT_SLOT_SZ / sizeof(uint64_t)];
};

/* What depends on the form (ch3u_gpudt_iform.c). */
struct MPIDI_Gpudt_iform {
    /* Describe the buffers and begin to exchange the descriptions. */
    void (*tell) (struct MPIDI_Gpudt_icoll * o);
    /* Whether the call is done this way, as the functions _judge. */
    bool(*judge) (struct MPIDI_Gpudt_icoll * o);
    /* Begin to exchange how to map the buffers. Returns false if that is known. */
    bool(*map) (struct MPIDI_Gpudt_icoll * o);
    /* Start what this process does, when that was exchanged. */
    enum MPIDI_Gpudt_end_e (*start) (struct MPIDI_Gpudt_icoll * o);
    /* Let messages do what processes could not start: start o->plain. */
    int (*rest) (struct MPIDI_Gpudt_icoll * o);
    /* Release the buffers. */
    void (*release) (struct MPIDI_Gpudt_icoll * o);
};
extern const struct MPIDI_Gpudt_iform MPIDI_Gpudt_iforms[MPIDI_GPUDT_NIFORMS];

/* Memory for an operation, 0 as far as that is said, that MPIR_Gpudt_is_near is true of
 * (ch3u_gpudt_icoll_mem.c). NULL: out of memory. */
struct MPIDI_Gpudt_icoll *MPIDI_Gpudt_icoll_mem_get(void);
void MPIDI_Gpudt_icoll_mem_put(struct MPIDI_Gpudt_icoll *o);

/* The line of a communicator (ch3u_gpudt_iline.c): let an operation be the last one in it, leave
 * it, and whether an operation is the first one. One that has left depends on no pace any more. */
void MPIDI_Gpudt_iline_append(struct MPIDI_Gpudt_icoll *o);
void MPIDI_Gpudt_iline_leave(struct MPIDI_Gpudt_icoll *o);
bool MPIDI_Gpudt_iline_is_first(const struct MPIDI_Gpudt_icoll *o);

/* Whether an operation can ask now: those before it have, and cannot change the pace. */
bool MPIDI_Gpudt_iline_can_ask(const struct MPIDI_Gpudt_icoll *o);

/* Whether a new call has to wait in the line before it can ask.
 *   pace  (IN)  of each form; NULL: it is not possible */
bool MPIDI_Gpudt_iline_has_to(MPIR_Comm * comm,
                              struct MPIDI_Gpudt_pace *const pace[MPIDI_GPUDT_NIFORMS]);

/* Start a call.
 *   pace           (IN)   of each form; NULL: it is not possible
 *   request        (OUT)  the user's
 *   mpi_errno_ptr  (OUT)  the error; untouched where false is returned
 * Returns false if MPICH's algorithm is to be started at once, as in all processes. */
bool MPIDI_Gpudt_icoll_start(const struct MPIDI_Gpudt_icall *call,
                             struct MPIDI_Gpudt_pace *const pace[MPIDI_GPUDT_NIFORMS],
                             MPIR_Request ** request, int *mpi_errno_ptr);

/* Let MPICH's algorithm do the whole of a call: start o->plain. */
int MPIDI_Gpudt_icoll_whole(struct MPIDI_Gpudt_icoll *o);

/* ---- persistent calls ---- */

/* What a persistent call keeps, in its request (ch3u_gpudt_pcoll.c). */
struct MPIDI_Gpudt_pcoll {
    int nrefs;                  /* of the request, and of the start in flight */
    struct MPIDI_Gpudt_icall_copy copy;
    int tag;
    MPIR_Sched_t sched;         /* MPICH's algorithm, of the request; NULL: that was freed */
    struct MPIDI_Gpudt_pace pace[MPIDI_GPUDT_NIFORMS];
    bool has_form[MPIDI_GPUDT_NIFORMS];
    struct MPIDI_Gpudt_past past;
    struct MPIDI_Gpudt_icoll *o;        /* the start in flight; NULL: none, or not in this way */
    bool is_scheduled;          /* o->plain is that of `sched` */
    int error_class;            /* MPI_SUCCESS: no exchange has failed */
};

/* Begin a start of a persistent call, which asks the other processes.
 *   form     (IN)   that it has first
 *   request  (OUT)  the start's */
int MPIDI_Gpudt_icoll_restart(struct MPIDI_Gpudt_pcoll *p, enum MPIDI_Gpudt_iform_e form,
                              MPIR_Request ** request);

/* Release a reference to a persistent call: its request has one, and each start until its end. The last one
 * releases datatypes: functions of the program may run. */
void MPIDI_Gpudt_pcoll_release(struct MPIDI_Gpudt_pcoll *p);

/* Start MPICH's algorithm.
 *   request  (OUT)  NULL: complete */
int MPIDI_Gpudt_pcoll_plain(struct MPIDI_Gpudt_pcoll *p, MPIR_Request ** request);

#endif /* MPIDI_GPUDT_ICOLL_H_INCLUDED */
