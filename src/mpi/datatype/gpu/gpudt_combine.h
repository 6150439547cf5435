/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Reductions of buffers in GPU memory of several processes of a node, by a kernel that reads them
 * and writes the result where they are. The same with and without CUDA, so it must not know cuda.h.
 * Knows no communicators. Callers hold the lock of the progress engine. */

#ifndef GPUDT_COMBINE_H_INCLUDED
#define GPUDT_COMBINE_H_INCLUDED

#include "gpudt.h"

#define MPIR_GPUDT_COMBINE_MAX 8        /* operands, and results */

/* A buffer in GPU memory as other processes know it. All 0: there is none. */
struct MPIR_Gpudt_operand {
    uint64_t process, id;       /* of the allocation that it is in; the id is never reused */
    int64_t at;                 /* byte of the allocation at which it begins */
    int64_t descriptor;         /* file descriptor that shares it, of a mapped virtual range or a
                                 * pool */
};

/* Bytes that describe an allocation such that another process can map it. */
#define MPIR_GPUDT_EXPORT_SZ 448

/* Describe a buffer that takes part in a reduction.
 *   buf, count, datatype, op  (IN)   as of MPI_Allreduce
 *   buffer                    (OUT)  freed by MPIR_Gpudt_buffer_free, unless false is returned
 *   operand                   (OUT)  the buffer for other processes
 *   gpu                       (OUT)  name of its GPU (gpudt_shared.h); 0: it has none
 * Returns false if other processes cannot map the buffer, or no kernel does the operation. */
bool MPIR_Gpudt_operand_make(const void *buf, MPI_Aint count, MPI_Datatype datatype, MPI_Op op,
                             MPIR_Gpudt_buffer ** buffer, struct MPIR_Gpudt_operand *operand,
                             uint64_t * gpu);

/* Whether two buffers are used by the same GPU in the same context. */
bool MPIR_Gpudt_operands_fit(const MPIR_Gpudt_buffer * a, const MPIR_Gpudt_buffer * b);

/* Write how to map the allocation of a buffer.
 *   buffer, operand  (IN)   of MPIR_Gpudt_operand_make
 *   mem              (OUT)  MPIR_GPUDT_EXPORT_SZ bytes, aligned to 8; all 0: it cannot be mapped */
void MPIR_Gpudt_operand_export(const MPIR_Gpudt_buffer * buffer,
                               const struct MPIR_Gpudt_operand *operand, void *mem);

/* A reduction, from left to right: out[j] = in[0] op in[1] op ... in[nin - 1]. Or, with is_each, no
 * reduction, but copies of bytes: out[j] = in[j]. */
struct MPIR_Gpudt_combine {
    const MPIR_Gpudt_buffer *own;       /* a buffer of this process, whose GPU does the work */
    MPI_Aint n;                 /* elements of the datatype, greater than 0 */
    MPI_Datatype datatype;
    MPI_Op op;
    bool is_each;               /* nin == nout, datatype is MPI_BYTE */
    void (*others) (void);      /* called again and again while the GPU works */
    int nin, nout;              /* 1 to MPIR_GPUDT_COMBINE_MAX */
    struct MPIR_Gpudt_place {
        const MPIR_Gpudt_buffer *buffer;        /* of this process; NULL: of another one */
        const void *export;     /* from that process; of MPIR_GPUDT_EXPORT_SZ bytes */
        int64_t at;             /* first byte: in its allocation, or in the buffer of this process */
    } in[MPIR_GPUDT_COMBINE_MAX], out[MPIR_GPUDT_COMBINE_MAX];
};

/* Do a reduction. Complete when the call returns.
 *   is_done  (OUT)  false: memory could not be mapped, or no kernel can do the copies, and nothing was
 *                   started */
int MPIR_Gpudt_combine(const struct MPIR_Gpudt_combine *c, bool * is_done);

/* Start a reduction; `others` is not called.
 *   op  (OUT)  as for MPIR_Gpudt_ipack; NULL: nothing was started, likewise */
int MPIR_Gpudt_icombine(const struct MPIR_Gpudt_combine *c, MPIR_Gpudt_op ** op);

#endif /* GPUDT_COMBINE_H_INCLUDED */
