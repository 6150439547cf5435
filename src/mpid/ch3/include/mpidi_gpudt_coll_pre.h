/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* What a communicator keeps for collectives between GPUs of a node (mpidi_gpudt_coll.h). Included
 * by mpidpre.h, so it must not know other types of MPICH's. */

#ifndef MPIDI_GPUDT_COLL_PRE_H_INCLUDED
#define MPIDI_GPUDT_COLL_PRE_H_INCLUDED

#include <stdbool.h>
#include <stdint.h>

struct MPIR_Comm;
struct MPIDI_Gpudt_known_table;
struct MPIDI_Gpudt_kept;
struct MPIDI_Gpudt_icoll;
struct MPIDI_Gpudt_agree_shm;

enum MPIDI_Gpudt_coll_e {
    MPIDI_GPUDT_COLL__ALLREDUCE,
    MPIDI_GPUDT_COLL__REDUCE,
    MPIDI_GPUDT_COLL__REDUCE_SCATTER_BLOCK,
    MPIDI_GPUDT_COLL__REDUCE_SCATTER,
    MPIDI_GPUDT_COLL__ALLGATHER,
    MPIDI_GPUDT_COLL__BCAST,
    MPIDI_GPUDT_COLL__ALLGATHER_TYPED,
    MPIDI_GPUDT_COLL__ALLGATHERV,
    MPIDI_GPUDT_COLL__GATHER,
    MPIDI_GPUDT_COLL__GATHERV,
    MPIDI_GPUDT_COLL__SCATTER,
    MPIDI_GPUDT_COLL__SCATTERV,
    MPIDI_GPUDT_COLL__ALLTOALL,
    MPIDI_GPUDT_COLL__ALLTOALLV,
    MPIDI_GPUDT_COLL__ALLTOALLW,
    MPIDI_GPUDT_COLL__ALLTOALL_WRITTEN, /* of contiguous blocks, which their senders write */
    MPIDI_GPUDT_COLL__BCAST_LONG,       /* of contiguous data, to several processes */
    MPIDI_GPUDT_NCOLLS
};

#define MPIDI_GPUDT_COLL_SIZES 64       /* classes of sizes: powers of two, in bytes */

/* When calls of a kind and size ask whether this way is possible. */
struct MPIDI_Gpudt_pace {
    uint8_t pause;              /* calls to come that do not ask */
    uint8_t next_pause;         /* the same if the next one that asks is told no */
    bool has_begun;             /* there was a call: the first one does not ask */
    bool is_refused;            /* a process could not start its copies in the last call: the next
                                 * one that asks is told no */
};

/* Where the processes of a communicator are, as far as this matters. */
enum MPIDI_Gpudt_coll_place_e {
    MPIDI_GPUDT_COLL__NEW,      /* not known yet */
    MPIDI_GPUDT_COLL__ON_NODE,  /* on one node */
    MPIDI_GPUDT_COLL__ON_NODES, /* on several ones, and several on one of them */
    MPIDI_GPUDT_COLL__FAR       /* elsewhere, or without GPU memory for ever */
};

/* What is known from calls before. All but the mappings is the same in all processes. */
struct MPIDI_Gpudt_past {
    struct MPIDI_Gpudt_known_table *known;      /* their buffers; NULL: none yet */
    uint64_t nuses;             /* calls that looked for theirs */
    double lost_us;             /* by messages that moved data, so far */
    bool is_of_one;             /* they all have the same buffers */
};

/* Part of a communicator. The same in all of its processes, but for what is said above. */
typedef struct MPIDI_Gpudt_coll {
    enum MPIDI_Gpudt_coll_place_e place;
    struct MPIDI_Gpudt_pace pace[MPIDI_GPUDT_NCOLLS][MPIDI_GPUDT_COLL_SIZES];
    struct MPIDI_Gpudt_past past;
    struct MPIDI_Gpudt_kept *kept[MPIDI_GPUDT_NCOLLS];  /* offers of the last calls of a kind */
    uint64_t nexchanges;        /* number of the last exchange of offers that this process knows of */
    bool has_asked_shm;         /* agree_shm was made, or cannot be */
    struct MPIDI_Gpudt_agree_shm *agree_shm;    /* memory for exchanges; NULL: by messages */
    struct MPIDI_Gpudt_icoll *line;     /* nonblocking calls that may still change the above */
} MPIDI_Gpudt_coll_t;

/* A communicator is made. */
#define MPIDI_Gpudt_coll_init(comm_)                                            \
    memset(&(comm_)->dev.gpudt_coll, 0, sizeof((comm_)->dev.gpudt_coll))

/* A communicator is freed. */
void MPIDI_Gpudt_coll_free(struct MPIR_Comm *comm);

#endif /* MPIDI_GPUDT_COLL_PRE_H_INCLUDED */
