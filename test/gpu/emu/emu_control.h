/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Control of the emulated driver by tests. Find these functions with dlsym(3): a real driver does
 * not have them. Self-contained. */

#ifndef EMU_CONTROL_H_INCLUDED
#define EMU_CONTROL_H_INCLUDED

#include <stddef.h>

/* From now on let the nth matching call (1: the next) fail with code, and the times - 1 calls after
 * it (times 0: all that follow). function: name without version suffix, or NULL for any. nth 0
 * switches injection off. */
void emu_fail_set(const char *function, long nth, int code, long times);

/* Number of calls counted so far by the rules of injection, and of calls that were made to fail. */
long emu_call_count(void);
long emu_failed_count(void);

/* While on, calls of this thread are the test's own: not counted, never made to fail, and objects
 * that they create are not reported as leaks. Nests. */
void emu_quiet(int on);

/* Number of live objects that are not the test's own. what: "memory" (of a device), "host",
 * "mapping" (of another process's memory), "registration", "reservation" (of addresses), "stream",
 * "event", "module", "context" (retained or created), or NULL for all. */
long emu_live(const char *what);

/* Counts of interprocess memory. what: "open" (mappings now), "most" (the largest "open" so far),
 * "opens" (mappings ever made), "stale" (uses of mappings after the exporter's free or after their
 * close: see EMU_IPC_STALE), "orphaned" (bytes that this process freed and others map). -1: unknown
 * word. */
long emu_ipc_count(const char *what);

/* The CPU's address of device memory, to read or change it without a driver call; NULL if the n
 * bytes are not within one live allocation. */
void *emu_peek(const void *addr, size_t n);

/* Simulate the loss of a device: from now on, all calls in its contexts fail with code. */
void emu_device_lose(int device, int code);

/* Launch a kernel that is part of the program and of no module, in the current context; stream is a
 * CUstream, shared_sz bytes, params as for cuLaunchKernel. Returns a CUresult. For the runtime's
 * cudaLaunchKernel. */
struct emu_kernel;
int emu_kernel_launch(const struct emu_kernel *kernel, const unsigned grid[3],
                      const unsigned block[3], size_t shared_sz, void *stream, void **params);

#endif /* EMU_CONTROL_H_INCLUDED */
