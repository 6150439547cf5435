/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Addresses of emulated memory: the devices' address windows, the table of live ranges, and the
 * translation of every address that a kernel accesses.
 *
 *   window of device d   PROT_NONE, addresses of programs    base ...... base + EMU_WINDOW_SZ
 *   its alias            memory files, mapped where live     alias ..... alias + EMU_WINDOW_SZ
 *
 * The distance between an address and its alias is constant within a window. Between allocations
 * there are unmapped pages on both sides. */

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "emu.h"
#include "emu_control.h"

#define EMU_WINDOW_SZ ((size_t) 16 << 30)

static struct {
    uintptr_t base;
    char *alias;
} windows[EMU_MAX_DEVICES];

struct emu_range **emu_ranges;
int emu_range_count;
uint64_t emu_range_changes = 1;
static int ranges_allocated;

bool emu_window_init(void)
{
    for (int d = 0; d < emu_config.nvisible; d++) {
        void *seen = mmap(NULL, EMU_WINDOW_SZ, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        void *alias = mmap(NULL, EMU_WINDOW_SZ, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (seen == MAP_FAILED || alias == MAP_FAILED || !emu_file_init(d))
            return false;
        windows[d].base = (uintptr_t) seen;
        windows[d].alias = alias;
    }
    return true;
}

int emu_window_device(uintptr_t addr)
{
    for (int d = 0; d < emu_config.nvisible; d++) {
        if (addr - windows[d].base < EMU_WINDOW_SZ && windows[d].base != 0)
            return d;
    }
    return -1;
}

uintptr_t emu_window_base(int device)
{
    return windows[device].base;
}

size_t emu_window_size(void)
{
    return EMU_WINDOW_SZ;
}

void *emu_alias(uintptr_t addr)
{
    int device = emu_window_device(addr);

    return device < 0 ? (void *) addr : windows[device].alias + (addr - windows[device].base);
}

bool emu_alias_map(uintptr_t addr, size_t mapped_sz, int fd, off_t offset)
{
    return mmap(emu_alias(addr), mapped_sz, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
                offset) != MAP_FAILED;
}

void emu_alias_unmap(uintptr_t addr, size_t mapped_sz)
{
    mmap(emu_alias(addr), mapped_sz, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

/* Index of the first range whose base is above addr. */
static int range_above(uintptr_t addr)
{
    int low = 0, high = emu_range_count;

    while (low < high) {
        int mid = (low + high) / 2;
        if (emu_ranges[mid]->base > addr)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

struct emu_range *emu_range_find(uintptr_t addr)
{
    int i = range_above(addr);

    if (i > 0 && addr - emu_ranges[i - 1]->base < emu_ranges[i - 1]->size)
        return emu_ranges[i - 1];
    return NULL;
}

struct emu_range *emu_range_add(const struct emu_range *range)
{
    static unsigned long long next_id = 1;
    struct emu_range *copy = malloc(sizeof(*copy));
    int i;

    if (emu_range_count == ranges_allocated) {
        int n = ranges_allocated ? 2 * ranges_allocated : 64;
        struct emu_range **grown = realloc(emu_ranges, (size_t) n * sizeof(*grown));
        if (grown == NULL) {
            free(copy);
            return NULL;
        }
        emu_ranges = grown;
        ranges_allocated = n;
    }
    if (copy == NULL)
        return NULL;

    *copy = *range;
    copy->id = next_id++;
    copy->quiet = emu_is_quiet();
    copy->caller = emu_caller();
    emu_stale_forget(range->base, range->mapped_sz);
    i = range_above(range->base);
    memmove(emu_ranges + i + 1, emu_ranges + i,
            (size_t) (emu_range_count - i) * sizeof(*emu_ranges));
    emu_ranges[i] = copy;
    emu_range_count++;
    __atomic_add_fetch(&emu_range_changes, 1, __ATOMIC_RELEASE);
    return copy;
}

void emu_range_remove(struct emu_range *range)
{
    int i = range_above(range->base) - 1;

    __atomic_add_fetch(&emu_range_changes, 1, __ATOMIC_RELEASE);
    memmove(emu_ranges + i, emu_ranges + i + 1,
            (size_t) (emu_range_count - i - 1) * sizeof(*emu_ranges));
    emu_range_count--;
    free(range);
}

/* First free position in a device's window, with an unmapped page before it unless allocations
 * adjoin. Freed addresses are reused soon, as on a real device. */
uintptr_t emu_window_gap(int device, size_t mapped_sz)
{
    const size_t guard = emu_config.adjoin ? 0 : EMU_PAGE_SZ;
    uintptr_t place = windows[device].base + EMU_PAGE_SZ;
    uintptr_t end = windows[device].base + EMU_WINDOW_SZ;

    for (int i = range_above(windows[device].base - 1); i < emu_range_count; i++) {
        if (emu_ranges[i]->base >= end || emu_ranges[i]->base >= place + mapped_sz + guard)
            break;
        place = emu_ranges[i]->base + emu_ranges[i]->mapped_sz + guard;
    }
    return place + mapped_sz + EMU_PAGE_SZ <= end ? place : 0;
}

/* Whether a kernel of ctx may access the range. */
static bool range_allows(const struct emu_range *range, CUcontext ctx)
{
    switch (range->kind) {
        case EMU_KIND__DEVICE:
            if (range->device == ctx->device)
                return range->ctx == ctx;
            return (ctx->peers >> range->device) & 1;
        case EMU_KIND__VMM:
        case EMU_KIND__IMPORTED:
            return (range->access >> ctx->device) & 1;
        case EMU_KIND__POOL:
            return range->device == ctx->device || ((ctx->peers >> range->device) & 1);
        case EMU_KIND__IPC:
            /* Whichever device has the memory, its addresses belong to the context's device. */
            if (range->ctx->device == ctx->device)
                return range->ctx == ctx;
            return (ctx->peers >> range->ctx->device) & 1;
        default:
            return true;
    }
}

/* The last ranges found by this thread, so that most accesses take no lock. */
#define CACHE_ENTRIES 4
static __thread struct {
    uintptr_t base, size;
    CUcontext ctx;
    uint64_t changes;
    char *alias;
    const uint64_t *live;
    uint64_t live_id;
} cache[CACHE_ENTRIES];
static __thread unsigned cache_next;

/* The alias of addr in an entry of the cache. */
static void *cache_use(unsigned slot, uintptr_t addr)
{
    if (!emu_is_live(cache[slot].live, cache[slot].live_id))
        emu_stale_use(addr);
    return cache[slot].alias + (addr - cache[slot].base);
}

void *emu_translate(CUcontext ctx, const void *addr, size_t n)
{
    uintptr_t at = (uintptr_t) addr;
    uint64_t changes = __atomic_load_n(&emu_range_changes, __ATOMIC_ACQUIRE);
    struct emu_range *range;
    unsigned slot;

    for (int i = 0; i < CACHE_ENTRIES; i++) {
        if (at - cache[i].base < cache[i].size && n <= cache[i].size - (at - cache[i].base) &&
            cache[i].ctx == ctx && cache[i].changes == changes)
            return cache_use((unsigned) i, at);
    }

    emu_lock_take();
    range = emu_range_find(at);
    if (range == NULL)
        emu_stale_missed(at);
    if (range == NULL || n > range->size - (at - range->base) || !range_allows(range, ctx)) {
        emu_lock_give();
        return NULL;
    }
    slot = cache_next++ % CACHE_ENTRIES;
    cache[slot].base = range->base;
    cache[slot].size = range->size;
    cache[slot].ctx = ctx;
    cache[slot].changes = __atomic_load_n(&emu_range_changes, __ATOMIC_ACQUIRE);
    cache[slot].alias = emu_alias(range->base);
    cache[slot].live = range->live;
    cache[slot].live_id = range->live_id;
    emu_lock_give();
    return cache_use(slot, at);
}

EMU_EXPORT void *emu_peek(const void *addr, size_t n)
{
    struct emu_range *range;
    void *alias = NULL;

    emu_lock_take();
    range = emu_range_find((uintptr_t) addr);
    if (range && n <= range->size - ((uintptr_t) addr - range->base))
        alias = emu_alias((uintptr_t) addr);
    emu_lock_give();
    return alias;
}

void emu_range_report(void)
{
    static const char *const kinds[] = {
        [EMU_KIND__DEVICE] = "memory",[EMU_KIND__POOL] = "memory",[EMU_KIND__VMM] = "memory",
        [EMU_KIND__HOST] = "host",[EMU_KIND__REGISTERED] = "registration",
        [EMU_KIND__MANAGED] = "memory",[EMU_KIND__IPC] = "mapping",
        [EMU_KIND__IMPORTED] = "import"
    };

    for (int i = 0; i < emu_range_count; i++) {
        const struct emu_range *r = emu_ranges[i];
        char detail[80];
        if (r->quiet || (r->ctx && emu_broken(r->ctx) != CUDA_SUCCESS))
            continue;
        snprintf(detail, sizeof(detail), "%zu bytes at %#lx", r->size, (unsigned long) r->base);
        emu_leak(kinds[r->kind], r->caller, detail);
    }
}
