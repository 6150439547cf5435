/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* One case of the fuzz test: drawn from a seed, run, and compared with the oracle. Uses the
 * engine's interface and control variables; must not know its internals. */

#ifndef FUZZ_H_INCLUDED
#define FUZZ_H_INCLUDED

#include "mpiimpl.h"
#include "gpudt.h"

#include "gpu.h"
#include "oracle.h"
#include "randtype.h"
#include "report.h"

enum direction {
    DIRECTION__PACK,
    DIRECTION__UNPACK,
    DIRECTION__COPY,            /* from datatype to datatype */
    NDIRECTIONS
};

/* The call to use. */
enum way {
    WAY__ENGINE,                /* MPIR_Gpudt_*, blocking */
    WAY__ENGINE_TEST,           /* nonblocking, completed by MPIR_Gpudt_test */
    WAY__ENGINE_WAIT,           /* nonblocking, completed by MPIR_Gpudt_wait */
    WAY__TYPEREP,               /* MPIR_Typerep_ipack, _iunpack, MPIR_Ilocalcopy */
    WAY__MPI,                   /* MPI_Pack, MPI_Unpack, MPIR_Localcopy: the whole stream */
    NWAYS
};

/* Source or destination. A window of an arena contains its buffer and, around it, bytes that must
 * not change. The arena's shadow, in ordinary memory, has the expected contents. */
struct side {
    enum mem_kind kind;
    const struct mem *arena;
    unsigned char *shadow;      /* of the whole arena */
    size_t off, len;            /* the window, bytes of the arena */
    MPI_Aint buf_off;           /* offset of the buffer in the arena; may be outside of the
                                 * window */
    MPI_Datatype type;          /* MPI_DATATYPE_NULL: packed data */
    oracle *map;
    char *text;
    MPI_Aint count;
    MPI_Aint lo, hi;            /* bytes of the buffer that belong to the type map */
    MPI_Aint size;              /* of the whole packed stream */
    MPI_Aint first;             /* position in the stream where the transfer starts */
    int is_absolute;            /* MPI_BOTTOM and absolute addresses */
};

/* A value of one of the engine's control variables. */
struct choice {
    int value;
    const char *name;
};

struct fuzz_case {
    uint64_t seed, index;
    struct rng rng;
    enum direction direction;
    enum way way;
    struct side src, dst;
    MPI_Aint asked;             /* bytes requested */
    MPI_Aint available;         /* requested bytes that exist */
    MPI_Aint n;                 /* bytes to be moved: all available, unless no call is made */
    CUcontext current;          /* context that is current during the call */
    int free_early;             /* the types are freed while the operation is in flight */
    /* control variables for this case */
    const struct choice *strategy, *route;
    int depth, max_blocks;
    MPI_Aint max_size;          /* approximate size of a datatype */
};

struct fuzz_opts {
    int only_kind[2];           /* -1: any; else enum mem_kind for source and destination */
    int only_way;               /* -1: any */
    int keep_strategy;          /* leave the control variables as the environment sets them */
};
extern struct fuzz_opts fuzz_opts;

/* ---- arenas (arena.c) ---- */

#define ARENA_SZ ((size_t) 4 << 20)

/* Allocate two arenas of each kind of memory, one for sources and one for destinations. */
void arenas_make(void);
void arenas_free(void);
/* Compare every arena with its shadow as a whole. */
void arenas_check(void);
/* Set a side to the arena of a kind. is_dst: 0 source, 1 destination. */
void side_set_arena(struct side *side, enum mem_kind kind, int is_dst);

/* ---- drawing (draw.c) ---- */

/* Draw case `index` of a seed. The result depends on these two numbers only. */
void case_draw(struct fuzz_case *c, uint64_t seed, uint64_t index);
void case_free(struct fuzz_case *c);
/* Whether the engine leaves it to the CPU: both sides are host memory. */
int case_is_host(const struct fuzz_case *c);
/* Whether the engine leaves it to the CPU and no other call is tested. */
int case_is_left(const struct fuzz_case *c);
/* Print a case, and the command line to run it alone. */
void case_print(const struct fuzz_case *c);

/* ---- running (run.c) ---- */

/* Run a case and compare everything. Returns 1 if it is right. */
int case_run(struct fuzz_case *c);

#endif /* FUZZ_H_INCLUDED */
