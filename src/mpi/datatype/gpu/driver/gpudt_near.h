/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Addresses that can be recognized as host memory without the driver: *near* addresses. */

#ifndef GPUDT_NEAR_H_INCLUDED
#define GPUDT_NEAR_H_INCLUDED

#include <stdbool.h>

/* True if an address can only be host memory: on the brk heap, in the program's static variables or
 * on this thread's stack. The driver never places memory there, though it may be pinned. Costs a
 * few loads. False means not known. */
bool MPII_Gpudt_is_near(const void *addr);

#endif /* GPUDT_NEAR_H_INCLUDED */
