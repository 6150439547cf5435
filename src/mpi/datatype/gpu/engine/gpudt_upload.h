/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Images of datatypes in GPU memory. */

#ifndef GPUDT_UPLOAD_H_INCLUDED
#define GPUDT_UPLOAD_H_INCLUDED

#include "type/gpudt_type.h"
#include "plan/gpudt_image.h"
#include "gpudt_engine.h"

/* Get the image of a datatype in an engine's device memory (see gpudt_image.h), made at first use
 * (gpudt_upload.c). The engine's context is current.
 *   at  (OUT)  valid for work on the engine's streams while the caller holds a reference to the
 *              type */
int MPII_Gpudt_upload_get(MPII_Gpudt_engine_t * engine, struct MPII_Gpudt_type *type,
                          struct MPII_Gpudt_image_at *at);
/* Free an engine's blocks; called when the engine is freed. */
void MPII_Gpudt_uploads_free(MPII_Gpudt_engine_t * engine, bool is_alive);

#endif /* GPUDT_UPLOAD_H_INCLUDED */
