/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Finds out in what memory a side of a transfer is, and whether a device can access it. Must not
 * know routes. */

#include "mpiimpl.h"
#include "gpudt_side.h"
#include "gpudt_error.h"
#include "engine/gpudt_memops.h"

#define PAGE_SHIFT 12           /* the kind of memory is the same within a page of 4 KiB */
#define MANY_CHILDREN 64        /* more children than this at a regular stride: see next_child */

/* A walk over the starts of a datatype's blocks. */
struct places {
    struct MPII_Gpudt_side *side;
    uintptr_t last_page;
    uintptr_t low, high;        /* GPU allocation that contains the last address; both 0: not known */
    bool any;                   /* at least one address was queried */
};

static int place_query(const char *addr, MPIR_Gpudt_ptr_t * ptr)
{
    int mpi_errno = MPI_SUCCESS;

    mpi_errno = MPIR_Gpudt_query_ptr(addr, ptr);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (MPIR_Gpudt_ptr_is_gpu(ptr))
        mpi_errno = MPII_Gpudt_memops_order(addr, ptr);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Note the bounds of the allocation that contains a block: other blocks in it need no query. Not so
 * in pools and mapped ranges: the kind of memory may change within the driver's range. */
static void range_note(struct places *p, const char *addr, const MPIR_Gpudt_ptr_t * ptr)
{
    CUdeviceptr start;
    size_t sz;

    p->low = p->high = 0;
    if (MPIR_Gpudt_ptr_is_gpu(ptr) && ptr->ctx &&
        MPII_Gpudt_ptr_range(MPII_Gpudt_driver_get(), (CUdeviceptr) addr, &start, &sz)) {
        p->low = start;
        p->high = start + sz;
    }
}

static bool is_in_range(const struct places *p, const char *addr)
{
    return (uintptr_t) addr >= p->low && (uintptr_t) addr < p->high;
}

/* Add the memory of one more block to the side's ptr and is_mixed. */
static int place_add(struct places *p, const char *addr)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Gpudt_ptr_t ptr, *all = &p->side->ptr;
    uintptr_t page = (uintptr_t) addr >> PAGE_SHIFT;

    if (p->any && is_in_range(p, addr))
        goto fn_exit;
    /* Several allocations of a GPU may share a page */
    if (p->any && p->high == 0 && page == p->last_page)
        goto fn_exit;
    mpi_errno = place_query(addr, &ptr);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    range_note(p, addr, &ptr);
    p->last_page = page;

    if (!p->any) {
        *all = ptr;
        p->any = true;
    } else if (MPIR_Gpudt_ptr_is_gpu(all) || MPIR_Gpudt_ptr_is_gpu(&ptr)) {
        if (all->mem != ptr.mem || all->device != ptr.device || all->ctx != ptr.ctx)
            p->side->is_mixed = true;
        if (!MPIR_Gpudt_ptr_is_gpu(all))
            *all = ptr;
    } else if (ptr.mem == MPIR_GPUDT_MEM__HOST) {
        *all = ptr;             /* if the GPU cannot access a part, the CPU moves all */
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Add the memory of n contiguous bytes. */
static int range_add(struct places *p, const char *addr, int64_t n)
{
    int mpi_errno = MPI_SUCCESS;
    const char *const end = addr + n;

    do {
        mpi_errno = place_add(p, addr);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        /* Another allocation may begin where this one ends */
        addr = is_in_range(p, addr) ? (char *) p->high : end;
    } while (addr < end);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The child of a vector at addr to be added after child i. Many children at equal distances are in few
 * allocations: the last that begins in the same one as child i follows, or the last of all where the driver
 * does not tell the bounds. */
static int64_t next_child(const struct places *p, const struct MPII_Gpudt_record *rec,
                          const char *addr, int64_t i)
{
    int64_t next = rec->count - 1;

    if (rec->count <= MANY_CHILDREN || i == next)
        return i + 1;
    if (rec->stride > 0 && is_in_range(p, addr + i * rec->stride))
        next = MPL_MIN(next, (int64_t) (p->high - 1 - (uintptr_t) addr) / rec->stride);
    return MPL_MAX(i + 1, next);
}

/* Add the blocks below a record that may be in separate memory. */
static int places_walk(struct places *p, const struct MPII_Gpudt_record *rec, const char *addr)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPII_Gpudt_serial *serial = &p->side->type->serial;
    const struct MPII_Gpudt_record *child = serial->records + rec->child;
    const int64_t *displ = NULL, *prefix = NULL;        /* prefix: the entries are contiguous */
    const int32_t *members = NULL;

    switch (rec->kind) {
        case MPII_GPUDT_KIND__BLOCK:
            mpi_errno = range_add(p, addr, rec->size);
            goto fn_exit;
        case MPII_GPUDT_KIND__VECTOR:
            break;
        case MPII_GPUDT_KIND__STRUCT:
            members = MPII_Gpudt_record_members(rec, serial->lookaside);
            displ = MPII_Gpudt_record_displ(rec, serial->lookaside);
            break;
        case MPII_GPUDT_KIND__INDEXED:
            if (child->kind == MPII_GPUDT_KIND__BLOCK && rec->extent == rec->child_size)
                prefix = MPII_Gpudt_record_prefix(rec, serial->lookaside);
            /* fall through */
        default:
            displ = MPII_Gpudt_record_displ(rec, serial->lookaside);
            break;
    }

    for (int64_t i = 0; i < rec->count; i = displ ? i + 1 : next_child(p, rec, addr, i)) {
        const char *at = addr + (displ ? displ[i] : i * rec->stride);
        if (prefix)
            mpi_errno = range_add(p, at, (prefix[i + 1] - prefix[i]) * rec->child_size);
        else
            mpi_errno = places_walk(p, members ? serial->records + members[i] : child, at);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPII_Gpudt_side_classify(struct MPII_Gpudt_side *side, bool every_block)
{
    int mpi_errno = MPI_SUCCESS;
    struct places p = {.side = side };

    side->is_mixed = false;
    if (every_block) {
        const struct MPII_Gpudt_serial *serial = &side->type->serial;
        mpi_errno = places_walk(&p, &serial->records[0], side->addr + serial->base_displ);
    } else {
        mpi_errno = place_query(side->low, &side->ptr);
    }
    return mpi_errno;
}

/* Whether pinned memory is mapped from low to high: a program may register parts of an array. If
 * the driver does not tell the size of a registration, only both ends are checked. */
static bool host_is_mapped(MPII_Gpudt_engine_t * engine, struct MPII_Gpudt_side *side)
{
    const MPII_Gpudt_driver_t *drv = engine->drv;
    char *at = side->low;
    uint64_t shift = 0;

    while (at < side->high) {
        CUdeviceptr start, mapped;
        size_t sz;

        if (drv->cuMemHostGetDevicePointer(&mapped, at, 0) != CUDA_SUCCESS)
            return false;
        if (at != side->low && mapped - (uint64_t) (uintptr_t) at != shift)
            return false;
        shift = mapped - (uint64_t) (uintptr_t) at;

        if (MPII_Gpudt_ptr_range(drv, mapped, &start, &sz))
            at += start + sz - mapped;
        else
            at = at < side->high - 1 ? side->high - 1 : side->high;
    }
    side->shift = shift;
    return true;
}

bool MPII_Gpudt_side_reach(MPII_Gpudt_engine_t * engine, MPII_Gpudt_engine_t * other,
                           struct MPII_Gpudt_side *side)
{
    const MPIR_Gpudt_ptr_t *ptr = &side->ptr;

    if (side->reached_by == engine)
        return true;
    side->shift = 0;
    if (side->is_mixed)
        return false;

    switch (ptr->mem) {
        case MPIR_GPUDT_MEM__MANAGED:
            side->place = MPII_GPUDT_PLACE__DEVICE;
            return true;
        case MPIR_GPUDT_MEM__DEVICE:
            if (other == NULL) {
                side->place = MPII_GPUDT_PLACE__DEVICE;
                return true;
            }
            side->place = MPII_GPUDT_PLACE__PEER;
            return !MPIR_Gpudt_ptr_is_private(ptr) && MPII_Gpudt_engine_peer(engine, other);
        case MPIR_GPUDT_MEM__PINNED:
            side->place = MPII_GPUDT_PLACE__HOST;
            return host_is_mapped(engine, side);
        default:
            return false;
    }
}

void MPII_Gpudt_side_own(MPII_Gpudt_engine_t * engine, char *low, char *high,
                         struct MPII_Gpudt_side *side)
{
    memset(side, 0, sizeof(*side));
    side->addr = side->low = low;
    side->high = high;
    side->is_exact = true;
    side->ptr.mem = MPIR_GPUDT_MEM__DEVICE;
    side->ptr.device = engine->device;
    side->ptr.ctx = engine->ctx;
    side->engine = engine;
    side->reached_by = engine;
    side->place = MPII_GPUDT_PLACE__DEVICE;
}

void MPII_Gpudt_side_part(const struct MPII_Gpudt_side *whole, int64_t first, int64_t n,
                          struct MPII_Gpudt_side *part)
{
    *part = *whole;
    if (part->type) {
        MPII_Gpudt_type_add_ref(part->type);
        part->first = first;
    } else {
        part->addr += first;
        part->low = part->addr;
        part->high = part->low + n;
    }
}
