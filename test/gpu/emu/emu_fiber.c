/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* See emu_fiber.h. Part of both the driver and a shared object of kernels. */

#define _GNU_SOURCE
#include <pthread.h>

#include "emu_fiber.h"

void emu_fiber_self(struct emu_fiber *fiber)
{
    pthread_attr_t attr;
    void *stack = NULL;

    memset(fiber, 0, sizeof(*fiber));
    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
        pthread_attr_getstack(&attr, &stack, &fiber->stack_sz);
        pthread_attr_destroy(&attr);
    }
    fiber->stack = stack;
#if defined(__SANITIZE_THREAD__)
    fiber->tsan = __tsan_get_current_fiber();
#endif
}

#if defined(__x86_64__)
__asm__(".text\n"
        ".globl emu_fiber_swap\n"
        ".hidden emu_fiber_swap\n"
        ".type emu_fiber_swap, @function\n"
        "emu_fiber_swap:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size emu_fiber_swap, .-emu_fiber_swap\n");
#endif
