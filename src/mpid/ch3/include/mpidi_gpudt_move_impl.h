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

/* Elements of a buffer that go from one process to another. */
struct MPIDI_Gpudt_block {
    const void *buf;
    MPI_Aint count;             /* 0: none */
    MPI_Datatype datatype;
};
#define MPIDI_GPUDT_NO_BLOCK ((struct MPIDI_Gpudt_block) {.datatype = MPI_BYTE })

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
    struct MPIDI_Gpudt_block send[MPIR_GPUDT_COMBINE_MAX], recv[MPIR_GPUDT_COMBINE_MAX];
    struct MPIDI_Gpudt_block own_from, own_to;  /* what the process sends itself */
    MPIR_Gpudt_buffer *send_buffer[MPIR_GPUDT_COMBINE_MAX];     /* NULL: empty */
    MPIR_Gpudt_buffer *recv_buffer[MPIR_GPUDT_COMBINE_MAX];
    int64_t offer_sz;           /* bytes of a slot in this call */
    char *slots;                /* offers of this process, and those to it */
};

/* Do a call that all processes are able to do, as far as is known.
 *   is_done  (OUT)  false in all processes: one could not start its copies */
int MPIDI_Gpudt_move_do(struct MPIDI_Gpudt_move *m, bool * is_done);

#endif /* MPIDI_GPUDT_MOVE_IMPL_H_INCLUDED */
