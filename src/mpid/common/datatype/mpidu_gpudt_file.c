/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Staging of buffers for ROMIO: see mpir_ext_gpudt.h. A buffer that is moved part by part goes
 * through two chunks of the staging pool, so that the GPU packs one of them while the file operation
 * uses the other. One that is moved as a whole goes through pageable memory of its size. Host buffers
 * are packed by the CPU, in pieces that stay in a cache. Must not know files. */

#include "mpiimpl.h"
#include "gpudt.h"
#include "gpudt_host.h"
#include "mpidu_gpudt_staging.h"
#include "mpir_ext_gpudt.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_GPUDT_FILE_CHUNK
      category    : GPUDT
      type        : int
      default     : 4194304
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Bytes of a GPU buffer that a file operation packs and writes, or reads and unpacks, at a time;
        rounded down to a multiple of the etype's size. At most MPIR_CVAR_GPUDT_MSG_CHUNK.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

/* Average bytes of a block up to which a host buffer is packed: ROMIO does more for each block than
 * copying it costs. */
#define MAX_HOST_BLOCK 256

struct MPIR_Ext_gpudt_stage {
    MPIR_Gpudt_buffer *buffer;  /* NULL: host memory, and what follows */
    void *user;
    MPI_Aint count;
    MPI_Datatype datatype;
    MPI_Count size;             /* bytes of its packed data */
    struct {
        MPIDU_gpudt_chunk_t *chunk;     /* NULL: mem is from malloc */
        void *mem;
        MPIR_Gpudt_op *op;      /* the move in flight */
    } part[MPIR_EXT_GPUDT_CHUNKS];
};

/* Whether a host buffer is to be packed. */
static bool is_worth_packing(int count, MPI_Datatype datatype)
{
    MPIR_Datatype *dtp;
    int is_contig;

    MPIR_Datatype_is_contig(datatype, &is_contig);
    if (is_contig || HANDLE_IS_BUILTIN(datatype))
        return false;
    MPIR_Datatype_get_ptr(datatype, dtp);
    return dtp->size / MPL_MAX(dtp->typerep.num_contig_blocks, 1) <= MAX_HOST_BLOCK &&
        MPIR_Gpudt_cpu_is_ready(count, datatype);
}

int MPIR_Ext_gpudt_stage_make(const void *buf, int count, MPI_Datatype datatype, int may_be_host,
                              MPIR_Ext_gpudt_stage_t ** stage)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Gpudt_buffer *buffer = NULL;
    MPI_Aint size;

    *stage = NULL;
    if (count <= 0)
        goto fn_exit;
    if (MPIR_Gpudt_may_be_gpu(buf, count, datatype)) {
        mpi_errno = MPIR_Gpudt_buffer_make(buf, count, datatype, &buffer);
        MPIR_ERR_CHECK(mpi_errno);
    }
    if (buffer == NULL && !(may_be_host && is_worth_packing(count, datatype)))
        goto fn_exit;

    *stage = MPL_calloc(1, sizeof(**stage), MPL_MEM_BUFFER);
    MPIR_ERR_CHKANDJUMP1(!*stage, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s",
                         "buffer of a file operation");
    MPIR_Datatype_get_size_macro(datatype, size);
    (*stage)->size = (MPI_Count) size *count;
    (*stage)->buffer = buffer;
    (*stage)->user = (void *) buf;
    (*stage)->count = count;
    (*stage)->datatype = datatype;

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPIR_Gpudt_buffer_free(buffer);
    goto fn_exit;
}

MPI_Count MPIR_Ext_gpudt_stage_size(const MPIR_Ext_gpudt_stage_t * stage)
{
    return stage->size;
}

int MPIR_Ext_gpudt_stage_alloc(MPIR_Ext_gpudt_stage_t * stage, MPI_Count unit, int is_whole,
                               MPI_Count * chunk)
{
    int mpi_errno = MPI_SUCCESS;
    const void *gpu_addr = stage->buffer ? MPIR_Gpudt_buffer_addr(stage->buffer) : NULL;
    const MPI_Count most = stage->buffer == NULL ? MPIR_EXT_GPUDT_HOST_CHUNK :
        MPL_MIN((MPI_Count) MPIDU_gpudt_chunk_max(), MPIR_CVAR_GPUDT_FILE_CHUNK);
    MPI_Count sz = is_whole ? stage->size : MPL_MIN(stage->size, MPL_MAX(most / unit, 1) * unit);
    int nparts = sz < stage->size ? MPIR_EXT_GPUDT_CHUNKS : 1;

    for (int i = 0; i < nparts; i++) {
        if (sz <= most && stage->buffer) {
            MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
            MPIDU_gpudt_chunk_get((size_t) sz, gpu_addr, true, &stage->part[i].chunk);
            MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
            if (stage->part[i].chunk)
                stage->part[i].mem = stage->part[i].chunk->mem;
        } else {
            stage->part[i].mem = MPL_malloc((size_t) sz, MPL_MEM_BUFFER);
        }
        MPIR_ERR_CHKANDJUMP1(!stage->part[i].mem, mpi_errno, MPI_ERR_NO_MEM, "**nomem",
                             "**nomem %s", "host memory for a buffer of a file operation");
    }
    *chunk = sz;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void *MPIR_Ext_gpudt_stage_mem(const MPIR_Ext_gpudt_stage_t * stage, int i)
{
    return stage->part[i % MPIR_EXT_GPUDT_CHUNKS].mem;
}

int MPIR_Ext_gpudt_stage_start(MPIR_Ext_gpudt_stage_t * stage, int i, MPI_Count first, MPI_Count n,
                               int unpack)
{
    i %= MPIR_EXT_GPUDT_CHUNKS;
    if (stage->buffer == NULL) {
        MPIR_Gpudt_cpu_part(stage->user, stage->count, stage->datatype, first, n,
                            stage->part[i].mem, unpack);
        return MPI_SUCCESS;
    }
    return MPIR_Gpudt_buffer_move(stage->buffer, first, n, stage->part[i].mem, unpack,
                                  &stage->part[i].op);
}

int MPIR_Ext_gpudt_stage_wait(MPIR_Ext_gpudt_stage_t * stage, int i)
{
    MPIR_Gpudt_op *op;

    i %= MPIR_EXT_GPUDT_CHUNKS;
    op = stage->part[i].op;
    stage->part[i].op = NULL;
    return MPIR_Gpudt_wait(op);
}

void MPIR_Ext_gpudt_stage_free(MPIR_Ext_gpudt_stage_t * stage)
{
    if (stage == NULL)
        return;
    for (int i = 0; i < MPIR_EXT_GPUDT_CHUNKS; i++) {
        MPIR_Gpudt_free(stage->part[i].op);
        if (stage->part[i].chunk) {
            MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
            MPIDU_gpudt_chunk_put(stage->part[i].chunk);
            MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
        } else {
            MPL_free(stage->part[i].mem);
        }
    }
    MPIR_Gpudt_buffer_free(stage->buffer);
    MPL_free(stage);
}
