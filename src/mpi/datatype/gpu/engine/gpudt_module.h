/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The kernels of an engine. */

#ifndef GPUDT_MODULE_H_INCLUDED
#define GPUDT_MODULE_H_INCLUDED

#include "gpudt_engine.h"

/* The function of a kernel, loading the image at first use. The engine's context is current.
 *   kernel    (IN)   enum MPII_Gpudt_kernel_e
 *   function  (OUT)  NULL: no image suits the device, which is no error */
int MPII_Gpudt_module_kernel(MPII_Gpudt_engine_t * engine, int kernel, CUfunction * function);

/* Whether kernels can be had, loading the image if that has not been tried. */
int MPII_Gpudt_module_usable(MPII_Gpudt_engine_t * engine, bool * usable);

/* Unload the image, for an engine that nothing uses.
 *   is_alive  (IN)  false: the context is gone, and what was in it */
void MPII_Gpudt_module_free(MPII_Gpudt_engine_t * engine, bool is_alive);

#endif /* GPUDT_MODULE_H_INCLUDED */
