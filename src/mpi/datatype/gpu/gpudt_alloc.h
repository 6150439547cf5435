/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Memory that MPI allocates for the program on a GPU, and what MPI says about kinds of memory: the
 * names are those of MPI 4.1 and of the MPI Forum's side document "Memory Allocation Kinds". Built
 * with and without CUDA, so it must not know cuda.h. */

#ifndef GPUDT_ALLOC_H_INCLUDED
#define GPUDT_ALLOC_H_INCLUDED

#include "gpudt.h"

/* ---- kinds (gpudt_kinds.c) ---- */

/* A kind of memory that can be asked for when memory is allocated. */
enum MPIR_Gpudt_kind_e {
    MPIR_GPUDT_KIND__NONE,      /* no such wish: host memory, as in the release */
    MPIR_GPUDT_KIND__DEVICE,
    MPIR_GPUDT_KIND__MANAGED,
    MPIR_GPUDT_KIND__HOST,      /* pinned */
    MPIR_GPUDT_NKINDS
};

/* Its name: "cuda:device" and so on. */
const char *MPIR_Gpudt_kind_name(enum MPIR_Gpudt_kind_e kind);

/* The kind that an info object asks for: the first one in the value of mpi_memory_alloc_kinds that is
 * known. "cuda" alone is device memory; of several restrictors the first one counts.
 *   info  (IN)  may be NULL */
enum MPIR_Gpudt_kind_e MPIR_Gpudt_kind_asked(MPIR_Info * info);

/* Put the kinds that MPI supports in this process into an info object, as the value of
 * mpi_memory_alloc_kinds. Loads and initializes the driver if the request names a kind of CUDA's.
 * Otherwise CUDA's kinds are in the answer if a GPU can be used as far as is known without that.
 *   request  (IN)  kinds that are mentioned also if they follow from others, as they combine
 *                  restrictors; from MPIR_Gpudt_kinds_request. NULL or "": those of the launcher */
int MPIR_Gpudt_kinds_tell(MPIR_Info * info, const char *request);

/* Keep the kinds that MPI_Session_init is asked for.
 *   info     (IN)   may be NULL
 *   request  (OUT)  for MPIR_Gpudt_kinds_tell: MPI_MAX_INFO_VAL + 1 characters; "" for none */
void MPIR_Gpudt_kinds_request(MPIR_Info * info, char *request);

/* ---- memory (engine/gpudt_alloc.c) ---- */

/* Allocate memory of a kind: in the current context of the thread, or if there is none in the primary
 * context of the first GPU. The thread's context and current device remain what they are. Loads and
 * initializes the driver.
 *   size  (IN)   bytes; 0 is allowed
 *   mem   (OUT)  for MPIR_Gpudt_mem_free
 * Returns an error with the driver's words, or why there is no GPU. */
int MPIR_Gpudt_mem_alloc(MPI_Aint size, enum MPIR_Gpudt_kind_e kind, void **mem);

/* The driver maps device memory in other processes in pieces of this size, which smaller allocations
 * share. */
#define MPIR_GPUDT_PIECE_SZ ((MPI_Aint) 2 << 20)

/* The bytes to allocate so that memory which other processes map shares a piece with no other. */
static inline MPI_Aint MPIR_Gpudt_mem_whole(MPI_Aint size)
{
    /* As much as that cannot be allocated in any case */
    return size > MPIR_AINT_MAX - MPIR_GPUDT_PIECE_SZ ? size :
        MPL_ROUND_UP_ALIGN(size, MPIR_GPUDT_PIECE_SZ);
}

#ifdef MPIR_GPUDT_HAVE_CUDA
extern MPL_atomic_int_t MPIR_Gpudt_nallocs;     /* allocations that are not freed */
#endif

/* Free memory of MPIR_Gpudt_mem_alloc. Returns whether it is such memory; *mpi_errno_ptr is then the
 * result. Memory whose context the program has destroyed is gone already. */
bool MPIR_Gpudt_mem_free(void *mem, int *mpi_errno_ptr);

static inline bool MPIR_Gpudt_takes_free(void *mem, int *mpi_errno_ptr)
{
#ifdef MPIR_GPUDT_HAVE_CUDA
    return unlikely(MPL_atomic_relaxed_load_int(&MPIR_Gpudt_nallocs) > 0) &&
        MPIR_Gpudt_mem_free(mem, mpi_errno_ptr);
#else
    return false;
#endif
}

/* ---- the same memory in other processes of the node (engine/gpudt_share.c) ---- */

#define MPIR_GPUDT_HANDLE_SZ 80

/* Memory of another process, mapped in the context that was current then. */
typedef struct MPIR_Gpudt_share MPIR_Gpudt_share_t;

/* Get what another process needs to map device memory of MPIR_Gpudt_mem_alloc.
 *   handle  (OUT)  MPIR_GPUDT_HANDLE_SZ bytes */
int MPIR_Gpudt_share_name(void *mem, void *handle);

/* Map such memory for the current context of the thread, or if there is none for the primary context
 * of the first GPU.
 *   addr  (OUT)  its address here */
int MPIR_Gpudt_share_open(const void *handle, MPIR_Gpudt_share_t ** share, void **addr);

/* Unmap it, also where messages have mapped it; for that the driver waits for kernels that run in the
 * context. NULL is allowed. The process that allocated the memory frees it after that. */
void MPIR_Gpudt_share_close(MPIR_Gpudt_share_t * share);

/* ---- MPI_Alloc_mem ---- */

/* Allocate memory if an info object asks for a kind.
 *   mem  (OUT)  untouched if it does not */
static inline int MPIR_Gpudt_mem_alloc_if_asked(MPI_Aint size, MPIR_Info * info, void **mem)
{
    const enum MPIR_Gpudt_kind_e kind = MPIR_Gpudt_kind_asked(info);

    return likely(kind == MPIR_GPUDT_KIND__NONE) ? MPI_SUCCESS :
        MPIR_Gpudt_mem_alloc(size, kind, mem);
}

#endif /* GPUDT_ALLOC_H_INCLUDED */
