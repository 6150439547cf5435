/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tells addresses that are plainly the host's without asking the driver, so that small messages in
 * host memory cost a GPU program what they cost any other. Must not know the driver. */

#include "mpiimpl.h"
#include "gpudt_near.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The heap that grows by brk(2) and the stacks are the kernel's and the C library's to place:
 * device and managed memory is mapped elsewhere as long as the process lives. */
static MPL_atomic_uint64_t heap_start = MPL_ATOMIC_UINT64_T_INITIALIZER(0);

/* This thread's stack, as far as it is certain. The first thread's stack grows; what lies below its
 * mapping is free for others, so that the limit on its size says nothing: only what was mapped when
 * it was last looked at counts. */
static MPL_TLS uintptr_t stack_low;
static MPL_TLS uintptr_t stack_high;    /* 0: not asked yet */
static MPL_TLS uintptr_t stack_look;    /* to be looked at again from a frame below; 0: never */

static uintptr_t heap_start_read(void);
static void stack_read(uintptr_t frame);
static void stack_read_first(uintptr_t frame);
static void stack_read_thread(void);

bool MPII_Gpudt_is_near(const void *addr)
{
    uintptr_t at = (uintptr_t) addr, frame = (uintptr_t) __builtin_frame_address(0);
    uint64_t heap = MPL_atomic_relaxed_load_uint64(&heap_start);

    if (unlikely(heap == 0)) {
        heap = heap_start_read();
        MPL_atomic_relaxed_store_uint64(&heap_start, heap);
    }
    if (at >= heap && at < (uintptr_t) sbrk(0))
        return true;

    if (unlikely(stack_high == 0 || frame < stack_look))
        stack_read(frame);
    return at >= stack_low && at < stack_high;
}

/* Where the kernel let the heap start; if it does not say, where the heap ends now. */
static uintptr_t heap_start_read(void)
{
    const int field = 47;       /* start_brk, see proc(5) */
    char text[1024], *at;
    unsigned long start = 0;
    FILE *stat = fopen("/proc/self/stat", "r");

    if (stat) {
        size_t n = fread(text, 1, sizeof(text) - 1, stat);
        text[n] = '\0';
        /* The second field is the program's name, in parentheses, and may hold anything */
        at = strrchr(text, ')');
        for (int i = 2; at && i < field; i++)
            at = strchr(at + 1, ' ');
        if (at)
            start = strtoul(at + 1, NULL, 10);
        fclose(stat);
    }
    return start ? start : (uintptr_t) sbrk(0);
}

static void stack_read(uintptr_t frame)
{
    if (syscall(SYS_gettid) == getpid())
        stack_read_first(frame);
    else
        stack_read_thread();
}

/* The process's first thread. If the frame is not on its stack, but on a coroutine's, the next look is
 * from twice as far below, so that there are few. */
static void stack_read_first(uintptr_t frame)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    unsigned long low, high;
    int path = 0;

    if (stack_high == 0)
        stack_high = 1;
    while (maps && fgets(line, sizeof(line), maps)) {
        if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %n", &low, &high, &path) == 2 &&
            strcmp(line + path, "[stack]\n") == 0) {
            stack_low = low;
            stack_high = high;
            break;
        }
    }
    if (maps)
        fclose(maps);

    stack_look = stack_low;
    if (frame < stack_low)
        stack_look = stack_high - MPL_MIN(stack_high, 2 * (stack_high - frame));
}

/* Any other thread has its stack from the C library or the program, as a whole. */
static void stack_read_thread(void)
{
    pthread_attr_t attr;
    void *low;
    size_t sz;

    stack_low = stack_look = 0;
    stack_high = 1;
    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
        if (pthread_attr_getstack(&attr, &low, &sz) == 0) {
            stack_low = (uintptr_t) low;
            stack_high = stack_low + sz;
        }
        pthread_attr_destroy(&attr);
    }
}
