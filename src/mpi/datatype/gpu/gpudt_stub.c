/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The engine's interface in a build without CUDA: there is never a GPU. Must not know cuda.h. */

#include "mpiimpl.h"
#include "gpudt_info.h"
#include "gpudt.h"
#include "gpudt_alloc.h"
#include "gpudt_combine.h"
#include "gpudt_direct.h"
#include "gpudt_host.h"
#include "gpudt_reduce.h"
#include "gpudt_temp.h"
#include "gpudt_shared.h"
#include "gpudt_storage.h"
#include "gpudt_window.h"

#define NO_GPU "this library was built without GPU kernels"

int MPIR_Gpudt_query(MPIR_Gpudt_info_t * info)
{
    memset(info, 0, sizeof(*info));
    MPL_snprintf(info->reason, sizeof(info->reason), "%s", NO_GPU);
    return MPI_SUCCESS;
}

int MPIR_Gpudt_may_be_usable(void)
{
    return 0;
}

int MPIR_Gpudt_mem_alloc(MPI_Aint size, enum MPIR_Gpudt_kind_e kind, void **mem)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_ERR_SET1(mpi_errno, MPI_ERR_NO_MEM, "**gpudt_none", "**gpudt_none %s", NO_GPU);
    return MPIR_Err_create_code(mpi_errno, MPIR_ERR_RECOVERABLE, __func__, __LINE__, MPI_ERR_OTHER,
                                "**gpudt_alloc", "**gpudt_alloc %L %s", (long long) size,
                                MPIR_Gpudt_kind_name(kind));
}

/* Never called: no such memory exists. */
int MPIR_Gpudt_share_name(void *mem, void *handle)
{
    return MPI_ERR_INTERN;
}

int MPIR_Gpudt_share_open(const void *handle, MPIR_Gpudt_share_t ** share, void **addr)
{
    return MPI_ERR_INTERN;
}

void MPIR_Gpudt_share_close(MPIR_Gpudt_share_t * share)
{
}

/* The result of all operations: host memory, for the CPU to move. */
static int not_handled(MPIR_Gpudt_op ** op, bool * handled)
{
    if (op)
        *op = NULL;
    *handled = false;
    return MPI_SUCCESS;
}

int MPIR_Gpudt_ipack(const void *inbuf, MPI_Aint incount, MPI_Datatype datatype,
                     MPI_Aint inoffset, void *outbuf, MPI_Aint max_bytes, MPI_Aint * actual,
                     MPIR_Gpudt_op ** op, bool * handled)
{
    return not_handled(op, handled);
}

int MPIR_Gpudt_iunpack(const void *inbuf, MPI_Aint insize, void *outbuf, MPI_Aint outcount,
                       MPI_Datatype datatype, MPI_Aint outoffset, MPI_Aint * actual,
                       MPIR_Gpudt_op ** op, bool * handled)
{
    return not_handled(op, handled);
}

/* Never called: no GPU is possible. */
int MPIR_Gpudt_pack(const void *inbuf, MPI_Aint incount, MPI_Datatype datatype, MPI_Aint inoffset,
                    void *outbuf, MPI_Aint max_pack_bytes, MPI_Aint * actual_pack_bytes)
{
    return MPI_ERR_INTERN;
}

int MPIR_Gpudt_unpack(const void *inbuf, MPI_Aint insize, void *outbuf, MPI_Aint outcount,
                      MPI_Datatype datatype, MPI_Aint outoffset, MPI_Aint * actual_unpack_bytes)
{
    return MPI_ERR_INTERN;
}

int MPIR_Gpudt_ilocalcopy(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                          void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                          MPI_Aint nbytes, MPIR_Gpudt_op ** op, bool * handled)
{
    return not_handled(op, handled);
}

int MPIR_Gpudt_icopy(void *outbuf, const void *inbuf, MPI_Aint nbytes, MPIR_Gpudt_op ** op,
                     bool * handled)
{
    return not_handled(op, handled);
}

int MPIR_Gpudt_pack_external(const void *inbuf, MPI_Aint incount, MPI_Datatype datatype,
                             void *outbuf, MPI_Aint * actual, bool * handled)
{
    return not_handled(NULL, handled);
}

int MPIR_Gpudt_unpack_external(const void *inbuf, void *outbuf, MPI_Aint outcount,
                               MPI_Datatype datatype, MPI_Aint * actual, bool * handled)
{
    return not_handled(NULL, handled);
}

int MPIR_Gpudt_ask(const void *buf, MPI_Aint count, MPI_Datatype datatype, bool * answer)
{
    *answer = false;
    return MPI_SUCCESS;
}

