/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Finds out in what memory a side of a transfer is, and whether a device can access it. Must not
 * know routes. */

#include "mpiimpl.h"
#include "gpudt_side.h"
#include "gpudt_error.h"
#include "driver/gpudt_near.h"
#include "engine/gpudt_memops.h"

#define PAGE_SHIFT 12           /* the kind of memory is the same within a page of 4 KiB */
#define MANY_CHILDREN 64        /* more children than this at equal distances: see children_walk */

/* A walk over the starts of a datatype's blocks. */
struct places {
    struct MPII_Gpudt_side *side;
    uintptr_t last_page;
    uintptr_t low, high;        /* GPU allocation that contains the last address; both 0: not known */
    int64_t nranges;            /* such allocations that were met, again and again */
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
        p->nranges++;
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
    if (MPII_Gpudt_is_near(addr)) {
        ptr = (MPIR_Gpudt_ptr_t) {.mem = MPIR_GPUDT_MEM__HOST,.device = -1 };
    } else {
        mpi_errno = place_query(addr, &ptr);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
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

static int places_walk(struct places *p, const struct MPII_Gpudt_record *rec, const char *addr);

/* Add the blocks of n children at equal distances. Many that begin in one allocation, and do not leave it, are
 * one: the last that begins there follows, or the last of all where the driver does not tell the bounds. */
static int children_walk(struct places *p, const struct MPII_Gpudt_record *child, const char *addr,
                         int64_t n, int64_t stride)
{
    int mpi_errno = MPI_SUCCESS;
    int64_t next;

    for (int64_t i = 0; i < n; i = next) {
        const char *at = addr + i * stride;
        uintptr_t low, high;
        int64_t nranges;

        /* a tree's first byte is at its address */
        mpi_errno = place_add(p, at);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        low = p->low;
        high = p->high;
        nranges = p->nranges;
        mpi_errno = places_walk(p, child, at);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        next = i + 1;
        if (n > MANY_CHILDREN && p->nranges == nranges && i < n - 1) {
            int64_t last = n - 1;

            if (high && stride > 0)
                last = (int64_t) (high - 1 - (uintptr_t) addr) / stride;
            else if (high && stride < 0)
                last = (int64_t) ((uintptr_t) addr - low) / -stride;
            next = MPL_MAX(next, MPL_MIN(last, n - 1));
        }
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Add the blocks below a record that may be in separate memory. */
static int places_walk(struct places *p, const struct MPII_Gpudt_record *rec, const char *addr)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPII_Gpudt_serial *serial = &p->side->type->serial;
    const struct MPII_Gpudt_record *child = serial->records + rec->child;
    const int64_t *displ, *prefix;
    const int32_t *members;

    switch (rec->kind) {
        case MPII_GPUDT_KIND__BLOCK:
            mpi_errno = range_add(p, addr, rec->size);
            MPII_GPUDT_ERR_CHECK(mpi_errno);
            break;
        case MPII_GPUDT_KIND__VECTOR:
            mpi_errno = children_walk(p, child, addr, rec->count, rec->stride);
            MPII_GPUDT_ERR_CHECK(mpi_errno);
            break;
        case MPII_GPUDT_KIND__STRUCT:
            members = MPII_Gpudt_record_members(rec, serial->lookaside);
            displ = MPII_Gpudt_record_displ(rec, serial->lookaside);
            for (int64_t i = 0; i < rec->count; i++) {
                mpi_errno = places_walk(p, serial->records + members[i], addr + displ[i]);
                MPII_GPUDT_ERR_CHECK(mpi_errno);
            }
            break;
        case MPII_GPUDT_KIND__INDEXED:
            prefix = MPII_Gpudt_record_prefix(rec, serial->lookaside);
            displ = MPII_Gpudt_record_displ(rec, serial->lookaside);
            for (int64_t i = 0; i < rec->count; i++) {
                const int64_t n = prefix[i + 1] - prefix[i];

                if (child->kind == MPII_GPUDT_KIND__BLOCK && rec->extent == rec->child_size)
                    mpi_errno = range_add(p, addr + displ[i], n * rec->child_size);
                else
                    mpi_errno = children_walk(p, child, addr + displ[i], n, rec->extent);
                MPII_GPUDT_ERR_CHECK(mpi_errno);
            }
            break;
        default:
            displ = MPII_Gpudt_record_displ(rec, serial->lookaside);
            for (int64_t i = 0; i < rec->count; i++) {
                mpi_errno = places_walk(p, child, addr + displ[i]);
                MPII_GPUDT_ERR_CHECK(mpi_errno);
            }
            break;
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
        mpi_errno = places_walk(&p, side->is_exact ? &side->top : &serial->records[0],
                                side->addr + serial->base_displ);
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
