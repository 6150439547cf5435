/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Remembers which GPUs of other processes can be reached. Must not know mappings. */

#include "mpiimpl.h"
#include "gpudt_remote.h"

static struct MPII_Gpudt_remote *remotes;

struct MPII_Gpudt_remote *MPII_Gpudt_remote_find(const MPII_Gpudt_engine_t * engine,
                                                 const struct MPII_Gpudt_export *export)
{
    struct MPII_Gpudt_remote *r;

    for (r = remotes; r; r = r->next) {
        if (r->engine == engine && r->process == export->process && r->gpu == export->gpu &&
            r->kind == export->kind)
            return r;
    }
    r = MPL_calloc(1, sizeof(*r), MPL_MEM_BUFFER);
    if (r == NULL)
        return NULL;
    r->engine = engine;
    r->process = export->process;
    r->gpu = export->gpu;
    r->kind = export->kind;
    r->next = remotes;
    remotes = r;
    return r;
}

void MPII_Gpudt_remotes_drop(uint64_t process)
{
    struct MPII_Gpudt_remote **at = &remotes;

    while (*at) {
        struct MPII_Gpudt_remote *r = *at;
        if (process == 0 || r->process == process) {
            *at = r->next;
            MPL_free(r);
        } else {
            at = &r->next;
        }
    }
}
