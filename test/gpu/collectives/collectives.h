/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Calls of collectives as data, so that the same call can be made on buffers in GPU memory and on
 * their twins in host memory. */

#ifndef COLLECTIVES_H_INCLUDED
#define COLLECTIVES_H_INCLUDED

#include "randtype.h"
#include "twin.h"

#define MAX_PROCS 8
#define MAX_FLIGHTS 5           /* random calls in flight at a time */

/* F(Name, name): the calls MPI_Name, MPI_Iname and MPI_Name_init. */
#define MOVING_CALLS(F)                         \
    F(Bcast, bcast)                             \
    F(Gather, gather)                           \
    F(Gatherv, gatherv)                         \
    F(Scatter, scatter)                         \
    F(Scatterv, scatterv)                       \
    F(Allgather, allgather)                     \
    F(Allgatherv, allgatherv)                   \
    F(Alltoall, alltoall)                       \
    F(Alltoallv, alltoallv)                     \
    F(Alltoallw, alltoallw)                     \
    F(Neighbor_allgather, neighbor_allgather)   \
    F(Neighbor_allgatherv, neighbor_allgatherv) \
    F(Neighbor_alltoall, neighbor_alltoall)     \
    F(Neighbor_alltoallv, neighbor_alltoallv)   \
    F(Neighbor_alltoallw, neighbor_alltoallw)
#define REDUCING_CALLS(F)                       \
    F(Reduce, reduce)                           \
    F(Allreduce, allreduce)                     \
    F(Reduce_scatter, reduce_scatter)           \
    F(Reduce_scatter_block, reduce_scatter_block) \
    F(Scan, scan)                               \
    F(Exscan, exscan)

#define CALL_ID(Name_, name_) CALL__##name_,
enum what {
    MOVING_CALLS(CALL_ID)
    CALL__NMOVING,
    CALL__before_reducing = CALL__NMOVING - 1,
    REDUCING_CALLS(CALL_ID)
    CALL__NCALLS
};
#undef CALL_ID

enum mode {
    MODE__BLOCKING,
    MODE__NONBLOCKING,
    MODE__PERSISTENT,
    MODE__NMODES
};

/* What one process sends or receives: for one peer or for each. The first member of an array is
 * used where the call has no array. */
struct part {
    int is_used;                /* 0: the process has no such buffer */
    int is_in_place;
    int n;                      /* members used */
    int count[MAX_PROCS];
    MPI_Aint displ[MAX_PROCS];  /* in elements; in bytes if the call takes several datatypes */
    int int_displ[MAX_PROCS];
    MPI_Datatype type[MAX_PROCS];
    MPI_Aint lo, hi;            /* range of displacements of all data */
    enum mem_kind kind;
    int shift;
};

struct call {
    enum what what;
    enum mode mode;
    MPI_Comm comm;
    int has_twin_comm;          /* the call on the twins is on another communicator */
    MPI_Comm twin_comm;         /* then: with the same processes */
    int root;
    MPI_Op op;
    struct part send, recv;     /* MPI_Bcast: recv only */
    int counts[MAX_PROCS];      /* MPI_Reduce_scatter */
};

const char *call_name(enum what what);

/* Start or make a call. In blocking mode the request is unused. */
int call_start(const struct call *c, const void *sendbuf, void *recvbuf, MPI_Request * request);

/* Compute lo and hi of a part from its counts, displacements and datatypes. */
void part_measure(struct part *p, int are_bytes);

/* Fills the image of a buffer with valid operands. */
typedef void (*fill_fn) (struct twin * t, const struct part * p, unsigned seed);

/* A call in flight: on buffers and on their twins. */
struct flight {
    struct call call;
    fill_fn fill;
    unsigned seed;
    struct twin send, recv;
    MPI_Request request[2];
};

