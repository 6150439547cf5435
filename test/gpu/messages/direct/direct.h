/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Messages that one of the processes copies between GPUs: what main.c and many.c share. */

#ifndef DIRECT_H_INCLUDED
#define DIRECT_H_INCLUDED

#include "report.h"
#include "side.h"

extern int rank, other;
extern enum mem_kind kind;      /* of this process's buffers */

/* Cases of many.c, which main.c describes. */
void window(void);
void both(void);
void ahead(void);
void missed(void);
void starved(void);
void beside(void);

/* Have threads that are created from now on, among them those of emulated GPUs, round pauses up to
 * milliseconds: a kernel gives up after a number of pauses, and on a busy machine all would. */
void kernels_wait_longer(void);

#endif /* DIRECT_H_INCLUDED */
