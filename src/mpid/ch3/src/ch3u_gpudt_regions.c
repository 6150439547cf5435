/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* GPU memory that is attached to dynamic windows. Each process has a table of its regions in memory
 * that the processes of the node share, since no other process takes part in MPI_Win_attach and
 * MPI_Win_detach:
 *
 *     MPI_Win_create_dynamic   the processes make the tables (ch3u_gpudt_expose.c)
 *     MPI_Win_attach, _detach  the process changes its own table, if the memory can be mapped
 *     an operation             the origin looks the target's address up in the target's table
 *
 * Nothing of a table is kept by other processes. A program detaches memory when no operation on it is
 * in flight, so each later operation finds the region gone, and other memory at its address under
 * another number; none refers to what was mapped before. What stays mapped are mappings that nothing
 * refers to, as after messages: they are removed when the room is needed.
 *
 * Only the process of a table writes to it, while it holds the lock of its progress engine. Readers see
 * by the version that it has changed meanwhile. If that goes on, or the process has died in the
 * middle of a change, the region is not found, and the operation goes by messages.
 *
 * Beside it each process has a list of all its attached GPU memory. An operation by messages on other GPU
 * memory, which may be detached and not freed, is an error that its window keeps. Of host memory, whose
 * addresses ch3 takes as they are, nothing is known.
 *
 * Must not know when the memory may be accessed. */

#include "mpidimpl.h"
#include "mpidi_gpudt_window_impl.h"

#include "mpidu_yield.h"

#define MAX_REGIONS 256         /* of a process in a window; further ones go by messages */
#define MAX_TRIES 100           /* to read a table that changes */

struct MPIDI_Gpudt_regions {
    MPL_atomic_uint64_t version;        /* odd: a change is being made. 0: there never was a region */
    int n;
    struct MPIDI_Gpudt_bounds bounds[MAX_REGIONS];
    uint64_t exposure[MAX_REGIONS][MPIR_GPUDT_EXPOSURE_SZ / sizeof(uint64_t)];
};

MPI_Aint MPIDI_Gpudt_regions_sz(void)
{
    return sizeof(struct MPIDI_Gpudt_regions);
}

bool MPIDI_Gpudt_regions_exist(const struct MPIDI_Gpudt_regions *r)
{
    return MPL_atomic_relaxed_load_uint64(&r->version) != 0;
}

/* ---- the process that attaches memory ---- */

static void change_begin(struct MPIDI_Gpudt_regions *r)
{
    const uint64_t version = MPL_atomic_relaxed_load_uint64(&r->version);

    MPL_atomic_relaxed_store_uint64(&r->version, version + 1);
    MPL_atomic_write_barrier();
}

static void change_end(struct MPIDI_Gpudt_regions *r)
{
    const uint64_t version = MPL_atomic_relaxed_load_uint64(&r->version);

    MPL_atomic_release_store_uint64(&r->version, version + 1);
}

/* Which of n regions has some of these addresses; -1: none. */
static int overlap_find(const struct MPIDI_Gpudt_bounds *bounds, int n, uint64_t base, uint64_t size)
{
    for (int i = 0; i < n; i++) {
        if (bounds[i].base < base + size && base < bounds[i].base + bounds[i].size)
            return i;
    }
    return -1;
}

/* Which of n regions begins at an address; -1: none. */
static int base_find(const struct MPIDI_Gpudt_bounds *bounds, int n, uint64_t base)
{
    int i = n - 1;

    while (i >= 0 && bounds[i].base != base)
        i--;
    return i;
}

static void region_remove(struct MPIDI_Gpudt_regions *r, int i)
{
    const int last = --r->n;

    r->bounds[i] = r->bounds[last];
    memcpy(r->exposure[i], r->exposure[last], sizeof(r->exposure[i]));
}

void MPIDI_Gpudt_region_add(struct MPIDI_Gpudt_regions *r, const struct MPIDI_Gpudt_region *region,
                            bool is_exposed)
{
    int i = overlap_find(r->bounds, r->n, region->base, region->size);

    if (!is_exposed && i < 0)
        return;
    change_begin(r);
    for (; i >= 0; i = overlap_find(r->bounds, r->n, region->base, region->size))
        region_remove(r, i);
    if (is_exposed && r->n < MAX_REGIONS) {
        r->bounds[r->n].base = region->base;
        r->bounds[r->n].size = region->size;
        memcpy(r->exposure[r->n], region->exposure, sizeof(region->exposure));
        r->n++;
    }
    change_end(r);
}

void MPIDI_Gpudt_region_remove(struct MPIDI_Gpudt_regions *r, uint64_t base)
{
    const int i = base_find(r->bounds, r->n, base);

    if (i < 0)
        return;
    change_begin(r);
    region_remove(r, i);
    change_end(r);
}