/* No operation exists: the functions below are only called with NULL. */
int MPIR_Gpudt_test(MPIR_Gpudt_op * op, int *done)
{
    *done = true;
    return MPI_SUCCESS;
}

int MPIR_Gpudt_wait(MPIR_Gpudt_op * op)
{
    return MPI_SUCCESS;
}

void MPIR_Gpudt_urge(MPIR_Gpudt_op * op)
{
}

int MPIR_Gpudt_test_urgent(MPIR_Gpudt_op * op, int *done)
{
    return MPIR_Gpudt_test(op, done);
}

void MPIR_Gpudt_free(MPIR_Gpudt_op * op)
{
}

void MPIR_Gpudt_commit_hook(MPI_Datatype datatype)
{
}

void MPIR_Gpudt_pvar_init(void)
{
}

int MPIR_Gpudt_buffer_make(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                           MPIR_Gpudt_buffer ** buffer)
{
    *buffer = NULL;
    return MPI_SUCCESS;
}

void MPIR_Gpudt_buffer_free(MPIR_Gpudt_buffer * buffer)
{
}

int MPIR_Gpudt_buffer_check(const MPIR_Gpudt_buffer * buffer)
{
    return MPI_SUCCESS;
}

const void *MPIR_Gpudt_buffer_addr(const MPIR_Gpudt_buffer * buffer)
{
    return NULL;
}

/* Never called: no buffer exists. */
int MPIR_Gpudt_buffer_move(MPIR_Gpudt_buffer * buffer, MPI_Aint first, MPI_Aint n, void *packed,
                           bool unpack, MPIR_Gpudt_op ** op)
{
    *op = NULL;
    return MPI_ERR_INTERN;
}

bool MPIR_Gpudt_storage_may(const MPIR_Gpudt_buffer * buffer, MPI_Aint n)
{
    return false;
}

/* Never called: no buffer exists. */
MPI_Aint MPIR_Gpudt_storage_move(const MPIR_Gpudt_buffer * buffer, MPI_Aint first, MPI_Aint n, int fd,
                                 MPI_Offset at, bool is_read)
{
    return 0;
}

bool MPIR_Gpudt_is_near(const void *buf, MPI_Aint count, MPI_Datatype datatype)
{
    return true;
}

bool MPIR_Gpudt_near_add(const void *mem, size_t sz)
{
    return true;
}

bool MPIR_Gpudt_is_loaded(void)
{
    return false;
}

bool MPIR_Gpudt_takes_calls(void)
{
    return true;
}

bool MPIR_Gpudt_may_become_present(void)
{
    return false;
}

bool MPIR_Gpudt_host_register(const void *gpu_addr, void *mem, size_t sz, bool is_own)
{
    return false;
}

bool MPIR_Gpudt_host_is_registered(void *mem, size_t sz)
{
    return false;
}

void MPIR_Gpudt_host_unregister(void *mem, size_t sz)
{
}

int MPIR_Gpudt_host_epoch(bool look)
{
    return 1;
}

void MPIR_Gpudt_count_pool(enum MPIR_Gpudt_pool_e what)
{
}

int MPIR_Gpudt_shared_names(const uint64_t ** names)
{
    *names = NULL;
    return 0;
}

void MPIR_Gpudt_shared_note(uint64_t name)
{
}

size_t MPIR_Gpudt_offer_type_sz(const MPIR_Gpudt_buffer * buffer)
{
    return 0;
}

void MPIR_Gpudt_offer_type_write(const MPIR_Gpudt_buffer * buffer, void *mem)
{
}

void **MPIR_Gpudt_buffer_published(const MPIR_Gpudt_buffer * buffer, void (*free_fn) (void *))
{
    return NULL;
}

bool MPIR_Gpudt_may_offer(const MPIR_Gpudt_buffer * buffer)
{
    return false;
}

bool MPIR_Gpudt_is_direct(const MPIR_Gpudt_buffer * buffer)
{
    return false;
}

void MPIR_Gpudt_offer_make(MPIR_Gpudt_buffer * buffer, int type_at,
                           const MPIR_Gpudt_stage_t * stage, void *mem)
{
}

void MPIR_Gpudt_offer_read(const MPIR_Gpudt_offer_t * offer, void *mem)
{
}

int MPIR_Gpudt_offer_type_at(const MPIR_Gpudt_offer_t * offer, size_t *sz)
{
    *sz = 0;
    return -1;
}

struct MPIR_Gpudt_peer_type MPIR_Gpudt_offer_type_name(const MPIR_Gpudt_offer_t * offer,
                                                       const void *type)
{
    return (struct MPIR_Gpudt_peer_type) {.process = 0 };
}

