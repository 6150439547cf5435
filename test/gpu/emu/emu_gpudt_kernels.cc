/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The library's kernels for the emulated driver: the source that nvcc compiles, compiled for the
 * CPU, with every entry point exported. */

#include "emu_cuda.h"

#define GPUDT_ADDRESS(addr_, bytes_, align_) emu_address(addr_, bytes_, align_)

#include "kernel/gpudt_kernels.cu"

#define EXPORT(family_, word_, locator_, args_)                 \
    EMU_KERNEL(gpudt_ ## family_ ## _ ## word_ ## _pack);       \
    EMU_KERNEL(gpudt_ ## family_ ## _ ## word_ ## _unpack);

#define EXPORT_PAIR(name_, body_, args_, id_)   EMU_KERNEL(gpudt_ ## name_);

#define EXPORT_REDUCE(name_)    EMU_KERNEL(gpudt_reduce_ ## name_);

#define EXPORT_COMBINE(name_)   EMU_KERNEL(gpudt_combine_ ## name_);

#define EXPORT_UPDATE(name_)    EMU_KERNEL(gpudt_update_ ## name_);

MPII_GPUDT_KERNEL_ALL(EXPORT)
MPII_GPUDT_KERNEL_PAIRS(EXPORT_PAIR)
MPII_GPUDT_KERNEL_REDUCES(EXPORT_REDUCE)
MPII_GPUDT_KERNEL_REDUCES(EXPORT_COMBINE)
MPII_GPUDT_KERNEL_REDUCES(EXPORT_UPDATE)
EMU_KERNEL(gpudt_copies_few);
EMU_KERNEL(gpudt_copies);
EMU_KERNEL(gpudt_batch);
