/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Memory of nonblocking collectives between GPUs of a node. What the processes tell each other is sent
 * from there and received into it: no driver may be asked about it, which could fail in one process
 * and leave the others waiting. So it is from mappings that are kept for as long as the process
 * exists, which the system fills with memory when it is used. */

#include "mpidimpl.h"
#include "mpidi_gpudt_icoll.h"

#include <sys/mman.h>

#define FIRST_SLAB 4            /* operations in the first mapping; each one is twice as large */

/* An operation, or room for one. */
union cell {
    union cell *next;           /* that is free */
    struct MPIDI_Gpudt_icoll o;
};

static union cell *cells = NULL;        /* free ones */
static size_t slab_n = FIRST_SLAB;

static bool slab_add(void)
{
    const size_t sz = slab_n * sizeof(union cell);
    union cell *slab = mmap(NULL, sz, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (slab == MAP_FAILED)
        return false;
    if (!MPIR_Gpudt_near_add(slab, sz)) {
        munmap(slab, sz);
        return false;
    }
    for (size_t i = 0; i < slab_n; i++) {
        slab[i].next = cells;
        cells = &slab[i];
    }
    slab_n *= 2;
    return true;
}

struct MPIDI_Gpudt_icoll *MPIDI_Gpudt_icoll_mem_get(void)
{
    union cell *cell;

    if (cells == NULL && !slab_add())
        return NULL;
    cell = cells;
    cells = cell->next;
    memset(&cell->o, 0, offsetof(struct MPIDI_Gpudt_icoll, own_exports));
    return &cell->o;
}

void MPIDI_Gpudt_icoll_mem_put(struct MPIDI_Gpudt_icoll *o)
{
    union cell *cell = (union cell *) o;

    cell->next = cells;
    cells = cell;
}
