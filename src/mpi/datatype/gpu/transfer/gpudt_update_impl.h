/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* An update of a window in work; see gpudt_window.h. */

#ifndef GPUDT_UPDATE_IMPL_H_INCLUDED
#define GPUDT_UPDATE_IMPL_H_INCLUDED

#include "gpudt_buffer_impl.h"
#include "gpudt_reduce_impl.h"
#include "gpudt_window.h"
#include "engine/gpudt_import.h"

/* The origin or the result. */
struct MPII_Gpudt_operand {
    void *buf;
    MPI_Aint count;
    MPI_Datatype datatype;
    MPIR_Gpudt_buffer *buffer;  /* NULL: not on a GPU, or not used */
    bool is_flat;               /* its elements lie as in an array */
    char *low;                  /* the first one */
    bool is_direct;             /* the kernel accesses it where it is */
    struct MPII_Gpudt_area *area;       /* NULL: none is needed */
};

struct MPII_Gpudt_update {
    const struct MPIR_Gpudt_update *u;
    const struct MPIR_Gpudt_guard *guard;
    struct MPII_Gpudt_reduction r;
    MPI_Datatype basic;
    int64_t n;                  /* elements of the basic type */
    int64_t size, extent;       /* bytes of one, without its gap and with it */
    bool has_origin, has_value;
    struct MPII_Gpudt_operand origin, result;
    MPII_Gpudt_engine_t *engine;
    struct MPII_Gpudt_mapping *mapping;
    bool is_apart;              /* the elements in the window do not lie as in an array */
    uint64_t at;                /* if they do, the address of the first one */
    struct MPII_Gpudt_side window;      /* if not, where they are, with a reference to the type */
    struct MPII_Gpudt_area *gathered;   /* and GPU memory where they do */
    MPII_Gpudt_ctx_t *entered;  /* its context is current */
    bool is_atomic;             /* others may update the window meanwhile, by atomic operations too */
    uint64_t compare;
    uint64_t value[MPII_GPUDT_UPDATE_VALUE / sizeof(uint64_t)];
};

/* Update the window, by kernels of the engine, whose context is current.
 *   is_taken  (OUT)  false: nothing was done; the GPU has no kernels, or there is no memory */
int MPII_Gpudt_update_run(struct MPII_Gpudt_update *up, bool * is_taken);

#endif /* GPUDT_UPDATE_IMPL_H_INCLUDED */
