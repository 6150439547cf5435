/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Memory of messages with a GPU buffer. Freed ones are kept for later ones, by their number of
 * segments: the C library takes several times as long to allocate and clear one. Callers are
 * serialized by the lock of the progress engine. */

#include "mpidi_gpudt_msg.h"

#define MAX_SPARE 64            /* messages kept of each number of segments */

static struct {
    struct MPIDI_Gpudt_msg *first;
    int n;
} spares[MPIDI_GPUDT_MAX_SEGMENTS + 1];

struct MPIDI_Gpudt_msg *MPIDI_Gpudt_msg_mem_get(int nsegments)
{
    struct MPIDI_Gpudt_msg *msg = spares[nsegments].first;
    const size_t sz = sizeof(*msg) +
        nsegments * (sizeof(msg->segment[0]) + sizeof(struct MPIDI_Gpudt_credit));

    if (likely(msg)) {
        spares[nsegments].first = msg->next;
        spares[nsegments].n--;
        memset(msg, 0, sz);
    } else {
        msg = MPL_calloc(1, sz, MPL_MEM_BUFFER);
    }
    if (likely(msg))
        msg->capacity = nsegments;
    return msg;
}

void MPIDI_Gpudt_msg_mem_put(struct MPIDI_Gpudt_msg *msg)
{
    const int i = msg->capacity;

    if (likely(spares[i].n < MAX_SPARE)) {
        msg->next = spares[i].first;
        spares[i].first = msg;
        spares[i].n++;
    } else {
        MPL_free(msg);
    }
}

void MPIDI_Gpudt_msg_mem_end(void)
{
    struct MPIDI_Gpudt_msg *msg;

    for (int i = 0; i <= MPIDI_GPUDT_MAX_SEGMENTS; i++) {
        while ((msg = spares[i].first) != NULL) {
            spares[i].first = msg->next;
            MPL_free(msg);
        }
        spares[i].n = 0;
    }
}
