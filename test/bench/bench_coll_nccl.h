/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* NCCL, for bench_coll: loaded at run time, without its header. Must not know what is measured. */

#ifndef BENCH_COLL_NCCL_H_INCLUDED
#define BENCH_COLL_NCCL_H_INCLUDED

#include <cuda.h>

#define NCCL_FLOAT64 8          /* as in nccl.h */
#define NCCL_SUM 0

typedef struct {
    char bytes[128];
} nccl_id;

/* Functions of NCCL. They return 0 or an error; the last arguments are a communicator and a
 * stream. */
struct nccl {
    int (*ncclGetUniqueId) (nccl_id * id);
    int (*ncclCommInitRank) (void **comm, int nprocs, nccl_id id, int rank);
    int (*ncclCommDestroy) (void *comm);
    int (*ncclGroupStart) (void);
    int (*ncclGroupEnd) (void);
    int (*ncclAllReduce) (const void *, void *, size_t, int, int, void *, CUstream);
    int (*ncclReduce) (const void *, void *, size_t, int, int, int, void *, CUstream);
    int (*ncclReduceScatter) (const void *, void *, size_t, int, int, void *, CUstream);
    int (*ncclBroadcast) (const void *, void *, size_t, int, int, void *, CUstream);
    int (*ncclAllGather) (const void *, void *, size_t, int, void *, CUstream);
    int (*ncclSend) (const void *, size_t, int, int, void *, CUstream);
    int (*ncclRecv) (void *, size_t, int, int, void *, CUstream);
};

/* Load the library; NULL if it is not there or lacks a function. */
const struct nccl *nccl_load(void);

#endif /* BENCH_COLL_NCCL_H_INCLUDED */
