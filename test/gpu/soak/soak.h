/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* What the parts of the program `soak` have in common: see main.c. Each part is called by all processes
 * with the same random numbers, rng, and with own ones, which differ. */

#ifndef SOAK_H_INCLUDED
#define SOAK_H_INCLUDED

#include "randtype.h"
#include "report.h"
#include "side.h"

extern int rank, nprocs;

/* ---- resources of the process: state.c ---- */

struct state {
    unsigned long long pinned, device, types, mapped;
    int files, shared;          /* open files; mappings of memory that others may share */
    double memory;              /* MiB of private memory */
};

void state_get(struct state *state);
/* Pools may have grown up to a small maximum; all other resources must not have. */
void state_compare(const struct state *before, const struct state *after);

/* ---- what goes on ---- */

/* The most bytes of a message that MPI_Bsend is used for, approximately, and bytes to attach. */
#define BUFFERED_MAX (8 << 10)
#define ATTACHED (16 * (2 * BUFFERED_MAX + MPI_BSEND_OVERHEAD))

/* A datatype of about so many bytes: contiguous, equidistant blocks, a list, or a struct. */
MPI_Datatype type_draw(struct rng *rng, MPI_Aint bytes, MPI_Aint * count);
void type_end(MPI_Datatype * type);
enum mem_kind kind_draw(struct rng *rng);

/* Messages round a ring of processes; receives are posted first, or last: messages.c. */
void messages(struct rng *rng, struct rng *own, unsigned seed, MPI_Comm comm);

/* A window of any flavour, some epochs, and its end: windows.c. */
void window(struct rng *rng, struct rng *own, MPI_Comm comm);

/* A file that is written, read and removed: files.c. It is in a new folder in TMPDIR. */
void folder_make(void);
void folder_remove(void);
void file(struct rng *rng, struct rng *own, unsigned seed, MPI_Comm comm);

#endif /* SOAK_H_INCLUDED */
