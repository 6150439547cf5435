/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Uses of another process's memory after that process freed it, and of mappings after they were
 * closed. The first are undefined in CUDA and often go unnoticed, so the emulated driver ends the
 * program unless EMU_IPC_STALE is set. */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "emu.h"

#define CLOSED_MAX 64           /* mappings closed last, to recognize uses of them */
#define LINES_MAX 10            /* at most so many uses are printed */

static struct {
    uintptr_t base;
    size_t size;
} closed[CLOSED_MAX];
static unsigned closed_next;
static bool is_watching;        /* there has been a mapping; read without emu_lock */
static long uses;               /* changed atomically */

static void report(uintptr_t addr, const char *why)
{
    if (__atomic_add_fetch(&uses, 1, __ATOMIC_RELAXED) <= LINES_MAX)
        fprintf(stderr, "emulated GPU: pid %ld uses another process's memory, mapped at %#lx, "
                "after %s\n", (long) getpid(), (unsigned long) addr, why);
    if (!emu_config.ipc_stale)
        abort();
}

void emu_stale_use(uintptr_t addr)
{
    report(addr, "that process freed it");
}

void emu_stale_missed(uintptr_t addr)
{
    for (int i = 0; i < CLOSED_MAX; i++) {
        if (addr - closed[i].base < closed[i].size) {
            report(addr, "the mapping was closed");
            return;
        }
    }
}

void emu_stale_check(uintptr_t addr)
{
    struct emu_range *range;

    if (!__atomic_load_n(&is_watching, __ATOMIC_RELAXED) || emu_window_device(addr) < 0)
        return;
    emu_lock_take();
    range = emu_range_find(addr);
    if (range == NULL)
        emu_stale_missed(addr);
    else if (!emu_is_live(range->live, range->live_id))
        emu_stale_use(addr);
    emu_lock_give();
}

void emu_stale_watch(void)
{
    __atomic_store_n(&is_watching, true, __ATOMIC_RELAXED);
}

void emu_stale_remember(uintptr_t base, size_t size)
{
    closed[closed_next % CLOSED_MAX].base = base;
    closed[closed_next % CLOSED_MAX].size = size;
    closed_next++;
}

void emu_stale_forget(uintptr_t base, size_t size)
{
    for (int i = 0; is_watching && i < CLOSED_MAX; i++) {
        if (closed[i].base < base + size && base < closed[i].base + closed[i].size)
            closed[i].size = 0;
    }
}

long emu_stale_uses(void)
{
    return __atomic_load_n(&uses, __ATOMIC_RELAXED);
}