bool MPIR_Gpudt_offer_type_is(const void *type, const struct MPIR_Gpudt_peer_type *name)
{
    return false;
}

void MPIR_Gpudt_offer_type_clear(void *type)
{
}

void MPIR_Gpudt_peer_type_free(const struct MPIR_Gpudt_peer_type *name)
{
}

enum MPIR_Gpudt_way_e MPIR_Gpudt_offer_way(const MPIR_Gpudt_offer_t * offer,
                                           const MPIR_Gpudt_buffer * buffer, MPI_Aint n, int *which)
{
    return MPIR_GPUDT_WAY__HOST;
}

MPIR_Gpudt_stage_t *MPIR_Gpudt_stage_get(const MPIR_Gpudt_buffer * buffer, bool may_pull,
                                         int nothers)
{
    return NULL;
}

bool MPIR_Gpudt_stage_take(const MPIR_Gpudt_stage_t * stage, int n, char **place)
{
    return false;
}

void MPIR_Gpudt_stage_put(const MPIR_Gpudt_stage_t * stage, char *place)
{
}

MPIR_Gpudt_stage_t *MPIR_Gpudt_stage_map(const MPIR_Gpudt_offer_t * offer,
                                         const MPIR_Gpudt_buffer * buffer)
{
    return NULL;
}

void MPIR_Gpudt_stage_free(MPIR_Gpudt_stage_t * stage)
{
}

char *MPIR_Gpudt_stage_mem(const MPIR_Gpudt_stage_t * stage)
{
    return NULL;
}

int64_t MPIR_Gpudt_stage_segment(const MPIR_Gpudt_stage_t * stage)
{
    return 0;
}

int MPIR_Gpudt_stage_move(MPIR_Gpudt_stage_t * stage, MPIR_Gpudt_buffer * buffer, MPI_Aint first,
                          MPI_Aint n, char *packed, bool unpack, int *value, MPIR_Gpudt_op ** op)
{
    return MPI_ERR_INTERN;
}

bool MPIR_Gpudt_stage_early_take(MPIR_Gpudt_stage_t * stage, const MPIR_Gpudt_buffer * buffer,
                                 char **place)
{
    return false;
}

char *MPIR_Gpudt_stage_early(const MPIR_Gpudt_stage_t * stage, int *value)
{
    *value = 0;
    return NULL;
}

bool MPIR_Gpudt_stage_is_missed(MPIR_Gpudt_stage_t * stage, const char *packed)
{
    return true;
}

uint64_t MPIR_Gpudt_buffer_gpu(const MPIR_Gpudt_buffer * buffer)
{
    return 0;
}

int MPIR_Gpudt_offer_pull_now(const MPIR_Gpudt_offer_t * offer, MPIR_Gpudt_buffer * buffer,
                              MPI_Aint n, MPIR_Gpudt_op ** op, bool * is_taken)
{
    *op = NULL;
    *is_taken = false;
    return MPI_SUCCESS;
}

int MPIR_Gpudt_pull_own(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                        void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, MPI_Aint nbytes,
                        MPIR_Gpudt_op ** op, bool * handled)
{
    return MPIR_Gpudt_ilocalcopy(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                                 nbytes, op, handled);
}

void MPIR_Gpudt_count_offers_kept(void)
{
}

void MPIR_Gpudt_count_window_message(void)
{
}

void MPIR_Gpudt_pulls_begin(const MPIR_Gpudt_buffer * buffer)
{
}

void MPIR_Gpudt_pulls_end(const MPIR_Gpudt_buffer * buffer)
{
}

void MPIR_Gpudt_burst_set(bool is_on)
{
}

int MPIR_Gpudt_offer_pull(const MPIR_Gpudt_offer_t * offer, const void *type,
                          MPIR_Gpudt_buffer * buffer, MPI_Aint n, MPIR_Gpudt_op ** op,
                          bool * is_taken)
{
    *op = NULL;
    *is_taken = false;
    return MPI_SUCCESS;
}

void MPIR_Gpudt_pulls_note(const MPIR_Gpudt_offer_t * offer, const struct MPIR_Gpudt_receive *r,
                           const MPIR_Gpudt_buffer * buffer, const MPIR_Gpudt_op * op)
{
}

bool MPIR_Gpudt_pulls_exist(void)
{
    return false;
}

const MPIR_Gpudt_pulls_t *MPIR_Gpudt_pulls_find(const MPIR_Gpudt_offer_t * offer,
                                                const struct MPIR_Gpudt_receive *r, MPI_Aint n)
{
    return NULL;
}

