/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* What is known of the GPUs of other processes: whether their memory can be mapped. Callers are
 * serialized by the lock of the progress engine. */

#ifndef GPUDT_REMOTE_H_INCLUDED
#define GPUDT_REMOTE_H_INCLUDED

#include "gpudt_export.h"

/* A GPU of another process, as seen by an engine, and one way to map its memory. */
struct MPII_Gpudt_remote {
    struct MPII_Gpudt_remote *next;
    const MPII_Gpudt_engine_t *engine;
    uint64_t process, gpu;
    int kind;                   /* as in an export */
    bool was_opened;
    int nfailures;              /* before the first success */
};

/* The GPU of an allocation; NULL: out of memory. */
struct MPII_Gpudt_remote *MPII_Gpudt_remote_find(const MPII_Gpudt_engine_t * engine,
                                                 const struct MPII_Gpudt_export *export);

/* Forget the GPUs of a process; 0: of all processes. */
void MPII_Gpudt_remotes_drop(uint64_t process);

#endif /* GPUDT_REMOTE_H_INCLUDED */
