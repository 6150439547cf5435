/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Shared by the files of this program, whose cases are listed in main.c. */

#ifndef RMA_DYNAMIC_H_INCLUDED
#define RMA_DYNAMIC_H_INCLUDED

#include "report.h"
#include "side.h"

#include <stdbool.h>

enum { MAX_RANKS = 4 };

extern int rank, nranks, next, prev;
extern enum mem_kind kind;      /* memory of this process: one of two GPUs */
extern MPI_Win win;

/* Operations of this process that were direct. */
unsigned long long ndirect(void);

/* On return, locks that were asked for are granted, and posts have arrived. */
void messages_wait(void);

void window_make(void);

/* The address of something in the next process. */
MPI_Aint next_address(const void *mine);

/* The cases. */
void synced(void);
void never(void);
void busy(void);
void late(void);
void renewed(void);
void full(void);
void changing(void);
void freed(void);
void detached(void);
void attach(void);

#endif /* RMA_DYNAMIC_H_INCLUDED */
