/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* What the examples share apart from MPI: exit statuses, kinds of memory, and the choice of a
 * GPU. */

#ifndef EXAMPLE_H_INCLUDED
#define EXAMPLE_H_INCLUDED

enum { EXIT__GOOD = 0, EXIT__WRONG_VALUES = 1, EXIT__CANNOT_RUN = 2 };

enum { MEMORY__ANY, MEMORY__HOST, MEMORY__GPU };

/* How the halo is exchanged: by messages, or by MPI_Put into the neighbours' arrays. */
enum { HALO__MESSAGES, HALO__PUT };

#ifdef WITH_GPU
#ifdef __cplusplus
extern "C" {
#endif

/* Number of GPUs that this process sees. If 0, why (OUT) is the reason: no driver or no device. */
int gpu_count(const char **why);

/* Makes a GPU, by its number from 0, the current device. Returns 0, or -1 after printing the
 * reason. */
int gpu_use(int number);

#ifdef __cplusplus
}
#endif
#endif

#endif /* EXAMPLE_H_INCLUDED */
