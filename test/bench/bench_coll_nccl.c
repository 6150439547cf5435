/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

#include "bench_coll_nccl.h"

#include <dlfcn.h>

const struct nccl *nccl_load(void)
{
    static struct nccl nccl;
    void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    int is_whole = library != NULL;

#define FIND(name_) \
    is_whole = is_whole && (*(void **) &nccl.name_ = dlsym(library, #name_)) != NULL

    FIND(ncclGetUniqueId);
    FIND(ncclCommInitRank);
    FIND(ncclCommDestroy);
    FIND(ncclGroupStart);
    FIND(ncclGroupEnd);
    FIND(ncclAllReduce);
    FIND(ncclReduce);
    FIND(ncclReduceScatter);
    FIND(ncclBroadcast);
    FIND(ncclAllGather);
    FIND(ncclSend);
    FIND(ncclRecv);
    return is_whole ? &nccl : NULL;
}
