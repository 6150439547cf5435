/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Runs the threads of a grid on one CPU thread, one block after another.
 *
 * A fiber runs the threads of a block one after another, as long as they do not wait. A thread that
 * waits keeps its fiber, and another fiber continues with the remaining threads. So kernels without
 * barriers need no context switch, and a barrier needs one per thread. The order in which threads
 * start differs from launch to launch. */

#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "emu_block.h"
#include "emu_fiber.h"

#define MAX_THREADS 1024
#define WARP_SZ 32
#define MAX_WARPS (MAX_THREADS / WARP_SZ)
#define GROUPS 4                /* sets of lanes of a warp that wait separately */
#define STACK_SZ ((size_t) 128 << 10)

enum fiber_state { FIBER__FREE, FIBER__READY, FIBER__WAITING };

struct fiber {
    struct emu_fiber fiber;
    enum fiber_state state;
    struct emu_thread self;
    int warp_group;             /* group that it waits for, or -1: the block's barrier */
    char slots[WARP_SZ][EMU_SLOT_SZ];   /* values of the lanes in its last exchange */
};

struct group {
    unsigned mask;              /* 0: unused */
    unsigned arrived;
    char slots[WARP_SZ][EMU_SLOT_SZ];
};

struct warp {
    struct group groups[GROUPS];
    unsigned live;              /* lanes that have not exited */
};

struct block {
    const struct emu_launch *launch;
    void (*body) (void **);
    void **params;
    struct emu_dim block_idx;
    unsigned nthreads, started, live, waiting;
    unsigned stride, shift;     /* thread of the nth start: (n * stride + shift) % nthreads */
    int any, all, count;        /* being collected */
    int last_any, last_all, last_count; /* results of the last barrier */
    struct warp warps[MAX_WARPS];
};

__thread struct emu_thread *emu_self;
__thread char *emu_dynamic_shared;
__thread const struct emu_launch *emu_launched;

/* State that a CPU thread reuses for its next grid; freed when the thread exits. */
struct machine {
    struct block block;
    struct fiber fibers[MAX_THREADS];
    int nfibers;
    struct fiber *current;
    struct emu_fiber scheduler; /* the thread's own stack */
    char *shared;
    size_t shared_sz;
    int last_found;             /* see fiber_find */
    bool is_midway;             /* a fault interrupted it */
};
static __thread struct machine *machine;
static __thread struct block *block;    /* machine->block */

static pthread_key_t machine_key;
static pthread_once_t machine_once = PTHREAD_ONCE_INIT;

static unsigned warp_of(unsigned index)
{
    return index / WARP_SZ;
}

/* ---- fibers ---- */

static void fiber_switch_out(void)
{
    emu_fiber_switch(&machine->current->fiber, &machine->scheduler);
}

static void barrier_release(void)
{
    block->last_any = block->any;
    block->last_all = block->all;
    block->last_count = block->count;
    block->any = 0;
    block->all = 1;
    block->count = 0;
    block->waiting = 0;
    for (int i = 0; i < machine->nfibers; i++) {
        if (machine->fibers[i].state == FIBER__WAITING && machine->fibers[i].warp_group < 0)
            machine->fibers[i].state = FIBER__READY;
    }
}

/* If all live lanes of the group have arrived, give each of them the values of all. */
static void group_settle(unsigned w, int g)
{
    struct warp *warp = &block->warps[w];
    struct group *group = &warp->groups[g];

    if (group->mask == 0 || (group->arrived & warp->live) != (group->mask & warp->live))
        return;
    group->mask = 0;
    for (int i = 0; i < machine->nfibers; i++) {
        if (machine->fibers[i].state == FIBER__WAITING && machine->fibers[i].warp_group == g &&
            warp_of(machine->fibers[i].self.index) == w) {
            machine->fibers[i].state = FIBER__READY;
            memcpy(machine->fibers[i].slots, group->slots, sizeof(group->slots));
        }
    }
}