/* Start the call on the twins, then on the buffers; a blocking one is made. Collective. */
void flight_begin(struct flight *f, const struct call *c, fill_fn fill, unsigned seed);
/* Wait, and compare; a persistent call is made once more, with other data. Calls in flight are ended in
 * the same order in all processes. Returns 1 if all is well in this process. */
int flight_end(struct flight *f);
/* Both at once. */
int call_check(const struct call *c, fill_fn fill, unsigned seed);

/* ---- calls whose results are computed ---- */

#define COMPUTED_N 600          /* integers that a process has for each other one */

/* A nonblocking or persistent call. */
struct computed {
    enum what what;             /* one of computed_whats */
    int number;                 /* distinguishes its data */
    int size, me, root;         /* of its communicator */
    int ranks[MAX_PROCS];       /* in MPI_COMM_WORLD, of its processes */
    struct mem from, to;
    MPI_Request request;
};

#define NCOMPUTED 8
extern const enum what computed_whats[NCOMPUTED];

/* Make the buffers of a call, in a kind of memory, filled. The number determines the root, too. */
void computed_make(struct computed *p, enum what what, int number, enum mem_kind where,
                   MPI_Comm comm);
/* Fill the buffers with the data of a number. */
void computed_fill(struct computed *p, int number);
/* Start a nonblocking call, or make the request of a persistent one. All of its arguments but the
 * buffers are gone when this returns. Returns its error. */
int computed_start(struct computed *p, enum mode mode, MPI_Comm comm);
/* Compare the result; or only tell whether it is right. */
void computed_check(const struct computed *p);
int computed_is_complete(const struct computed *p);
void computed_free(struct computed *p);
/* How often all processes have done a part or copied a block without messages. Collective on
 * MPI_COMM_WORLD. */
long direct_count(void);

/* ---- calls between two groups ---- */

#define NINTER 11
extern const enum what inter_whats[NINTER];

/* An intercommunicator between the first half of the processes, rounded down, and the others. Freed by
 * the caller. */
MPI_Comm inter_comm(void);
/* One of inter_whats, blocking or nonblocking, of n integers of each process, or n for all of a group.
 * Calls with a root give data of the first process to the second group, or the other way round. Returns
 * its error. */
int inter_call(MPI_Comm comm, enum mode mode, enum what what, const void *from, void *to, int n);
/* Whether the result of a call that has succeeded is right, if `from` was flat_operand. */
int inter_is_right(enum what what, const int *values, int n);
/* Integer k of what a process of the world has. */
int flat_operand(int i, int k);

/* ---- operands of reductions ---- */

/* A predefined operation and a datatype it is defined for. */
struct operands {
    MPI_Op op;
    MPI_Datatype type;
};

void operands_draw(struct rng *rng, struct operands *o);
/* The i-th pair; 0 if there is no such pair. */
int operands_get(int i, struct operands *o);
/* Whether GPUs have such numbers. */
int operands_have_kernel(const struct operands *o);
/* Finite values for which no operation overflows or is undefined. */
void operands_fill(struct twin *t, const struct part *p, unsigned seed);
/* Whether they are such that floating-point results do not depend on the order of operands, in the
 * sign of a zero either. */
extern int operands_exact;
/* Random bytes everywhere. */
void bytes_fill(struct twin *t, const struct part *p, unsigned seed);

/* An associative operation, not commutative, on each byte of any datatype. */
void op_affine(void *in, void *inout, int *len, MPI_Datatype * type);

/* ---- tests ---- */

extern int world_rank;
/* The only kind of memory to draw; MEM__NKINDS: any. */
extern enum mem_kind kind_only;

/* A random call in random kinds of memory, and what it uses. */
struct random_call {
    struct flight flight;
    MPI_Datatype type;          /* freed with the call, unless it is null */
    MPI_Op op;
    char text[256];             /* for the message of a failure */
};