/* The table of this process; NULL: none. */
static struct MPIDI_Gpudt_regions *own_regions(const MPIR_Win * win)
{
    const struct MPIDI_Gpudt_peer *peer = MPIDI_Gpudt_win_peer(win, win->comm_ptr->rank);

    return peer ? peer->regions : NULL;
}

/* What it overlaps has been freed without being detached. */
static void attached_add(struct MPIDI_Gpudt_win *w, uint64_t base, uint64_t size)
{
    int i;

    while ((i = overlap_find(w->attached, w->nattached, base, size)) >= 0)
        w->attached[i] = w->attached[--w->nattached];
    if (w->nattached == w->max_attached) {
        const int max = 2 * w->max_attached + 8;
        struct MPIDI_Gpudt_bounds *more = MPL_realloc(w->attached, max * sizeof(*more), MPL_MEM_RMA);

        w->is_attached_unknown |= more == NULL;
        if (more == NULL)
            return;
        w->attached = more;
        w->max_attached = max;
    }
    w->attached[w->nattached++] = (struct MPIDI_Gpudt_bounds) {.base = base,.size = size };
}

static void attached_remove(struct MPIDI_Gpudt_win *w, uint64_t base)
{
    const int i = base_find(w->attached, w->nattached, base);

    if (i >= 0)
        w->attached[i] = w->attached[--w->nattached];
}

void MPIDI_Gpudt_win_attach_any(MPIR_Win * win, const void *base, MPI_Aint size)
{
    struct MPIDI_Gpudt_regions *r = own_regions(win);
    struct MPIDI_Gpudt_region region = {.base = (uintptr_t) base,.size = (uint64_t) size };

    /* Nothing can be accessed there, and it may be within another region */
    if (size <= 0)
        return;
    if (MPIDI_Gpudt_rma_ask(base, 1, MPI_BYTE))
        attached_add(win->gpudt, region.base, region.size);
    if (r)
        MPIDI_Gpudt_region_add(r, &region, MPIR_Gpudt_expose(base, size, region.exposure));
}

void MPIDI_Gpudt_win_detach_any(MPIR_Win * win, const void *base)
{
    struct MPIDI_Gpudt_regions *r = own_regions(win);

    attached_remove(win->gpudt, (uintptr_t) base);
    if (r)
        MPIDI_Gpudt_region_remove(r, (uintptr_t) base);
}

/* The address of a derived datatype need not be that of its data. */
int MPIDI_Gpudt_win_address_check(const MPIR_Win * win, const void *addr, MPI_Datatype datatype)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPIDI_Gpudt_win *w = win->gpudt;

    if (win->create_flavor == MPI_WIN_FLAVOR_DYNAMIC && !w->is_attached_unknown &&
        MPIR_DATATYPE_IS_PREDEFINED(datatype) &&
        overlap_find(w->attached, w->nattached, (uintptr_t) addr, 1) < 0 &&
        MPIDI_Gpudt_rma_ask(addr, 1, datatype))
        MPIR_ERR_SET1(mpi_errno, MPI_ERR_RMA_RANGE, "**gpudt_detached", "**gpudt_detached %p", addr);
    return mpi_errno;
}

void MPIDI_Gpudt_win_accessed_any(const MPIR_Win * win, const void *addr, MPI_Datatype datatype)
{
    int mpi_errno = MPIDI_Gpudt_win_address_check(win, addr, datatype);

    MPIDI_Gpudt_win_keep(win, &mpi_errno);
}

/* ---- a process that accesses it ---- */

/* Look an address up, in a table that may change meanwhile. */
static bool region_read(const struct MPIDI_Gpudt_regions *r, uint64_t addr,
                        struct MPIDI_Gpudt_region *region)
{
    const int n = MPL_MIN(r->n, MAX_REGIONS);

    for (int i = 0; i < n; i++) {
        if (addr - r->bounds[i].base < r->bounds[i].size) {
            region->base = r->bounds[i].base;
            region->size = r->bounds[i].size;
            memcpy(region->exposure, r->exposure[i], sizeof(region->exposure));
            return true;
        }
    }
    return false;
}

bool MPIDI_Gpudt_region_find(const struct MPIDI_Gpudt_regions *r, uint64_t addr,
                             struct MPIDI_Gpudt_region *region)
{
    for (int i = 0; i < MAX_TRIES; i++) {
        const uint64_t version = MPL_atomic_acquire_load_uint64(&r->version);
        bool is_found;

        if (version == 0)
            return false;
        is_found = region_read(r, addr, region);
        MPL_atomic_read_barrier();
        if (version % 2 == 0 && MPL_atomic_relaxed_load_uint64(&r->version) == version)
            return is_found;
        MPIDU_yield();
    }
    return false;
}
