/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Staging of buffers for ROMIO: see mpir_ext_gpudt.h. A buffer that is moved part by part goes
 * through two chunks of the staging pool, so that the GPU packs one of them while the file
 * operation uses the other. One that is moved as a whole goes through pageable memory of its size.
 * Host buffers are packed by the CPU, in pieces that stay in a cache.
 *
 * For external32 each chunk is converted by the CPU while it is in host memory. That is done in
 * place if the datatype's numbers have one size; else the buffer is converted as a whole, since a
 * position in its packed data does not say where a number begins. Must not know files. */

#include "mpiimpl.h"
#include "gpudt.h"
#include "gpudt_alloc.h"
#include "gpudt_host.h"
#include "gpudt_storage.h"
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
    MPI_Datatype datatype;      /* kept */
    MPI_Count size;             /* bytes of its packed data */
    bool is_external;           /* which is converted to external32 */
    int number;                 /* then bytes of each number; 0: they have several sizes */
    struct {
        MPIDU_gpudt_chunk_t *chunk;     /* NULL: mem is from malloc */
        void *mem;
        MPIR_Gpudt_op *op;      /* the move in flight */
        MPI_Count n;            /* bytes that are to be converted after it */
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

int MPIR_Ext_gpudt_stage_make(const void *buf, int count, MPI_Datatype datatype, int how,
                              MPIR_Ext_gpudt_stage_t ** stage)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Gpudt_buffer *buffer = NULL;
    const bool is_external = how & MPIR_EXT_GPUDT_EXTERNAL;
    MPI_Aint size;

    *stage = NULL;
    if (count <= 0)
        goto fn_exit;
    if (MPIR_Gpudt_may_be_gpu(buf, count, datatype)) {
        mpi_errno = MPIR_Gpudt_buffer_make(buf, count, datatype, &buffer);
        MPIR_ERR_CHECK(mpi_errno);
    }
    if (buffer == NULL && !is_external &&
        !((how & MPIR_EXT_GPUDT_IF_FASTER) && is_worth_packing(count, datatype)))
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
    MPIR_Ext_gpudt_type_keep(datatype);
    (*stage)->is_external = is_external;
    if (is_external)
        (*stage)->number = MPIR_Gpudt_cpu_external_number(datatype);

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

/* The least multiple of both. */
static MPI_Count common_multiple(MPI_Count a, int b)
{
    MPI_Count n = a;

    while (n % b)
        n += a;
    return n;
}

int MPIR_Ext_gpudt_stage_alloc(MPIR_Ext_gpudt_stage_t * stage, MPI_Count unit, int is_whole,
                               MPI_Count * chunk)
{
    int mpi_errno = MPI_SUCCESS;
    const void *gpu_addr = stage->buffer ? MPIR_Gpudt_buffer_addr(stage->buffer) : NULL;
    const MPI_Count most = stage->buffer == NULL ? MPIR_EXT_GPUDT_HOST_CHUNK :
        MPL_MIN((MPI_Count) MPIDU_gpudt_chunk_max(), MPIR_CVAR_GPUDT_FILE_CHUNK);
    MPI_Count sz = stage->size;
    int nparts;

    if (stage->number)
        unit = common_multiple(unit, stage->number);
    if (!is_whole && (!stage->is_external || stage->number))
        sz = MPL_MIN(sz, MPL_MAX(most / unit, 1) * unit);
    nparts = sz < stage->size ? MPIR_EXT_GPUDT_CHUNKS : 1;
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

/* Move the first n bytes of the external data of a whole buffer. What a file does not have stays
 * as it is in the buffer. */
static int external_move(MPIR_Ext_gpudt_stage_t * stage, char *mem, MPI_Count n, int unpack)
{
    int mpi_errno = MPI_SUCCESS;
    const MPI_Aint sz = stage->count * MPIR_Typerep_size_external32(stage->datatype);
    MPI_Aint actual;
    char *old = NULL;

    MPIR_ERR_CHKANDJUMP(sz > stage->size, mpi_errno, MPI_ERR_TYPE, "**dtype");
    if (!unpack) {
        memset(mem + sz, 0, stage->size - sz);
        mpi_errno = MPIR_Typerep_pack_external(stage->user, stage->count, stage->datatype, mem,
                                               &actual);
        goto fn_exit;
    }
    if (n < sz) {
        old = MPL_malloc(sz, MPL_MEM_BUFFER);
        MPIR_ERR_CHKANDJUMP1(!old, mpi_errno, MPI_ERR_NO_MEM, "**nomem", "**nomem %s",
                             "host memory for a buffer of a file operation");
        mpi_errno = MPIR_Typerep_pack_external(stage->user, stage->count, stage->datatype, old,
                                               &actual);
        MPIR_ERR_CHECK(mpi_errno);
        memcpy(mem + n, old + n, sz - n);
    }
    mpi_errno = MPIR_Typerep_unpack_external(mem, stage->user, stage->count, stage->datatype,
                                             &actual);

  fn_exit:
    MPL_free(old);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Move a part of the packed data of host memory. */
static int host_move(MPIR_Ext_gpudt_stage_t * stage, void *mem, MPI_Count first, MPI_Count n,
                     int unpack)
{
    MPI_Aint actual;

    if (!stage->is_external) {
        MPIR_Gpudt_cpu_part(stage->user, stage->count, stage->datatype, first, n, mem, unpack);
        return MPI_SUCCESS;
    }
    return unpack ? MPIR_Typerep_unpack(mem, n, stage->user, stage->count, stage->datatype, first,
                                        &actual) :
        MPIR_Typerep_pack(stage->user, stage->count, stage->datatype, first, mem, n, &actual);
}

int MPIR_Ext_gpudt_stage_start(MPIR_Ext_gpudt_stage_t * stage, int i, MPI_Count first, MPI_Count n,
                               int unpack)
{
    void *mem = MPIR_Ext_gpudt_stage_mem(stage, i);

    i %= MPIR_EXT_GPUDT_CHUNKS;
    if (stage->is_external && stage->number == 0)
        return external_move(stage, mem, n, unpack);
    if (stage->number && unpack) {
        n -= n % stage->number;
        MPIR_Gpudt_cpu_external_swap(mem, n, stage->number);
    }
    stage->part[i].n = stage->number && !unpack ? n : 0;
    if (stage->buffer == NULL)
        return host_move(stage, mem, first, n, unpack);
    return MPIR_Gpudt_buffer_move(stage->buffer, first, n, mem, unpack, &stage->part[i].op);
}

int MPIR_Ext_gpudt_stage_wait(MPIR_Ext_gpudt_stage_t * stage, int i)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Gpudt_op *op;

    i %= MPIR_EXT_GPUDT_CHUNKS;
    op = stage->part[i].op;
    stage->part[i].op = NULL;
    mpi_errno = MPIR_Gpudt_wait(op);
    if (mpi_errno == MPI_SUCCESS && stage->part[i].n > 0)
        MPIR_Gpudt_cpu_external_swap(stage->part[i].mem, stage->part[i].n, stage->number);
    stage->part[i].n = 0;
    return mpi_errno;
}

int MPIR_Ext_gpudt_stage_may_store(const MPIR_Ext_gpudt_stage_t * stage, MPI_Count n)
{
    return stage->buffer && !stage->is_external && MPIR_Gpudt_storage_may(stage->buffer, n);
}

MPI_Count MPIR_Ext_gpudt_stage_store(MPIR_Ext_gpudt_stage_t * stage, MPI_Count first, MPI_Count n,
                                     int fd, MPI_Offset at, int is_read)
{
    return MPIR_Gpudt_storage_move(stage->buffer, first, n, fd, at, is_read);
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
    MPIR_Ext_gpudt_type_release(stage->datatype);
    MPL_free(stage);
}

void MPIR_Ext_gpudt_type_keep(MPI_Datatype datatype)
{
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    MPIR_Datatype_add_ref_if_not_builtin(datatype);
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
}

void MPIR_Ext_gpudt_type_release(MPI_Datatype datatype)
{
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    MPIR_Datatype_release_if_not_builtin(datatype);
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
}

int MPIR_Ext_gpudt_request_poll(MPI_Request request, int *flag)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Request *req;
    MPI_Status status;

    *flag = 1;
    if (request == MPI_REQUEST_NULL)
        goto fn_exit;
    MPIR_Request_get_ptr(request, req);
    if (!MPIR_Request_is_complete(req) && MPIR_Request_has_poll_fn(req)) {
        mpi_errno = req->u.ureq.greq_fns->poll_fn(req->u.ureq.greq_fns->grequest_extra_state,
                                                  &status);
        *flag = MPIR_Request_is_complete(req);
    }

  fn_exit:
    return mpi_errno;
}

int MPIR_Ext_gpudt_kinds_tell(MPI_Info info)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Info *info_ptr;

    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    MPIR_Info_get_ptr(info, info_ptr);
    mpi_errno = MPIR_Gpudt_kinds_tell(info_ptr, NULL);
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    return mpi_errno;
}
