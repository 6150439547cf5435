/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Allocations of GPU memory of other processes of the node, mapped by this one. Callers are
 * serialized by the lock of the progress engine. */

#ifndef GPUDT_IMPORT_H_INCLUDED
#define GPUDT_IMPORT_H_INCLUDED

#include "gpudt_export.h"

/* An allocation of another process, as an engine maps it. */
struct MPII_Gpudt_mapping;

/* Find an allocation that is mapped, or that may be mapped now. An allocation is mapped once the
 * time that this would have saved so far exceeds the time that it takes.
 *   engine    (IN)  whose kernels will access the memory
 *   export    (IN)  from the other process
 *   saved_us  (IN)  microseconds that this use would save
 * Returns NULL if not. Valid until the next call, or until it is released. */
struct MPII_Gpudt_mapping *MPII_Gpudt_import_find(MPII_Gpudt_engine_t * engine,
                                                  const struct MPII_Gpudt_export *export,
                                                  double saved_us);

/* Whether an allocation that was not found will not be mapped later either. */
bool MPII_Gpudt_import_is_refused(MPII_Gpudt_engine_t * engine,
                                  const struct MPII_Gpudt_export *export);

/* Whether an allocation that was found is mapped. */
bool MPII_Gpudt_import_is_open(const struct MPII_Gpudt_mapping *mapping);

/* Map an allocation that was found, if it is not mapped: then the engine's context is current.
 * Returns its address; 0 if that failed. Otherwise the caller owns a reference, which keeps it
 * mapped. */
CUdeviceptr MPII_Gpudt_import_open(struct MPII_Gpudt_mapping *mapping);

/* Release a reference. */
void MPII_Gpudt_import_release(struct MPII_Gpudt_mapping *mapping);

/* Unmap an allocation of another process in all contexts, except where it is in use, before that
 * process frees it. The driver waits for kernels that run there.
 *   process, id  (IN)  as in an export */
void MPII_Gpudt_import_close(uint64_t process, uint64_t id);

/* Unmap the memory of another process that is not in use, and forget the process. To be called
 * while MPII_Gpudt_engines_are_idle, and not with 0. */
void MPII_Gpudt_import_drop(uint64_t process);

#endif /* GPUDT_IMPORT_H_INCLUDED */
