/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Collectives between GPUs of a node that move data: what their two files share. ch3u_gpudt_move.c
 * is about the arguments and the agreement of the processes, ch3u_gpudt_pull.c about the copies. */

#ifndef MPIDI_GPUDT_MOVE_IMPL_H_INCLUDED
#define MPIDI_GPUDT_MOVE_IMPL_H_INCLUDED

#include "mpidi_gpudt_coll_impl.h"
#include "gpudt_direct.h"

#define MPIDI_GPUDT_NKEPT 5     /* exchanges of offers of a kind of call that are kept */

/* What each process tells the others. It is not as long as struct MPIDI_Gpudt_coll_name, so that processes
 * get an error if some of them make a call of the other kind. */
struct MPIDI_Gpudt_ability {
    int64_t bytes;              /* of a block, or -1; if processes disagree, none is able to */
    int64_t offer_sz;           /* of the longest offer; 0: it sends nothing */
    uint64_t gpu;               /* name; 0: none takes part */
    int32_t is_able;            /* false: its buffers are not for this way */
    int32_t can_have_gpu;       /* as in struct MPIDI_Gpudt_coll_name */
    uint64_t last;              /* number of the last exchange of offers that it knows of */
    uint64_t same[MPIDI_GPUDT_NKEPT];   /* of those in which it offered the same; 0: none */
};

/* Elements that a process sends to all or receives from all. */
struct MPIDI_Gpudt_vector {
    const void *buf;
    MPI_Aint count;             /* for each, without counts */
    MPI_Datatype datatype;
    const MPI_Aint *counts, *displs;    /* NULL: blocks of one size follow each other */
    const MPI_Datatype *datatypes;      /* NULL: one for all. Otherwise displs are in bytes */
};

/* Elements of a buffer that go from one process to another. */
struct MPIDI_Gpudt_block {
    const void *buf;
    MPI_Aint count;             /* 0: none */
    MPI_Datatype datatype;
};
#define MPIDI_GPUDT_NO_BLOCK ((struct MPIDI_Gpudt_block) {.datatype = MPI_BYTE })

/* Bytes of blocks up to which calls are of one class: which MPICH, too, moves by one algorithm, so
 * that a program that passes different lengths gets an error and not different classes. */
#define MPIDI_GPUDT_MAX_SHORT 12288

/* The bytes by which calls are classed, for MPIDI_Gpudt_coll_pace.
 *   bytes  (IN)  of a block, the same in all processes; -1: they may differ */
static inline uint64_t MPIDI_Gpudt_move_class(MPI_Aint bytes)
{
    return bytes > MPIDI_GPUDT_MAX_SHORT ? (uint64_t) bytes : 0;
}

static inline MPI_Aint MPIDI_Gpudt_bytes_of(MPI_Aint count, MPI_Datatype datatype)
{
    MPI_Aint size;

    MPIR_Datatype_get_size_macro(datatype, size);
    return count * size;
}

/* Who sends to whom. Forms that send the same to all use the first block only. */
enum MPIDI_Gpudt_move_form_e {
    MPIDI_GPUDT_MOVE__BCAST,
    MPIDI_GPUDT_MOVE__GATHER,
    MPIDI_GPUDT_MOVE__SCATTER,
    MPIDI_GPUDT_MOVE__ALLGATHER,
    MPIDI_GPUDT_MOVE__ALLTOALL
};

/* What one process tells another: the offer of a block. */
struct MPIDI_Gpudt_slot {
    int64_t n;                  /* bytes of the block; 0: none, and no offer */
    uint64_t offer[];
};
#define MPIDI_GPUDT_SLOT_SZ 4096        /* at most; larger datatypes take MPICH's algorithms */

struct MPIDI_Gpudt_move {
    enum MPIDI_Gpudt_move_form_e form;
    MPI_Aint bytes;             /* of a block, the same in all processes; -1: they may differ */
    int root;                   /* -1: none */
    MPIR_Comm *comm;
    MPIR_Errflag_t *errflag;
    struct MPIDI_Gpudt_past *past;      /* of the communicator, or of a persistent call */
    struct MPIDI_Gpudt_block send[MPIR_GPUDT_COMBINE_MAX], recv[MPIR_GPUDT_COMBINE_MAX];
    struct MPIDI_Gpudt_block own_from, own_to;  /* what the process sends itself */
    MPIR_Gpudt_buffer *send_buffer[MPIR_GPUDT_COMBINE_MAX];     /* NULL: empty */
    MPIR_Gpudt_buffer *recv_buffer[MPIR_GPUDT_COMBINE_MAX];
    int64_t offer_sz;           /* bytes of a slot in this call */
    char *slots;                /* offers of this process, and those to it */
};

