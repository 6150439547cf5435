/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Host memory registered by MPIR_Gpudt_host_register: known without asking the driver. */

#ifndef GPUDT_REGISTER_H_INCLUDED
#define GPUDT_REGISTER_H_INCLUDED

#include "gpudt_engine.h"

/* Whether memory is in a range that was registered in the context of an engine.
 *   engine     (IN)   known to be alive
 *   low, high  (IN)   first byte, and one past the last
 *   shift      (OUT)  to add to its address for the engine's device */
bool MPII_Gpudt_host_find(const MPII_Gpudt_engine_t * engine, const char *low, const char *high,
                          uint64_t * shift);

#endif /* GPUDT_REGISTER_H_INCLUDED */
