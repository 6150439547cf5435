/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* What a test may ask of the emulated driver beyond CUDA. Find these functions with dlsym(3):
 * where there is a real driver they do not exist. Self-contained. */

#ifndef EMU_CONTROL_H_INCLUDED
#define EMU_CONTROL_H_INCLUDED

#include <stddef.h>

/* From now on let the nth call (1: the next) that matches fail with code, and the times - 1 ones
 * after it (times 0: all that follow). function: name without version suffix, or NULL for any.
 * nth 0 switches injection off. */
void emu_fail_set(const char *function, long nth, int code, long times);

/* Calls counted so far by the rules of injection, and how many of them were made to fail. */
long emu_call_count(void);
long emu_failed_count(void);

/* While on, calls of this thread are the test's own: not counted, never made to fail, and what
 * they create is no leak. Nests. */
void emu_quiet(int on);

/* Live objects that are not the test's own. what: "memory" (of a device), "host", "registration",
 * "stream", "event", "module", "context" (retained or created), or NULL for all. */
long emu_live(const char *what);

/* The CPU's address for device memory, to look at or change it behind the program's back; NULL if
 * the n bytes are not all of one live allocation. */
void *emu_peek(const void *addr, size_t n);

/* Break a device: every context on it fails all its calls with code from now on. */
void emu_device_lose(int device, int code);

/* Launch a kernel that is part of the program and of no module, in the current context; stream is a
 * CUstream, shared_sz bytes, params as for cuLaunchKernel. Returns a CUresult. What the runtime's
 * cudaLaunchKernel rests on. */
struct emu_kernel;
int emu_kernel_launch(const struct emu_kernel *kernel, const unsigned grid[3],
                      const unsigned block[3], size_t shared_sz, void *stream, void **params);

#endif /* EMU_CONTROL_H_INCLUDED */
