/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/*
 * What the examples have in common and is no business of MPI's: exit statuses, kinds of memory, and
 * the choice of a GPU.
 */

#ifndef EXAMPLE_H_INCLUDED
#define EXAMPLE_H_INCLUDED

enum { EXIT__GOOD = 0, EXIT__WRONG_VALUES = 1, EXIT__CANNOT_RUN = 2 };

enum { MEMORY__ANY, MEMORY__HOST, MEMORY__GPU };

#ifdef WITH_GPU
#ifdef __cplusplus
extern "C" {
#endif

/* How many GPUs this process sees; 0 if there is none or no driver, why (OUT) says which. */
int gpu_count(const char **why);

/* Makes this process use a GPU, by its number from 0. Returns 0, or -1 after saying why not. */
int gpu_use(int number);

#ifdef __cplusplus
}
#endif
#endif

#endif /* EXAMPLE_H_INCLUDED */
