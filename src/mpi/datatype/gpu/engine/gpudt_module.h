/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The kernels of an engine. */

#ifndef GPUDT_MODULE_H_INCLUDED
#define GPUDT_MODULE_H_INCLUDED

#include "gpudt_engine.h"

/* Get the function of a kernel; the image is loaded at first use. The engine's context is current.
 *   kernel    (IN)   enum MPII_Gpudt_kernel_e
 *   function  (OUT)  NULL: no image suits the device, or there is no memory for it, which is no
 *                    error */
int MPII_Gpudt_module_kernel(MPII_Gpudt_engine_t * engine, int kernel, CUfunction * function);

/* Set whether the next launches of a kernel are to share multiprocessors with any kernel of the
 * program, rather than to have as many blocks as possible on each of them. A multiprocessor is
 * divided into cache and shared memory anew only when no kernel runs on it. */
void MPII_Gpudt_module_modest(MPII_Gpudt_engine_t * engine, int kernel, CUfunction function,
                              bool is_modest);

/* Whether kernels are available; loads the image if that has not been tried. */
int MPII_Gpudt_module_usable(MPII_Gpudt_engine_t * engine, bool * usable);

/* Unload the image of an engine that is no longer used.
 *   is_alive  (IN)  false: the context is destroyed, with all in it */
void MPII_Gpudt_module_free(MPII_Gpudt_engine_t * engine, bool is_alive);

#endif /* GPUDT_MODULE_H_INCLUDED */
