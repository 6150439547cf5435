/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Memory for what MPICH's algorithms of collectives keep between messages: on the GPU that the program's
 * data is on, so that each step is a message, and a kernel or copy there. Which memory a process takes
 * does not change what it sends and receives, so processes need not agree.
 *
 * Included by the files of the algorithms, in which it changes how memory is allocated. A buffer that
 * MPIR_CHKLMEM_MALLOC allocates as `void *` is a temporary one, and MPIR_CHKLMEM_FREEALL also frees
 * those. So is a buffer of MPIR_Sched_alloc_state, which belongs to a schedule, unless its size is that
 * of a type. Arrays of numbers have other types, and other types of sizes since these are counts times
 * a sizeof; they remain in host memory. The sizes of MPIR_TSP_sched_malloc, for the schedules of the
 * algorithms named tsp_, have any type: those of arrays and of state begin with a sizeof.
 *
 * In reductions, temporary buffers have elements of `datatype`, and are where MPIR_GPUDT_TEMP_LIKE is.
 * A file that defines MPIR_GPUDT_TEMP_MOVED only moves data: the buffer that they are like, and its
 * datatype, separated by a comma. */

#ifndef GPUDT_TEMP_H_INCLUDED
#define GPUDT_TEMP_H_INCLUDED

#include "gpudt.h"
#include "gpudt_host.h"

/* Allocate a temporary buffer in a process that may have GPU memory.
 *   buf           (IN)  a buffer with the data; anything if there is none
 *   n             (IN)  bytes
 *   op, datatype  (IN)  the operation, and the datatype of its elements
 * Returns memory of the same GPU if it has enough and a kernel does the operation, else host
 * memory; NULL: out of memory. Owned by the caller until MPIR_Gpudt_temp_free. */
void *MPIR_Gpudt_temp_alloc(const void *buf, MPI_Aint n, MPI_Op op, MPI_Datatype datatype);

/* The same for data that is only moved. Short buffers are in host memory.
 *   buf, datatype  (IN)  a buffer with such data, and the datatype of its elements
 *   n              (IN)  bytes */
void *MPIR_Gpudt_temp_alloc_moved(const void *buf, MPI_Datatype datatype, MPI_Aint n);

/* Free a temporary buffer, or memory of MPL_malloc. Nothing accesses it any more; NULL is
 * allowed. */
void MPIR_Gpudt_temp_free(void *mem);

#ifdef MPIR_GPUDT_TEMP_MOVED

#define MPIR_GPUDT_TEMP_ALLOC(n_) MPIR_Gpudt_temp_alloc_moved(MPIR_GPUDT_TEMP_MOVED, n_)
#define MPIR_GPUDT_TEMP_IS(n_) (!__builtin_types_compatible_p(__typeof__(n_), size_t))

#else

/* The buffer that temporary ones are combined into, or, where that may be a temporary one too, the
 * buffer that the data comes from. */
#ifndef MPIR_GPUDT_TEMP_LIKE
#define MPIR_GPUDT_TEMP_LIKE (sendbuf != MPI_IN_PLACE ? sendbuf : recvbuf)
#endif

#define MPIR_GPUDT_TEMP_ALLOC(n_) MPIR_Gpudt_temp_alloc(MPIR_GPUDT_TEMP_LIKE, n_, op, datatype)
#define MPIR_GPUDT_TEMP_IS(n_) __builtin_types_compatible_p(__typeof__(n_), MPI_Aint)

#endif /* MPIR_GPUDT_TEMP_MOVED */

#define MPIR_GPUDT_TEMP_MALLOC(type_, n_, class_)                                               \
    (unlikely(MPIR_Gpudt_is_possible()) && __builtin_types_compatible_p(type_, void *) ?        \
     MPIR_GPUDT_TEMP_ALLOC(n_) : MPL_malloc(n_, class_))

#undef MPIR_CHKLMEM_MALLOC
#define MPIR_CHKLMEM_MALLOC(pointer_, type_, n_, rc_, name_, class_)                            \
    do {                                                                                        \
        pointer_ = (type_) MPIR_GPUDT_TEMP_MALLOC(type_, n_, class_);                           \
        if (pointer_) {                                                                         \
            MPIR_Assert(mpiu_chklmem_stk_sp_ < mpiu_chklmem_stk_sz_);                           \
            mpiu_chklmem_stk_[mpiu_chklmem_stk_sp_++] = (void *) pointer_;                      \
        } else if ((n_) > 0) {                                                                  \
            MPIR_CHKMEM_SETERR(rc_, n_, name_);                                                 \
            goto fn_fail;                                                                       \
        }                                                                                       \
    } while (0)

#undef MPIR_CHKLMEM_FREEALL
#define MPIR_CHKLMEM_FREEALL()                                                                  \
    do {                                                                                        \
        while (mpiu_chklmem_stk_sp_ > 0)                                                        \
            MPIR_Gpudt_temp_free(mpiu_chklmem_stk_[--mpiu_chklmem_stk_sp_]);                    \
    } while (0)

#undef MPIR_Sched_alloc_state
#define MPIR_Sched_alloc_state(s_, n_)                                                          \
    (unlikely(MPIR_Gpudt_is_possible()) && MPIR_GPUDT_TEMP_IS(n_) ?                             \
     MPIDU_Sched_keep_state(s_, MPIR_GPUDT_TEMP_ALLOC(n_)) : MPIDU_Sched_alloc_state(s_, n_))

#define MPIR_TSP_sched_malloc(n_, s_)                                                           \
    (unlikely(MPIR_Gpudt_is_possible()) && strncmp(#n_, "sizeof", strlen("sizeof")) != 0 ?      \
     MPIR_TSP_sched_keep(MPIR_GPUDT_TEMP_ALLOC(n_), s_) : (MPIR_TSP_sched_malloc) (n_, s_))

#endif /* GPUDT_TEMP_H_INCLUDED */
