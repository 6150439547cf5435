/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The driver's threads, and faults: a bad address in a kernel ends that kernel. If the CPU accesses
 * device memory, a message is printed before the process dies. */

#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "emu.h"
#include "emu_fiber.h"

static __thread sigjmp_buf *guard;      /* set while this thread runs a kernel or a copy */
static __thread struct emu_fiber *guard_stack;
static __thread CUresult guard_why;
static struct sigaction before;

void emu_fault_raise(CUresult why)
{
    guard_why = why;
    emu_fiber_will_jump(guard_stack);
    siglongjmp(*guard, 1);
}

CUresult emu_fault_guard(void (*body) (void *), void *arg)
{
    sigjmp_buf here;
    struct emu_fiber self;

    emu_fiber_self(&self);
    guard_stack = &self;
    guard_why = CUDA_SUCCESS;
    if (sigsetjmp(here, 1) == 0) {
        guard = &here;
        body(arg);
    } else {
        emu_fiber_jumped(&self);
    }
    guard = NULL;
    return guard_why;
}

bool emu_thread_start(void *(*body) (void *), void *arg)
{
    pthread_t thread;
    sigset_t not_ours, saved;
    int err;

    sigfillset(&not_ours);
    sigdelset(&not_ours, SIGSEGV);
    sigdelset(&not_ours, SIGBUS);
    sigdelset(&not_ours, SIGFPE);
    pthread_sigmask(SIG_SETMASK, &not_ours, &saved);
    err = pthread_create(&thread, NULL, body, arg);
    pthread_sigmask(SIG_SETMASK, &saved, NULL);
    if (err == 0)
        pthread_detach(thread);
    return err == 0;
}

static void describe(uintptr_t addr)
{
    char text[256];
    int device = emu_window_device(addr);
    struct emu_range *range = NULL;
    int n;

    if (device < 0)
        return;
    /* The faulting thread may hold the lock itself; then the range is not named. */
    if (pthread_mutex_trylock(&emu_lock) == 0) {
        range = emu_range_find(addr);
        pthread_mutex_unlock(&emu_lock);
    }
    if (range)
        n = snprintf(text, sizeof(text),
                     "emulated GPU: the CPU touched device memory: byte %zu of the %zu bytes at "
                     "%#lx on device %d, allocated by %s\n", (size_t) (addr - range->base),
                     range->size, (unsigned long) range->base, device, range->caller);
    else
        n = snprintf(text, sizeof(text),
                     "emulated GPU: the CPU touched device memory: %#lx on device %d, which is "
                     "not allocated\n", (unsigned long) addr, device);
    if (write(STDERR_FILENO, text, (size_t) n) != n)
        return;
}

static void on_fault(int number, siginfo_t * info, void *context)
{
    (void) context;
    if (guard)
        emu_fault_raise(number == SIGSEGV || number == SIGBUS ? CUDA_ERROR_ILLEGAL_ADDRESS :
                        CUDA_ERROR_LAUNCH_FAILED);

    describe((uintptr_t) info->si_addr);
    /* Restore the previous handler: on return the access faults again and calls it. */
    sigaction(number, &before, NULL);
}

void emu_fault_init(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof(action));
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    sigaction(SIGSEGV, &action, &before);
}
