/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests the addresses that the library takes as its own stack, heap and static variables without a
 * query of the driver. Variables of libraries are not among them, as these may be unloaded. Nor is
 * memory mapped below the stack, even if the stack may grow without limit and a driver may map
 * device memory there (setarch -L, ulimit -s unlimited). The stack is recognised in the first
 * thread, also deep down, in other threads, and beside coroutines. */

#include "mpiimpl.h"
#include "driver/gpudt_near.h"
#include "report.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE 4096
#define DEEP (3 << 20)          /* bytes of an array on the stack */

static int initialized = 1;
static ucontext_t main_context, coroutine;
static char *below;             /* pages mapped below the stack */

/* Lowest address of the first thread's stack now. */
static uintptr_t stack_bottom(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    unsigned long low = 0, at;

    while (maps && fgets(line, sizeof(line), maps)) {
        if (strstr(line, "[stack]") && sscanf(line, "%lx", &at) == 1)
            low = at;
    }
    if (maps)
        fclose(maps);
    return low;
}

/* A page as far below the stack as a driver might map one. */
static char *page_below(uintptr_t distance)
{
    char *hint = (char *) (stack_bottom() / PAGE * PAGE - distance);
    char *page = mmap(hint, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    CHECK(page == hint);
    return page;
}

static void stack_unlimit(void)
{
    struct rlimit limit;

    CHECK(getrlimit(RLIMIT_STACK, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    CHECK(setrlimit(RLIMIT_STACK, &limit) == 0);
    CHECK(limit.rlim_cur > ((rlim_t) 1 << 30));
}

static __attribute__((noinline)) void deep_check(void)
{
    char array[DEEP];

    memset(array, 1, sizeof(array));
    CHECK(MPII_Gpudt_is_near(array));
    CHECK(MPII_Gpudt_is_near(array + DEEP / 2));
    CHECK(MPII_Gpudt_is_near(array + DEEP - 1));
}

static void *thread_run(void *other)
{
    char mine[100] = "";

    CHECK(MPII_Gpudt_is_near(mine));
    CHECK(!MPII_Gpudt_is_near(other));
    CHECK(!MPII_Gpudt_is_near(below));
    return NULL;
}

static void coroutine_run(void)
{
    CHECK(!MPII_Gpudt_is_near(below));
    CHECK(!MPII_Gpudt_is_near(below + PAGE - 1));
}

/* Static variables, at their first and last byte, and what is mapped next to them. */
static void statics_check(void)
{
    static char zeros[3 * PAGE];
    extern char __data_start[], _end[];

    CHECK(MPII_Gpudt_is_near(zeros) && MPII_Gpudt_is_near(zeros + sizeof(zeros) - 1));
    CHECK(MPII_Gpudt_is_near(&initialized));
    CHECK(MPII_Gpudt_is_near(__data_start) && MPII_Gpudt_is_near(_end - 1));
    CHECK(!MPII_Gpudt_is_near((char *) (uintptr_t) stack_bottom));
    CHECK(!MPII_Gpudt_is_near(stdout));
}

int main(void)
{
    char local[100], *heap, *mapped, *room;
    pthread_t thread;

    MPI_Init(NULL, NULL);
    stack_unlimit();
    CHECK(MPII_Gpudt_is_near(local));
    below = page_below(64 << 20);
    CHECK(!MPII_Gpudt_is_near(below));
    CHECK(!MPII_Gpudt_is_near(below + PAGE - 1));
    CHECK(!MPII_Gpudt_is_near((char *) stack_bottom() - (8 << 20)));
    deep_check();
    CHECK(!MPII_Gpudt_is_near(below));
    CHECK(MPII_Gpudt_is_near(local));

    heap = sbrk(PAGE);
    mapped = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(MPII_Gpudt_is_near(heap) && MPII_Gpudt_is_near(heap + PAGE - 1));
    CHECK(!MPII_Gpudt_is_near(mapped));
    CHECK(!MPII_Gpudt_is_near(sbrk(0)));
    statics_check();

    pthread_create(&thread, NULL, thread_run, local);
    pthread_join(thread, NULL);

    room = malloc(1 << 20);
    getcontext(&coroutine);
    coroutine.uc_stack.ss_sp = room;
    coroutine.uc_stack.ss_size = 1 << 20;
    coroutine.uc_link = &main_context;
    makecontext(&coroutine, coroutine_run, 0);
    swapcontext(&main_context, &coroutine);
    CHECK(MPII_Gpudt_is_near(local));
    free(room);
    MPI_Finalize();
    return report_done();
}
