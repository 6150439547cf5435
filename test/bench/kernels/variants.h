/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * The files of compiled kernels that are checked and timed, by plans for layouts.
 */

#ifndef VARIANTS_H_INCLUDED
#define VARIANTS_H_INCLUDED

#include "kernel/gpudt_kernel_list.h"
#include "plan/gpudt_plan.h"
#include "plan/gpudt_plan_pair.h"
#include "plan/gpudt_image.h"
#include "refs.h"

/* The stream for all work, on a device with that many multiprocessors. Set by variants_open. */
extern CUstream variant_stream;
extern int variant_nsms;

/* Make device 0 current, with a stream. */
void variants_open(void);

struct variant {
    const char *name;
    int moves;                  /* 0: computes addresses only (walk.cubin): no bytes to check */
    CUmodule module;
    CUfunction function[MPII_GPUDT_NKERNELS];
};

/* Load a file of kernels; its name refers to path. */
void variant_load(struct variant *v, const char *path);

/* Start a plan's kernel or copy. */
void variant_carry_out(const struct variant *v, struct MPII_Gpudt_plan *plan, int unpack);

/* Start a pair plan's kernel. */
void variant_pair(const struct variant *v, struct MPII_Gpudt_plan_pair *plan);

/* The image of a layout's type in device memory. */
struct upload {
    struct MPII_Gpudt_image image;
    CUdeviceptr mem;
};

void upload_make(const struct layout *l, struct upload *up);
void upload_free(struct upload *up);

/* All of a layout, with the addresses and memories not yet set. */
void plan_in_set(struct MPII_Gpudt_plan_in *in, const struct layout *l, const struct upload *up);

/* Check variants byte by byte against a plain loop over the blocks, in random cases
 * (check_kernels.c). Returns whether any failed. */
int variants_check(int nvariants, struct variant *v, unsigned long long seed, int rounds);

/* Time copies from layout to layout, and check their data (pair_kernels.c).
 *   names  (IN)  FROM:TO[,FROM:TO...], or "all" for a selection
 *   peer   (IN)  1: sources are in the memory of device 1
 * Returns whether any copy was wrong. */
int variants_pairs(int nvariants, struct variant *v, CUmodule ref, const char *sizes,
                   const char *names, int peer);

#endif /* VARIANTS_H_INCLUDED */
