/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Interface between the emulated driver and a shared object of kernels compiled for the CPU.
 * Self-contained, C and C++. */

#ifndef EMU_KERNEL_H_INCLUDED
#define EMU_KERNEL_H_INCLUDED

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct emu_launch {
    unsigned grid[3];
    unsigned block[3];
    size_t shared_sz;           /* dynamic shared memory of a block, bytes */

    /* The CPU's address for n bytes at a kernel's address addr, which must be aligned to align.
     * Does not return if the kernel must not access them. */
    void *(*translate) (const void *addr, size_t n, size_t align);

    /* End the launch with an error. Does not return. */
    void (*fail) (const char *why);

    unsigned seed;              /* for the order of the threads of a block; 0: ascending */
};

/* Description of a kernel, exported by the shared object under the name emu_kernel_<kernel>. */
struct emu_kernel {
    const char *name;
    int nparams;
    const size_t *param_sz;     /* bytes of each parameter */
    void (*run) (const struct emu_launch * launch, void **params);
};

#ifdef __cplusplus
}
#endif
#endif /* EMU_KERNEL_H_INCLUDED */
