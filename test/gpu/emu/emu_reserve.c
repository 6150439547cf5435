/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Emulated reservations of addresses for mapped ranges. They are in the upper half of the window of
 * the first device, which is large enough and not reached by allocations. Freed addresses are
 * reserved again at once, as on a real device. */

#include <stdio.h>
#include <stdlib.h>

#include "emu.h"

static struct reservation {
    uintptr_t base;
    size_t size;
    bool quiet;                 /* made by the test itself */
    const char *caller;
    struct reservation *next;   /* by address */
} *reservations;

/* The link before which a reservation fits, and its address; 0: there is no room. */
static struct reservation **gap_find(size_t size, uintptr_t * base)
{
    uintptr_t end = emu_window_base(0) + emu_window_size();
    uintptr_t at = emu_window_base(0) + emu_window_size() / 2;
    struct reservation **link = &reservations;

    at = (at + EMU_GRANULARITY - 1) / EMU_GRANULARITY * EMU_GRANULARITY;
    while (*link && (*link)->base < at + size + EMU_GRANULARITY) {
        at = (*link)->base + (*link)->size + EMU_GRANULARITY;
        link = &(*link)->next;
    }
    *base = at + size <= end ? at : 0;
    return link;
}

bool emu_is_reserved(uintptr_t base, size_t size)
{
    struct reservation *r = reservations;

    while (r && base - r->base >= r->size)
        r = r->next;
    return r && size <= r->size - (base - r->base);
}

/* Whether something is mapped at reserved addresses. */
static bool is_in_use(const struct reservation *r)
{
    for (int i = 0; i < emu_range_count; i++) {
        if (emu_ranges[i]->base - r->base < r->size)
            return true;
    }
    return false;
}

void emu_reserve_report(void)
{
    for (const struct reservation * r = reservations; r; r = r->next) {
        char detail[80];
        if (r->quiet)
            continue;
        snprintf(detail, sizeof(detail), "%zu bytes at %#lx", r->size, (unsigned long) r->base);
        emu_leak("reservation", r->caller, detail);
    }
}

EMU_EXPORT CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr * addr, size_t size, size_t alignment,
                                                CUdeviceptr wanted, unsigned long long flags)
{
    struct reservation *r, **link;

    (void) wanted;
    EMU_ENTER(EMU_NEED__INIT);
    EMU_CHECK(addr && size > 0 && size % EMU_GRANULARITY == 0 && flags == 0 &&
              alignment <= EMU_GRANULARITY, CUDA_ERROR_INVALID_VALUE);
    r = malloc(sizeof(*r));
    EMU_CHECK(r, CUDA_ERROR_OUT_OF_MEMORY);
    emu_lock_take();
    link = gap_find(size, &r->base);
    if (r->base == 0) {
        emu_lock_give();
        free(r);
        return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    r->size = size;
    r->quiet = emu_is_quiet();
    r->caller = emu_caller();
    r->next = *link;
    *link = r;
    *addr = r->base;
    emu_lock_give();
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuMemAddressFree(CUdeviceptr addr, size_t size)
{
    struct reservation **link = &reservations, *r;
    bool is_ok;

    EMU_ENTER(EMU_NEED__INIT | EMU_NEED__DO_IT);
    emu_lock_take();
    while (*link && (*link)->base != addr)
        link = &(*link)->next;
    r = *link;
    is_ok = r && r->size == size && !is_in_use(r);
    if (is_ok) {
        *link = r->next;
        free(r);
    }
    emu_lock_give();
    return emu_leave(is_ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}