/* A thread has exited: others may have been waiting for it only. */
static void thread_end(unsigned index)
{
    unsigned w = warp_of(index);

    block->live--;
    block->warps[w].live &= ~(1u << (index % WARP_SZ));
    for (int g = 0; g < GROUPS; g++)
        group_settle(w, g);
    if (block->live > 0 && block->waiting == block->live)
        barrier_release();
}

static void thread_begin(struct emu_thread *self)
{
    const struct emu_launch *l = block->launch;
    unsigned n = block->started++;
    unsigned index = (unsigned) (((size_t) n * block->stride + block->shift) % block->nthreads);

    self->index = index;
    self->thread_idx.x = index % l->block[0];
    self->thread_idx.y = index / l->block[0] % l->block[1];
    self->thread_idx.z = index / l->block[0] / l->block[1];
    self->block_idx = block->block_idx;
    self->block_dim = (struct emu_dim) { l->block[0], l->block[1], l->block[2] };
    self->grid_dim = (struct emu_dim) { l->grid[0], l->grid[1], l->grid[2] };
    emu_self = self;
}

static void fiber_main(void)
{
    struct fiber *f = machine->current;

    emu_fiber_arrived(NULL);
    for (;;) {
        while (block->started < block->nthreads) {
            thread_begin(&f->self);
            block->body(block->params);
            thread_end(f->self.index);
        }
        f->state = FIBER__FREE;
        fiber_switch_out();
    }
}

