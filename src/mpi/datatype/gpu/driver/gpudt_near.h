/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Addresses that can be recognized as host memory without the driver: *near* addresses. */

#ifndef GPUDT_NEAR_H_INCLUDED
#define GPUDT_NEAR_H_INCLUDED

#include <stdbool.h>
#include <stddef.h>

/* True if an address can only be host memory: on the brk heap, in the program's static variables, on
 * this thread's stack or in memory of MPII_Gpudt_near_add. The driver never places memory there,
 * though it may be pinned. Costs a few loads. False means not known. */
bool MPII_Gpudt_is_near(const void *addr);

/* Note host memory of the library that stays mapped while the process exists. Called by one thread at
 * a time. Returns false if there was no room to note it. */
bool MPII_Gpudt_near_add(const void *mem, size_t sz);

#endif /* GPUDT_NEAR_H_INCLUDED */
