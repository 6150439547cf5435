/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Recognizes host memory without asking the driver, so that small messages in host memory cost a
 * GPU program no more than any other program. Must not know the driver. */

#include "mpiimpl.h"
#include "gpudt_near.h"

#include <link.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel and the C library place the brk(2) heap, the program's static variables and the
 * stacks. Device and managed memory is never mapped there while the process exists.
 *
 * Of other host memory this cannot be known. The program or the C library may unmap it at any time,
 * and the driver may map a GPU's memory at the same addresses, without a notice to anybody. So an
 * answer of the driver about one message cannot be kept for the next. */
static MPL_atomic_uint64_t heap_start = MPL_ATOMIC_UINT64_T_INITIALIZER(0);

/* The writable segment of the program's file. Never unmapped, unlike those of libraries. */
static MPL_atomic_uint64_t data_low = MPL_ATOMIC_UINT64_T_INITIALIZER(0);
static MPL_atomic_uint64_t data_high = MPL_ATOMIC_UINT64_T_INITIALIZER(0);

/* Memory of MPII_Gpudt_near_add. */
#define MAX_OWN 16
static struct {
    uintptr_t low, high;
} own[MAX_OWN];
static MPL_atomic_int_t nown = MPL_ATOMIC_INT_T_INITIALIZER(0);

/* The part of this thread's stack that is known to be its stack. The first thread's stack grows,
 * and other mappings may be placed below it, within the limit on its size: only what was mapped at
 * the last look counts. */
static MPL_TLS uintptr_t stack_low;
static MPL_TLS uintptr_t stack_high;    /* 0: not determined yet */
static MPL_TLS uintptr_t stack_look;    /* look again from frames below this one; 0: never */

static void process_read(void);
static uintptr_t heap_start_read(void);
static int data_read(struct dl_phdr_info *program, size_t info_sz, void *arg);
static void stack_read(uintptr_t frame);
static void stack_read_first(uintptr_t frame);
static void stack_read_thread(void);

bool MPII_Gpudt_is_near(const void *addr)
{
    uintptr_t at = (uintptr_t) addr, frame = (uintptr_t) __builtin_frame_address(0);

    if (unlikely(MPL_atomic_acquire_load_uint64(&heap_start) == 0))
        process_read();
    if (at >= MPL_atomic_relaxed_load_uint64(&heap_start) && at < (uintptr_t) sbrk(0))
        return true;
    if (at >= MPL_atomic_relaxed_load_uint64(&data_low) &&
        at < MPL_atomic_relaxed_load_uint64(&data_high))
        return true;

    if (unlikely(stack_high == 0 || frame < stack_look))
        stack_read(frame);
    if (at >= stack_low && at < stack_high)
        return true;
    for (int i = MPL_atomic_acquire_load_int(&nown) - 1; i >= 0; i--) {
        if (at >= own[i].low && at < own[i].high)
            return true;
    }
    return false;
}

bool MPII_Gpudt_near_add(const void *mem, size_t sz)
{
    int n = MPL_atomic_relaxed_load_int(&nown);

    if (n == MAX_OWN)
        return false;
    own[n].low = (uintptr_t) mem;
    own[n].high = (uintptr_t) mem + sz;
    MPL_atomic_release_store_int(&nown, n + 1);
    return true;
}

/* What does not change while the process exists. Several threads may do this at once. */
static void process_read(void)
{
    dl_iterate_phdr(data_read, NULL);
    MPL_atomic_release_store_uint64(&heap_start, heap_start_read());
}

/* Callback of dl_iterate_phdr, which visits the program first: a result other than 0 ends it. A
 * linker may make several writable segments; the largest has the variables. */
static int data_read(struct dl_phdr_info *program, size_t info_sz, void *arg)
{
    const ElfW(Phdr) * found = NULL;

    for (int i = 0; i < program->dlpi_phnum; i++) {
        const ElfW(Phdr) * segment = &program->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_W) &&
            (!found || segment->p_memsz > found->p_memsz))
            found = segment;
    }
    if (found) {
        uint64_t low = program->dlpi_addr + found->p_vaddr;
        MPL_atomic_relaxed_store_uint64(&data_low, low);
        MPL_atomic_relaxed_store_uint64(&data_high, low + found->p_memsz);
    }
    return 1;
}

/* Start of the heap as the kernel reports it, else the current end of the heap. */
static uintptr_t heap_start_read(void)
{
    const int field = 47;       /* start_brk, see proc(5) */
    char text[1024], *at;
    unsigned long start = 0;
    FILE *stat = fopen("/proc/self/stat", "r");

    if (stat) {
        size_t n = fread(text, 1, sizeof(text) - 1, stat);
        text[n] = '\0';
        /* The second field is the program's name, in parentheses, and may contain anything */
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

/* The process's first thread. If the frame is not on its stack but on a coroutine's, the next look
 * is at twice the distance, so that there are few. */
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

/* Other threads: the C library or the program has allocated the whole stack. */
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