static bool fiber_prepare(struct fiber *f)
{
    if (f->fiber.stack == NULL) {
        char *stack = mmap(NULL, STACK_SZ, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
        if (stack == MAP_FAILED)
            return false;
        mprotect(stack, 4096, PROT_NONE);       /* makes a stack overflow fault */
        f->fiber.stack = stack;
        f->fiber.stack_sz = STACK_SZ;
    }
    emu_fiber_set(&f->fiber, fiber_main);
    f->state = FIBER__FREE;
    return true;
}

/* Starts searching at the last result: the next one is usually right. */
static struct fiber *fiber_find(enum fiber_state state)
{
    for (int i = 0; i < machine->nfibers; i++) {
        int last = machine->last_found + 1 < machine->nfibers ? machine->last_found + 1 : 0;
        machine->last_found = last;
        if (machine->fibers[last].state == state)
            return &machine->fibers[last];
    }
    return NULL;
}

static struct fiber *fiber_for_new_thread(void)
{
    struct fiber *f = fiber_find(FIBER__FREE);

    if (f == NULL && machine->nfibers < MAX_THREADS &&
        fiber_prepare(&machine->fibers[machine->nfibers]))
        f = &machine->fibers[machine->nfibers++];
    return f;
}

/* ---- blocks ---- */

static void block_run(void)
{
    while (block->live > 0) {
        struct fiber *f = fiber_find(FIBER__READY);

        if (f == NULL && block->started < block->nthreads)
            f = fiber_for_new_thread();
        if (f == NULL)
            block->launch->fail("some threads wait at a barrier that others never reach");
        f->state = FIBER__READY;
        machine->current = f;
        emu_self = &f->self;
        emu_fiber_switch(&machine->scheduler, &f->fiber);
    }
}

static unsigned coprime(unsigned wish, unsigned n)
{
    for (unsigned s = wish % n + 1;; s++) {
        unsigned a = s, b = n;
        while (b) {
            unsigned t = a % b;
            a = b;
            b = t;
        }
        if (a == 1)
            return s;
    }
}

static void block_begin(struct emu_dim at)
{
    const struct emu_launch *l = block->launch;
    unsigned n = l->block[0] * l->block[1] * l->block[2];

    block->block_idx = at;
    block->nthreads = block->live = n;
    block->started = block->waiting = 0;
    block->stride = l->seed ? coprime(l->seed, n) : 1;
    block->shift = l->seed ? l->seed / 7 % n : 0;
    block->any = block->count = 0;
    block->all = 1;
    for (unsigned w = 0; w < (n + WARP_SZ - 1) / WARP_SZ; w++) {
        unsigned lanes = n - w * WARP_SZ;
        for (int g = 0; g < GROUPS; g++)
            block->warps[w].groups[g].mask = 0;
        block->warps[w].live = lanes >= WARP_SZ ? 0xffffffffu : (1u << lanes) - 1;
    }
    /* Shared memory initially has its previous contents. */
    if (l->shared_sz > 0)
        memset(emu_dynamic_shared, 0xa5, l->shared_sz);
}

static void machine_free(void *arg)
{
    struct machine *m = arg;

    for (int i = 0; i < m->nfibers; i++) {
        emu_fiber_end(&m->fibers[i].fiber);
        munmap(m->fibers[i].fiber.stack, STACK_SZ);
    }
    free(m->shared);
    free(m);
}

static void machine_key_make(void)
{
    pthread_key_create(&machine_key, machine_free);
}

static bool machine_ready(size_t shared_sz)
{
    if (machine == NULL) {
        pthread_once(&machine_once, machine_key_make);
        machine = calloc(1, sizeof(*machine));
        if (machine == NULL)
            return false;
        pthread_setspecific(machine_key, machine);
        emu_fiber_self(&machine->scheduler);
        block = &machine->block;
    }
    if (machine->shared_sz < shared_sz) {
        free(machine->shared);
        machine->shared = aligned_alloc(128, (shared_sz + 127) / 128 * 128);
        machine->shared_sz = machine->shared ? shared_sz : 0;
    }
    return machine->shared_sz >= shared_sz;
}

void emu_grid_run(const struct emu_launch *launch, void (*body) (void **), void **params)
{
    struct emu_dim at;

    if (!machine_ready(launch->shared_sz)) {
        launch->fail("no memory for the emulation");
        return;
    }

    block->launch = emu_launched = launch;
    block->body = body;
    block->params = params;
    emu_dynamic_shared = machine->shared;
    for (int i = 0; i < machine->nfibers && machine->is_midway; i++)
        fiber_prepare(&machine->fibers[i]);
    machine->is_midway = true;

    for (at.z = 0; at.z < launch->grid[2]; at.z++) {
        for (at.y = 0; at.y < launch->grid[1]; at.y++) {
            for (at.x = 0; at.x < launch->grid[0]; at.x++) {
                block_begin(at);
                block_run();
            }
        }
    }
    emu_self = NULL;
    machine->is_midway = false;
}

/* ---- calls of the grid's threads ---- */

void emu_block_sync(int value, int *any, int *all, int *count)
{
    block->any |= value != 0;
    block->all &= value != 0;
    block->count += value != 0;
    machine->current->state = FIBER__WAITING;
    machine->current->warp_group = -1;
    if (++block->waiting == block->live)
        barrier_release();
    else
        fiber_switch_out();

    if (any)
        *any = block->last_any;
    if (all)
        *all = block->last_all;
    if (count)
        *count = block->last_count;
}

const void *emu_warp_exchange(unsigned mask, const void *value, size_t n)
{
    unsigned index = emu_self->index, lane = index % WARP_SZ, w = warp_of(index);
    struct warp *warp = &block->warps[w];
    int g = -1;

    if (!(mask & (1u << lane)))
        block->launch->fail("a lane calls a warp function with a mask that leaves it out");
    for (int i = GROUPS - 1; i >= 0; i--) {
        if (warp->groups[i].mask == mask) {
            g = i;
            break;
        }
        if (warp->groups[i].mask == 0)
            g = i;
    }
    if (g < 0)
        block->launch->fail("too many groups of one warp wait at the same time");

    if (warp->groups[g].mask == 0) {
        warp->groups[g].mask = mask;
        warp->groups[g].arrived = 0;
    }
    warp->groups[g].arrived |= 1u << lane;
    memcpy(warp->groups[g].slots[lane], value, n);

    machine->current->state = FIBER__WAITING;
    machine->current->warp_group = g;
    group_settle(w, g);
    if (machine->current->state == FIBER__WAITING)
        fiber_switch_out();
    return machine->current->slots;
}