MPIR_Gpudt_op *MPIR_Gpudt_pulls_join(const MPIR_Gpudt_pulls_t * pulls, const MPIR_Gpudt_offer_t * offer,
                                     const struct MPIR_Gpudt_receive *r)
{
    return NULL;
}

int MPIR_Gpudt_offer_push(const MPIR_Gpudt_offer_t * offer, const void *type,
                          MPIR_Gpudt_buffer * buffer, MPI_Aint n, MPIR_Gpudt_op ** op,
                          bool * is_taken, bool * is_final)
{
    *op = NULL;
    *is_taken = false;
    *is_final = true;
    return MPI_SUCCESS;
}

uint64_t MPIR_Gpudt_offer_process(const MPIR_Gpudt_offer_t * offer)
{
    return 0;
}

bool MPIR_Gpudt_may_unmap(void)
{
    return true;
}

void MPIR_Gpudt_process_drop(uint64_t process)
{
}

bool MPIR_Gpudt_expose(const void *base, MPI_Aint size, void *mem)
{
    return false;
}

int MPIR_Gpudt_target_make(const void *mem, MPIR_Gpudt_target_t ** target)
{
    *target = NULL;
    return MPI_SUCCESS;
}

int MPIR_Gpudt_target_own(const void *base, MPI_Aint size, MPIR_Gpudt_target_t ** target)
{
    *target = NULL;
    return MPI_SUCCESS;
}

void MPIR_Gpudt_target_unmap(MPIR_Gpudt_target_t * target)
{
}

void MPIR_Gpudt_target_free(MPIR_Gpudt_target_t * target)
{
}

bool MPIR_Gpudt_is_in_use(void)
{
    return false;
}

int MPIR_Gpudt_target_move(MPIR_Gpudt_target_t * target, const struct MPIR_Gpudt_rma *r,
                           bool may_lead, bool will_lead, MPIR_Gpudt_op ** op, bool * is_taken)
{
    *op = NULL;
    *is_taken = false;
    return MPI_SUCCESS;
}

MPIR_Gpudt_series_t *MPIR_Gpudt_series_find(MPIR_Gpudt_target_t * target,
                                            const struct MPIR_Gpudt_rma *r)
{
    return NULL;
}

bool MPIR_Gpudt_series_join(MPIR_Gpudt_target_t * target, MPIR_Gpudt_series_t * series,
                            const struct MPIR_Gpudt_rma *r)
{
    return false;
}

int MPIR_Gpudt_target_update(MPIR_Gpudt_target_t * target, const struct MPIR_Gpudt_update *u,
                             const struct MPIR_Gpudt_guard *guard, bool * is_taken)
{
    *is_taken = false;
    return MPI_SUCCESS;
}

int MPIR_Gpudt_reduce(const void *inbuf, void *inoutbuf, MPI_Aint count, MPI_Datatype datatype,
                      MPI_Op op, bool * handled)
{
    return not_handled(NULL, handled);
}

void *MPIR_Gpudt_temp_alloc(const void *buf, MPI_Aint n, MPI_Op op, MPI_Datatype datatype)
{
    return MPL_malloc(n, MPL_MEM_BUFFER);
}

void *MPIR_Gpudt_temp_alloc_moved(const void *buf, MPI_Datatype datatype, MPI_Aint n)
{
    return MPL_malloc(n, MPL_MEM_BUFFER);
}

void MPIR_Gpudt_temp_free(void *mem)
{
    MPL_free(mem);
}

bool MPIR_Gpudt_operand_make(const void *buf, MPI_Aint count, MPI_Datatype datatype, MPI_Op op,
                             MPIR_Gpudt_buffer ** buffer, struct MPIR_Gpudt_operand *operand,
                             uint64_t * gpu)
{
    *buffer = NULL;
    return false;
}

bool MPIR_Gpudt_operands_fit(const MPIR_Gpudt_buffer * a, const MPIR_Gpudt_buffer * b)
{
    return false;
}

void MPIR_Gpudt_operand_export(const MPIR_Gpudt_buffer * buffer,
                               const struct MPIR_Gpudt_operand *operand, void *mem)
{
    memset(mem, 0, MPIR_GPUDT_EXPORT_SZ);
}

int MPIR_Gpudt_combine(const struct MPIR_Gpudt_combine *c, bool * is_done)
{
    *is_done = false;
    return MPI_SUCCESS;
}

int MPIR_Gpudt_icombine(const struct MPIR_Gpudt_combine *c, MPIR_Gpudt_op ** op)
{
    *op = NULL;
    return MPI_SUCCESS;
}
