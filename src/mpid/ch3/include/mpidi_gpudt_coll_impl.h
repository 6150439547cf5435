/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Collectives between GPUs of a node: what their two files share. ch3u_gpudt_coll.c is about the
 * agreement of the processes, ch3u_gpudt_coll_part.c about what each of them does. */

#ifndef MPIDI_GPUDT_COLL_IMPL_H_INCLUDED
#define MPIDI_GPUDT_COLL_IMPL_H_INCLUDED

#include "mpidi_gpudt_coll.h"
#include "gpudt_combine.h"

/* What each process tells the others. */
struct MPIDI_Gpudt_coll_name {
    struct MPIR_Gpudt_operand in, out;
    uint64_t gpu;
    int64_t is_able;            /* false: its buffers are not for this way */
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
    MPI_Datatype datatype;
    MPI_Op op;
    int root;                   /* of REDUCE */
    bool is_in_place;
    bool is_apt;                /* false: the buffers are not for this way */
    MPIR_Comm *comm;
    MPIR_Errflag_t *errflag;
    MPI_Aint extent;
    uint8_t *pause, *next_pause;        /* of the communicator, for this kind and size */
    MPIR_Gpudt_buffer *in_buffer, *out_buffer;  /* NULL: not described */
    struct MPIDI_Gpudt_coll_name *name; /* of all processes */
};

/* Whether a process combines a part: of those that share a GPU only one does, as the others would
 * wait for the GPU to switch between processes.
 *   from  (IN)  the process that comes first */
bool MPIDI_Gpudt_coll_is_worker(const struct MPIDI_Gpudt_coll_call *c, int from, int rank);

/* Do a call of which all buffers can be mapped, as far as is known. Parts that their processes
 * could not start are done by messages, and the buffers are then refused. */
int MPIDI_Gpudt_coll_parts(struct MPIDI_Gpudt_coll_call *c, struct MPIDI_Gpudt_known *k);

#endif /* MPIDI_GPUDT_COLL_IMPL_H_INCLUDED */