/* Begin a random call on communicators of comm_draw. Collective, as is the end. */
void moving_begin(struct random_call *r, unsigned long seed, unsigned long index);
void reducing_begin(struct random_call *r, unsigned long seed, unsigned long index);
void random_end(struct random_call *r);
/* Many of them, several in flight at a time. Process 0 prints how many a second.
 *   begin  (IN)  what begins one; NULL: either */
void many_run(const char *name, void (*begin) (struct random_call *, unsigned long, unsigned long),
                unsigned long seed, unsigned long ncalls);
/* A random call that moves data; that of the twins is on MPI_COMM_WORLD, which has the same processes.
 * Returns as call_check. */
int moving_direct_call(MPI_Comm comm, enum what what, enum mode mode, enum mem_kind kind,
                       unsigned long seed);
/* MPI_Reduce_local of everything, in this process alone. */
void local_run(unsigned long seed);
/* What failed with the release's own handling of device memory. */
void cases_run(void);
/* Reductions of datatypes with a negative extent. */
void negative_run(void);
/* Reductions of ranges whose descriptors have numbers of earlier ones. */
void descriptors_run(void);
/* Where the temporary buffers of algorithms are that control variables choose. */
void transports_run(void);
/* Collectives that map the other processes' memory; of the pairs of operation and datatype one in
 * one_in. */
void direct_run(unsigned seed, unsigned one_in);
/* The same with each driver call failing once. Emulated driver only. */
void direct_faults_run(enum mode mode);
void direct_bcast_faults_run(void);

/* Parts that processes cannot do go by messages: GPUs do not reach each other. */
void direct_unreached_run(void);

/* The processes get no memory that they share: files cannot be written. */
void direct_unshared_run(void);
/* Other threads call MPI while a collective waits for its GPU. Emulated driver only. */
void threads_run(void);
/* Collectives that move data likewise, with random datatypes in memory of a kind. */
void direct_moves_run(enum mem_kind kind, enum mode mode, unsigned long seed);
void direct_move_faults_run(enum mem_kind kind, enum mode mode);
/* Nonblocking ones, many in flight. */
void pending_run(unsigned long seed);
/* Many arrays in turn. */
void in_turn_run(void);
/* Reductions while the program holds a stream (held.c). */
void held_run(void);
/* With fault tolerance, processes write to their own memory only. */
void unwritten_run(void);

/* A process dies while one is in flight, or before or in a blocking one. End the program. */
void dies_run(void);

/* Wait until all the others have ended what they did before one of them dies: at the news of a death,
 * a process does not read what that process has sent. */
void death_await(int dying);
void dies_blocking_run(int is_before);
/* Collectives by MPICH's algorithms, with each driver call failing once. Emulated driver only.
 *   between_groups  (IN)  on intercommunicators */
void flat_faults_run(enum mode mode, int between_groups);
/* Persistent ones. */
void persistent_run(unsigned long seed);
/* A process dies while one is active. Ends the program. */
void persistent_dies_run(void);
/* Reductions and broadcasts on several nodes. */
void nodes_run(unsigned long seed);

/* A random datatype that may be repeated: elements at multiples of its extent, which may be
 * negative, have no byte in common. It has the bounds that MPICH takes it to have, which allocates
 * temporary buffers by them. Freed by the caller. */
MPI_Datatype type_draw(struct rng *rng, const struct randtype_opts *opts);

/* A communicator of a random kind, to be used with others of the same processes, and by later calls. It
 * lives until comms_free.
 *   may_be_inter, must_be_topo  (IN)   what the call allows
 *   is_inter                    (OUT)  whether it has two groups */
MPI_Comm comm_draw(struct rng *rng, int may_be_inter, int must_be_topo, int *is_inter);
void comms_free(void);
/* A kind of memory that this machine has. */
enum mem_kind kind_draw(struct rng *rng);
/* An offset of a buffer from an aligned address: any, in memory that the CPU does not access. */
int shift_draw(struct rng *rng, enum mem_kind kind);

#endif /* COLLECTIVES_H_INCLUDED */
