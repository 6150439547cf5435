/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* States of datatypes as bytes that another process of the same build can read. Must not know how
 * they get there. */

#ifndef GPUDT_WIRE_H_INCLUDED
#define GPUDT_WIRE_H_INCLUDED

#include "gpudt_type.h"

/* Bytes of a state in this form, a multiple of 8. */
size_t MPII_Gpudt_wire_sz(const struct MPII_Gpudt_type *type);

/* Write a state.
 *   mem  (OUT)  MPII_Gpudt_wire_sz bytes, aligned to 8 */
void MPII_Gpudt_wire_write(const struct MPII_Gpudt_type *type, void *mem);

/* The id of a state in the process that wrote it, which it never uses again. */
static inline uint64_t MPII_Gpudt_wire_id(const void *mem)
{
    return *(const uint64_t *) mem;
}

/* Get the state that another process wrote; made at the first use and kept for a while.
 *   process  (IN)   number of that process
 *   mem, sz  (IN)   what it wrote, aligned to 8
 *   type     (OUT)  the state, with a reference that the caller releases by
 *                   MPII_Gpudt_type_release; untouched on failure
 * Callers are serialized by the lock of the progress engine. Errors: out of memory; sizes that do
 * not agree. */
int MPII_Gpudt_wire_read(uint64_t process, const void *mem, size_t sz,
                         struct MPII_Gpudt_type **type);

/* Release what is kept of states that another process wrote.
 *   id  (IN)  as above; 0: of all of them
 * Returns whether there was one. */
bool MPII_Gpudt_wire_drop(uint64_t process, uint64_t id);

/* Release the states that are kept; before the engines are freed. */
void MPII_Gpudt_wire_end(void);

#endif /* GPUDT_WIRE_H_INCLUDED */