/* Set what this process sends and receives, and what it copies from itself; in place, it has that.
 *   m  (IN/OUT)  its first six members are set */
void MPIDI_Gpudt_move_set(struct MPIDI_Gpudt_move *m, const struct MPIDI_Gpudt_vector *send,
                          const struct MPIDI_Gpudt_vector *recv);

/* Describe the buffers of this process.
 *   own  (OUT)  what it tells the others */
void MPIDI_Gpudt_move_describe(struct MPIDI_Gpudt_move *m, struct MPIDI_Gpudt_ability *own);

/* Release the buffers. */
void MPIDI_Gpudt_move_free(struct MPIDI_Gpudt_move *m);

/* Whether a call is done this way, from what all have told; and set the pace. The calls of a
 * communicator, or the starts of a persistent call, come here in the order in which they were made,
 * when those before have ended. */
bool MPIDI_Gpudt_move_judge(struct MPIDI_Gpudt_move *m, const struct MPIDI_Gpudt_ability *all,
                            struct MPIDI_Gpudt_pace *pace);

/* Whether another process sends to this one. */
bool MPIDI_Gpudt_move_is_from(const struct MPIDI_Gpudt_move *m, int i);

/* Write the offers of this process into the first local_size slots. */
void MPIDI_Gpudt_move_offer(const struct MPIDI_Gpudt_move *m);

/* Start to copy what this process receives, by the offers in the other slots. Returns how that
 * ended.
 *   op             (OUT)  operations in flight, however that ended; NULL: none
 *   mpi_errno_ptr  (OUT)  the error, if it FAILED */
enum MPIDI_Gpudt_end_e MPIDI_Gpudt_move_start(const struct MPIDI_Gpudt_move *m, MPIR_Gpudt_op ** op,
                                              int *mpi_errno_ptr);

/* Do a call that all processes are able to do, as far as is known.
 *   all      (IN)      what they have told
 *   kept     (IN/OUT)  offers of the last calls of the kind
 *   is_done  (OUT)     false in all processes: one could not start its copies */
int MPIDI_Gpudt_move_do(struct MPIDI_Gpudt_move *m, const struct MPIDI_Gpudt_ability *all,
                        struct MPIDI_Gpudt_kept **kept, bool * is_done);

/* ---- offers that are kept (ch3u_gpudt_kept.c) ---- */

/* Compare the offers of this process with those that it has kept. To be called by each process, before
 * all tell each other.
 *   kept  (IN)      NULL: none
 *   own   (IN/OUT)  what it tells the others; sets the members about exchanges */
void MPIDI_Gpudt_kept_compare(struct MPIDI_Gpudt_move *m, const struct MPIDI_Gpudt_kept *kept,
                              struct MPIDI_Gpudt_ability *own);

/* Whether offers need not be exchanged, which is the same in all processes; if so, set m's slots, for
 * as long as the offers are kept. */
bool MPIDI_Gpudt_kept_use(struct MPIDI_Gpudt_move *m, struct MPIDI_Gpudt_kept *kept,
                          const struct MPIDI_Gpudt_ability *all);

/* Give an exchange its number, before it begins. */
void MPIDI_Gpudt_kept_number(MPIR_Comm * comm, const struct MPIDI_Gpudt_ability *all);

/* Keep the offers of an exchange that has succeeded in this process.
 *   own_sz  (IN)  of the longest offer of this process */
void MPIDI_Gpudt_kept_set(const struct MPIDI_Gpudt_move *m, int64_t own_sz,
                          struct MPIDI_Gpudt_kept **kept);

/* Free those of a communicator. */
void MPIDI_Gpudt_kept_free(MPIR_Comm * comm);

/* As MPIDI_Gpudt_coll_refuse. */
void MPIDI_Gpudt_move_refuse(const struct MPIDI_Gpudt_move *m, enum MPIDI_Gpudt_coll_e kind,
                             int mpi_errno);

#endif /* MPIDI_GPUDT_MOVE_IMPL_H_INCLUDED */
