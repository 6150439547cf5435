/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Marks the engine's calls in a profiler's timeline (NVTX, if the toolkit has it). Costs one test
 * of a pointer if no profiler is attached. */

#ifndef GPUDT_PROFILE_H_INCLUDED
#define GPUDT_PROFILE_H_INCLUDED

#if defined(__has_include)
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define GPUDT_HAS_NVTX
#endif
#endif

/* INIT: under a lock that every thread takes before its first PUSH. Otherwise NVTX looks for a
 * profiler at the first PUSH, and changes its table while other threads read it. */
#ifdef GPUDT_HAS_NVTX
#define MPII_GPUDT_PROFILE_INIT() nvtxInitialize(NULL)
#define MPII_GPUDT_PROFILE_PUSH(name_) ((void) nvtxRangePushA(name_))
#define MPII_GPUDT_PROFILE_POP() ((void) nvtxRangePop())
#else
#define MPII_GPUDT_PROFILE_INIT() ((void) 0)
#define MPII_GPUDT_PROFILE_PUSH(name_) ((void) 0)
#define MPII_GPUDT_PROFILE_POP() ((void) 0)
#endif

#endif /* GPUDT_PROFILE_H_INCLUDED */
