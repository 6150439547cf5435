/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Switches stacks within a CPU thread and informs the sanitizers. Must not know kernels. On x86-64
 * a switch is a dozen instructions; elsewhere it is swapcontext, which makes a system call and
 * causes a warning of AddressSanitizer. */

#ifndef EMU_FIBER_H_INCLUDED
#define EMU_FIBER_H_INCLUDED

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

struct emu_fiber {
    void *sp;                   /* while it is not running */
    ucontext_t context;         /* the same where no native switch is implemented */
    char *stack;                /* lowest address */
    size_t stack_sz;
    void *tsan;
};

#if defined(__x86_64__)
/* Save the callee-saved registers, switch stacks, restore the registers saved there. */
void emu_fiber_swap(void **save_sp, void *load_sp);
#endif

/* Make the next switch to fiber start entry, which never returns. */
static inline void emu_fiber_set(struct emu_fiber *fiber, void (*entry) (void))
{
#if defined(__x86_64__)
    /* Six registers, the return address, and one word so that entry finds the stack alignment of a
     * call. */
    void **top = (void **) (fiber->stack + fiber->stack_sz) - 8;
#if defined(__SANITIZE_ADDRESS__)
    /* Frames that were left by a jump have not unpoisoned their memory. */
    __asan_unpoison_memory_region(fiber->stack, fiber->stack_sz);
#endif
    memset(top, 0, 8 * sizeof(*top));
    memcpy(&top[6], &entry, sizeof(entry));
    fiber->sp = top;
#else
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = fiber->stack;
    fiber->context.uc_stack.ss_size = fiber->stack_sz;
    fiber->context.uc_link = NULL;
    makecontext(&fiber->context, entry, 0);
#endif
#if defined(__SANITIZE_THREAD__)
    if (fiber->tsan == NULL)
        fiber->tsan = __tsan_create_fiber(0);
#endif
}

/* Free what emu_fiber_set allocated, but not the stack. */
static inline void emu_fiber_end(struct emu_fiber *fiber)
{
    (void) fiber;
#if defined(__SANITIZE_THREAD__)
    if (fiber->tsan)
        __tsan_destroy_fiber(fiber->tsan);
#endif
}

/* First statement on a stack that was switched to. */
static inline void emu_fiber_arrived(void *fake_stack)
{
    (void) fake_stack;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake_stack, NULL, NULL);
#endif
}

static inline void emu_fiber_switch(struct emu_fiber *from, struct emu_fiber *to)
{
    void *fake_stack = NULL;

#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&fake_stack, to->stack, to->stack_sz);
#endif
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(to->tsan, 0);
#endif
#if defined(__x86_64__)
    emu_fiber_swap(&from->sp, to->sp);
#else
    swapcontext(&from->context, &to->context);
#endif
    emu_fiber_arrived(fake_stack);
}

/* Describe the current stack, to switch back to it. */
void emu_fiber_self(struct emu_fiber *fiber);

/* Call before and after a jump (longjmp) from a fiber to the stack of self: one sanitizer must be
 * informed before, the other after. */
static inline void emu_fiber_will_jump(struct emu_fiber *self)
{
    (void) self;
#if defined(__SANITIZE_THREAD__)
    if (self->tsan != __tsan_get_current_fiber())
        __tsan_switch_to_fiber(self->tsan, 0);
#endif
}

static inline void emu_fiber_jumped(struct emu_fiber *self)
{
    (void) self;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(NULL, self->stack, self->stack_sz);
    __sanitizer_finish_switch_fiber(NULL, NULL, NULL);
#endif
}

#endif /* EMU_FIBER_H_INCLUDED */
