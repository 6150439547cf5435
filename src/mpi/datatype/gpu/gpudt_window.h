/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Windows in GPU memory that other processes of the node map, to copy to and from them and to
 * update them without the process that owns the window. Built with and without CUDA, so it must not
 * know cuda.h. Callers hold the lock of the progress engine. */

#ifndef GPUDT_WINDOW_H_INCLUDED
#define GPUDT_WINDOW_H_INCLUDED

#include "gpudt.h"

/* The *exposure* of a window: what another process of the node needs to map its memory. */
#define MPIR_GPUDT_EXPOSURE_SZ 128

/* A window of another process, in a process that may map it. */
typedef struct MPIR_Gpudt_target MPIR_Gpudt_target_t;

/* Describe the memory of a window of this process.
 *   base, size  (IN)   the window
 *   mem         (OUT)  MPIR_GPUDT_EXPOSURE_SZ bytes, aligned to 8; all zero if it cannot be mapped
 * Returns whether other processes can map it: not if it is host or managed memory, a mapped virtual
 * range or memory of a pool, if the driver fails, or if MPIR_CVAR_GPUDT_DIRECT forbids it. */
bool MPIR_Gpudt_expose(const void *base, MPI_Aint size, void *mem);

/* Get ready to use a window of another process; its memory is mapped when it is first used.
 *   mem     (IN)   from MPIR_Gpudt_expose there
 *   target  (OUT)  NULL if it cannot be mapped. Freed by MPIR_Gpudt_target_free */
int MPIR_Gpudt_target_make(const void *mem, MPIR_Gpudt_target_t ** target);

/* The same for a window of this process, which is for updates only.
 *   base, size  (IN)   of MPIR_Gpudt_expose
 *   target      (OUT)  NULL if kernels cannot be used for it */
int MPIR_Gpudt_target_own(const void *base, MPI_Aint size, MPIR_Gpudt_target_t ** target);

/* Unmap the memory of another process's window before that process frees it, also if messages have
 * mapped it, but not from where operations use it. The driver waits for kernels that run in the
 * context. Operations on the target map it again. NULL is allowed. */
void MPIR_Gpudt_target_unmap(MPIR_Gpudt_target_t * target);

/* Release a target and its reference to the mapped memory, which stays mapped until the room is
 * needed. NULL is allowed. */
void MPIR_Gpudt_target_free(MPIR_Gpudt_target_t * target);

/* MPI_Put or MPI_Get. */
struct MPIR_Gpudt_rma {
    MPI_Aint disp, count;       /* place in the window, in bytes, and what is there */
    MPI_Datatype datatype;
    const void *buf;            /* of this process */
    MPI_Aint bufcount;
    MPI_Datatype buftype;
    bool is_get;                /* from the window to the buffer; else the reverse */
};

/* Whether this process has a GPU in use, which can copy to and from host memory. */
bool MPIR_Gpudt_is_in_use(void);

/* Start to copy between a buffer of this process and a window of another one.
 *   r         (IN)   the buffer may be in any memory
 *   may_lead  (IN)   others may join the operation, and end with it: see MPIR_Gpudt_series_join. The
 *                    caller holds them for complete only when this one is
 *   will_lead (IN)   others are going to join: if it is short, its launch waits for them, until there
 *                    are many, or the caller tests or waits
 *   op        (OUT)  as for MPIR_Gpudt_ipack
 *   is_taken  (OUT)  false: nothing was started, and a message must do it. The window cannot be
 *                    mapped, the data would not be within it, sizes differ, blocks of the buffer are
 *                    in different kinds of memory, it is in host memory and this process has no GPU
 *                    in use, or it is short and other processes share the GPU */
int MPIR_Gpudt_target_move(MPIR_Gpudt_target_t * target, const struct MPIR_Gpudt_rma *r,
                           bool may_lead, bool will_lead, MPIR_Gpudt_op ** op, bool * is_taken);

/* Count a put or get whose data is a message of its own. */
void MPIR_Gpudt_count_window_message(void);

/* Puts or gets of one kind on a target, the first of which waits for a launch. */
typedef struct MPIR_Gpudt_series MPIR_Gpudt_series_t;

/* Find a series of an operation's kind: with the same datatypes and counts, and with addresses that are
 * aligned alike. Makes no driver call.
 *   r  (IN)  any operation, also with a buffer in host memory
 * Returns NULL if there is none; valid until the next call for the target. */
MPIR_Gpudt_series_t *MPIR_Gpudt_series_find(MPIR_Gpudt_target_t * target,
                                            const struct MPIR_Gpudt_rma *r);

/* Let an operation join a series of its kind, at the cost of one driver call at most, and of none if the
 * one before it in that series was from the same allocation: it is launched with that series' first
 * operation, and complete when that one is.
 *   series  (IN)  of MPIR_Gpudt_series_find
 * Returns false, with nothing done, if MPIR_Gpudt_target_move must do it: there is no series from the
 * allocation of the buffer, the data would not be within the window, or the first one has been
 * launched. */
bool MPIR_Gpudt_series_join(MPIR_Gpudt_target_t * target, MPIR_Gpudt_series_t * series,
                            const struct MPIR_Gpudt_rma *r);

/* ---- updates: MPI_Accumulate, MPI_Get_accumulate, MPI_Fetch_and_op, MPI_Compare_and_swap ---- */

/* What all who update a window hold while they do so: several at a time if all of them use atomic
 * operations of GPUs, else one. An update enters it for each kernel, which is short. It waits for the
 * kernel after the call of pause, which lets other threads call MPI; they may wait for the guard
 * themselves, so it is left before the call of resume. Where work follows the kernel, the other
 * threads wait. */
struct MPIR_Gpudt_guard {
    int (*enter) (void *state, bool are_several);
    void (*leave) (void *state);
    void (*pause) (void);
    void (*resume) (void);
    void *state;
};

struct MPIR_Gpudt_update {
    const char *name;           /* of MPI's function, for the trace */
    MPI_Aint disp, count;       /* place in the window, in bytes, and what is there */
    MPI_Datatype datatype;
    MPI_Op op;                  /* MPI_OP_NULL: compare and swap */
    const void *origin;         /* not if op is MPI_NO_OP */
    MPI_Aint origin_count;
    MPI_Datatype origin_type;
    const void *compare;        /* of compare and swap */
    bool has_result;
    void *result;
    MPI_Aint result_count;
    MPI_Datatype result_type;
};

/* Update a window of another process, by a GPU of this one, or of its own. Complete when the call
 * returns. Origin, result and what is compared may be GPU memory or not.
 *   is_taken  (OUT)  false: nothing was done, and a message must do it. The window cannot be
 *                    mapped, no kernel does the operation, this process has no GPU in use, the
 *                    arguments do not fit, or it is short and other processes share the GPU */
int MPIR_Gpudt_target_update(MPIR_Gpudt_target_t * target, const struct MPIR_Gpudt_update *u,
                             const struct MPIR_Gpudt_guard *guard, bool * is_taken);

#endif /* GPUDT_WINDOW_H_INCLUDED */
