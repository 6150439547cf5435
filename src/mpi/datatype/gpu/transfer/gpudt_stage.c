/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Staging memory for messages between GPUs: memory of the sender's GPU, which the receiver maps.
 * Both ends access their own memory in whatever order its datatype has it, and the packed data is
 * read across in order. Must not know messages. */

#include "mpiimpl.h"
#include "gpudt_buffer_impl.h"
#include "gpudt_error.h"
#include "gpudt_lane.h"
#include "tuning/gpudt_tuning.h"
#include "gpudt_offer.h"
#include "gpudt_start.h"
#include "gpudt_vars.h"
#include "driver/gpudt_sharing.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_GPUDT_STAGE_AHEAD
      category    : GPUDT
      type        : boolean
      default     : true
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Have a message that is to pass through the sender's staging memory packed before its
        receiver asks for it, and have the receiver launch the kernel that unpacks it while the
        sender's kernel packs. Each of its blocks of threads waits for the other one, but not longer
        than some 0.1 ms.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

void MPII_Gpudt_buffer_access(const MPIR_Gpudt_buffer * buffer, int64_t n,
                              struct MPII_Gpudt_access *access)
{
    const struct MPII_Gpudt_side *side = &buffer->side;

    MPII_Gpudt_access_find(side->type ? &side->type->serial : NULL, &side->top,
                           side->high - side->low, buffer->size, n, access);
}

/* Whether a long message from a buffer is to be staged rather than read from the buffer.
 *   read_across, cost  (IN)  what the one and the other would cost */
static bool is_wanted(const MPIR_Gpudt_buffer * buffer, bool may_pull, int64_t read_across,
                      int64_t cost)
{
    if (MPIR_CVAR_GPUDT_DIRECT == MPIR_CVAR_GPUDT_DIRECT_staged)
        return true;
    if (!may_pull)
        return buffer->size >= MPII_GPUDT_HIDDEN_MIN;
    return read_across > cost;
}

static bool is_packed_by_kernel(const MPIR_Gpudt_buffer * buffer)
{
    return buffer->side.type && !buffer->side.is_mixed;
}

/* Allocate the staging memory of an engine, if there is memory for it. */
static void memory_make(MPII_Gpudt_engine_t * engine)
{
    MPII_Gpudt_ctx_t entered;

    if (MPII_Gpudt_ctx_enter(engine->drv, engine->device, engine->ctx, &entered) != MPI_SUCCESS)
        return;
    MPII_Gpudt_area_get_spare(engine, MPII_GPUDT_AREA__STAGE, 0, &engine->stage);
    if (engine->stage &&
        engine->drv->cuPointerGetAttribute(&engine->stage_id, CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                           (CUdeviceptr) engine->stage->mem) != CUDA_SUCCESS) {
        MPII_Gpudt_area_put(engine, engine->stage);
        engine->stage = NULL;
    }
    MPII_Gpudt_ctx_leave(engine->drv, &entered);
}

/* Bytes of a segment, at most. The memory stays as it is when the program sets another size. */
static int64_t segment_max(const MPII_Gpudt_engine_t * engine, int nothers)
{
    const size_t sz = engine->stage ? engine->stage->sz :
        MPII_Gpudt_area_sz(MPII_GPUDT_AREA__STAGE);

    return (int64_t) sz / (nothers ? MPIR_GPUDT_STAGE_PLACES : MPII_GPUDT_STAGE_AREAS);
}

MPIR_Gpudt_stage_t *MPIR_Gpudt_stage_get(const MPIR_Gpudt_buffer * buffer, bool may_pull,
                                         int nothers)
{
    MPII_Gpudt_engine_t *engine = buffer->side.engine;
    const struct MPII_Gpudt_export *export = NULL;
    const struct MPII_Gpudt_area *area;
    struct MPIR_Gpudt_stage *stage;
    struct MPII_Gpudt_access access;
    int64_t cost;

    MPII_Gpudt_buffer_access(buffer, buffer->size, &access);
    cost = MPII_Gpudt_stage_cost(buffer->size, segment_max(engine, nothers), access.pack,
                                 is_packed_by_kernel(buffer) && MPIR_CVAR_GPUDT_STAGE_AHEAD,
                                 nothers);
    if (MPIR_CVAR_GPUDT_DIRECT == MPIR_CVAR_GPUDT_DIRECT_pull ||
        MPIR_CVAR_GPUDT_DIRECT == MPIR_CVAR_GPUDT_DIRECT_push ||
        !MPIR_Gpudt_is_direct(buffer) || !is_wanted(buffer, may_pull, access.read_across, cost))
        return NULL;
    if (engine->stage == NULL)
        memory_make(engine);
    area = engine->stage;
    if (area)
        export = MPII_Gpudt_export_get(engine, area->mem, area->mem + area->sz, engine->stage_id,
                                       false);
    if (export == NULL)
        return NULL;
    stage = MPL_calloc(1, sizeof(*stage), MPL_MEM_BUFFER);
    if (stage) {
        stage->engine = engine;
        stage->export = *export;
        stage->mem = area->mem;
        stage->sz = area->sz;
        stage->segment = segment_max(engine, nothers);
        stage->cost = cost;
        stage->early_place = -1;
    }
    return stage;
}

static char *place_at(const MPIR_Gpudt_stage_t * stage, int i)
{
    return stage->mem + i * (stage->sz / MPIR_GPUDT_STAGE_PLACES);
}

bool MPIR_Gpudt_stage_take(const MPIR_Gpudt_stage_t * stage, int n, char **place)
{
    uint32_t taken = 0;
    int nfound = 0;

    for (int i = 0; i < MPIR_GPUDT_STAGE_PLACES && nfound < n; i++) {
        if (stage->engine->stage_used & 1u << i)
            continue;
        taken |= 1u << i;
        place[nfound++] = place_at(stage, i);
    }
    if (nfound < n)
        return false;
    stage->engine->stage_used |= taken;
    return true;
}

/* The number of the place that an address is in. */
static int place_of(const MPIR_Gpudt_stage_t * stage, const char *packed)
{
    return (int) ((size_t) (packed - stage->mem) / (stage->sz / MPIR_GPUDT_STAGE_PLACES));
}

void MPIR_Gpudt_stage_put(const MPIR_Gpudt_stage_t * stage, char *place)
{
    const uint32_t bit = 1u << place_of(stage, place);

    stage->engine->stage_used &= ~bit;
    stage->engine->stage_known |= stage->engine->stage_signalled & bit;
}

MPIR_Gpudt_stage_t *MPIR_Gpudt_stage_map(const MPIR_Gpudt_offer_t * offer,
                                         const MPIR_Gpudt_buffer * buffer)
{
    MPII_Gpudt_engine_t *engine = buffer->side.engine;
    struct MPIR_Gpudt_stage *stage = MPL_calloc(1, sizeof(*stage), MPL_MEM_BUFFER);
    const uint64_t gpu = MPIR_Gpudt_buffer_gpu(buffer);
    CUdeviceptr mem;

    if (stage == NULL)
        return NULL;
    /* A failure shows again when the message is staged otherwise */
    if (MPII_Gpudt_offer_map(&offer->stage, engine, 0, &stage->mapping, &mem) != MPI_SUCCESS ||
        stage->mapping == NULL) {
        MPL_free(stage);
        return NULL;
    }
    stage->engine = engine;
    stage->mem = (char *) (uintptr_t) mem + offer->stage_at;
    stage->sz = (size_t) offer->stage_sz;
    stage->segment = offer->stage_segment;
    stage->is_far = gpu && offer->gpu && gpu != offer->gpu;
    stage->early_place = offer->early_place;
    stage->early_value = offer->early_value;
    MPII_GPUDT_COUNT(direct_staged, 1);
    return stage;
}

/* Free the flag of a kernel that has ended. Its word gets the value that it rarely has: flags with
 * words that fall behind could seem to be set. */
static void missed_put(MPIR_Gpudt_stage_t * stage, int place)
{
    struct MPII_Gpudt_flag *missed = &stage->place[place].missed;

    if (missed->word)
        MPL_atomic_release_store_int(missed->word, missed->value);
    MPII_Gpudt_flag_put(stage->engine, missed);
}

void MPIR_Gpudt_stage_free(MPIR_Gpudt_stage_t * stage)
{
    if (stage && stage->mapping) {
        for (int i = 0; i < MPIR_GPUDT_STAGE_PLACES; i++)
            missed_put(stage, i);
        MPII_Gpudt_import_release(stage->mapping);
    }
    MPL_free(stage);
}

char *MPIR_Gpudt_stage_mem(const MPIR_Gpudt_stage_t * stage)
{
    return stage->mem;
}

int64_t MPIR_Gpudt_stage_segment(const MPIR_Gpudt_stage_t * stage)
{
    return stage->segment;
}

/* Whether other segments may pass in the other direction. Places of this GPU's stage that are in use
 * stand for one, whichever GPU reads them, and long kernels that unpack for the other, wherever the data
 * comes from. Where that is wrong, few blocks cost 1 to 3 percent of the rate. */
static bool is_beside(const MPIR_Gpudt_stage_t * stage, bool unpack)
{
    const MPII_Gpudt_engine_t *engine = stage->engine;

    if (MPII_Gpudt_is_shared(engine->shared))
        return false;
    return unpack ? stage->is_far && engine->stage_used :
        MPL_atomic_relaxed_load_int(&engine->nlong[MPII_GPUDT_LANE__UNPACK]) +
        MPL_atomic_relaxed_load_int(&engine->nlong[MPII_GPUDT_LANE__PULL]) > 0;
}

static uint64_t semaphore_addr(const MPIR_Gpudt_stage_t * stage, int place)
{
    return (uint64_t) (uintptr_t) stage->mem + stage->sz +
        (uint64_t) place * MPII_GPUDT_SEMAPHORE_STEP;
}

/* Whether packs signal semaphores. Where processes share the GPU, they are late in any case. */
static bool may_signal(const MPIR_Gpudt_stage_t * stage)
{
    return MPIR_CVAR_GPUDT_STAGE_AHEAD && !MPII_Gpudt_is_shared(stage->engine->shared);
}

/* The next value of the semaphore of a place. */
static int value_next(MPIR_Gpudt_stage_t * stage, int place)
{
    int *value = &stage->engine->stage_values[place];

    *value = (int) ((unsigned) *value + 1);
    if (*value == 0)
        *value = 1;
    return *value;
}

/* Have the kernel that packs into a place signal its semaphore.
 *   value  (IN)  0: the next one; else the receiver knows it */
static struct MPII_Gpudt_ahead *signal_set(MPIR_Gpudt_stage_t * stage, int place, int value)
{
    struct MPII_Gpudt_ahead *ahead = &stage->place[place].ahead;

    ahead->semaphore.word = semaphore_addr(stage, place);
    ahead->semaphore.value = value ? value : value_next(stage, place);
    ahead->is_promised = value != 0;
    ahead->is_used = false;
    return ahead;
}

/* The value that a pack which was started signals; 0: the receiver cannot rely on it. */
static int signal_value(MPIR_Gpudt_stage_t * stage, int place)
{
    const struct MPII_Gpudt_ahead *ahead = &stage->place[place].ahead;
    MPII_Gpudt_engine_t *engine = stage->engine;

    if (!ahead->is_used)
        return 0;
    engine->stage_signalled |= 1u << place;
    return engine->stage_known & 1u << place ? ahead->semaphore.value : 0;
}

/* Get a flag for a kernel that gives up. The context is needed for the first flag of an engine only. */
static bool missed_get(MPII_Gpudt_engine_t * engine, struct MPII_Gpudt_flag *missed)
{
    MPII_Gpudt_ctx_t entered = {.ctx = NULL };

    if (engine->flags == NULL && MPII_Gpudt_engine_reenter(engine, &entered) != MPI_SUCCESS)
        return false;
    MPII_Gpudt_flag_get(engine, MPII_GPUDT_LANE__UNPACK, 1, missed);
    MPII_Gpudt_ctx_leave(engine->drv, &entered);
    return missed->word != NULL;
}

/* Have the kernel that unpacks from a place wait for a value; NULL: it should not, or there is none
 * that can. */
static struct MPII_Gpudt_ahead *wait_set(MPIR_Gpudt_stage_t * stage, int place, int value,
                                         const struct MPII_Gpudt_side *dst)
{
    MPII_Gpudt_engine_t *engine = stage->engine;
    struct MPII_Gpudt_ahead *ahead = &stage->place[place].ahead;
    struct MPII_Gpudt_flag *missed = &stage->place[place].missed;

    if (!MPIR_CVAR_GPUDT_STAGE_AHEAD || dst->type == NULL || dst->is_mixed || !stage->is_far ||
        MPII_Gpudt_is_shared(engine->shared) || missed->word ||
        MPL_atomic_relaxed_load_int(&engine->nflying[MPII_GPUDT_LANE__UNPACK]) +
        MPL_atomic_relaxed_load_int(&engine->nflying[MPII_GPUDT_LANE__PULL]) >= MPII_GPUDT_AHEAD_MAX ||
        !missed_get(engine, missed))
        return NULL;
    ahead->semaphore.word = semaphore_addr(stage, place);
    ahead->semaphore.value = value;
    ahead->semaphore.missed = missed->addr;
    ahead->semaphore.missed_value = missed->value;
    ahead->is_used = false;
    return ahead;
}

bool MPIR_Gpudt_stage_early_take(MPIR_Gpudt_stage_t * stage, const MPIR_Gpudt_buffer * buffer,
                                 char **place)
{
    int i;

    if (!may_signal(stage) || !is_packed_by_kernel(buffer) ||
        buffer->size > stage->segment ||
        !MPIR_Gpudt_stage_take(stage, 1, place))
        return false;
    i = place_of(stage, *place);
    if (!(stage->engine->stage_known & 1u << i)) {
        MPIR_Gpudt_stage_put(stage, *place);
        return false;
    }
    stage->early_place = i;
    stage->early_value = value_next(stage, i);
    return true;
}

char *MPIR_Gpudt_stage_early(const MPIR_Gpudt_stage_t * stage, int *value)
{
    *value = stage->early_value;
    return stage->early_place < 0 ? NULL : place_at(stage, stage->early_place);
}

bool MPIR_Gpudt_stage_is_missed(MPIR_Gpudt_stage_t * stage, const char *packed)
{
    const int place = place_of(stage, packed);
    struct MPII_Gpudt_flag *missed = &stage->place[place].missed;
    const bool is_missed = missed->word == NULL || !stage->place[place].ahead.is_used ||
        MPII_Gpudt_flag_is_set(missed);

    missed_put(stage, place);
    if (is_missed)
        MPII_GPUDT_COUNT(staged_missed, 1);
    return is_missed;
}

int MPIR_Gpudt_stage_move(MPIR_Gpudt_stage_t * stage, MPIR_Gpudt_buffer * buffer, MPI_Aint first,
                          MPI_Aint n, char *packed, bool unpack, int *value, MPIR_Gpudt_op ** op)
{
    int mpi_errno = MPI_SUCCESS;
    const int place = place_of(stage, packed), wanted = *value;
    MPIR_Gpudt_op local;
    bool are_beside;

    MPIR_FUNC_ENTER;

    *op = NULL;
    *value = 0;
    MPII_Gpudt_op_init(&local, n, MPII_GPUDT_LANE__PACK);
    local.is_alone = true;
    MPIR_ERR_CHKANDJUMP(first + n > buffer->size || packed < stage->mem ||
                        place >= MPIR_GPUDT_STAGE_PLACES ||
                        packed + n > place_at(stage, place + 1), mpi_errno, MPI_ERR_INTERN,
                        "**gpudt_size");
    mpi_errno = MPIR_Gpudt_buffer_check(buffer);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (!unpack) {
        local.ahead = may_signal(stage) ? signal_set(stage, place, wanted) : NULL;
    } else if (wanted) {
        local.ahead = wait_set(stage, place, wanted, &buffer->side);
        if (local.ahead == NULL)
            goto fn_exit;
        *value = wanted;
        MPII_GPUDT_COUNT(staged_ahead, 1);
    }
    MPII_Gpudt_side_own(stage->engine, packed, packed + n, unpack ? &local.src : &local.dst);
    if (stage->mapping)
        local.src.place = MPII_GPUDT_PLACE__PEER;
    MPII_Gpudt_buffer_part(buffer, first, n, unpack ? &local.dst : &local.src);
    are_beside = n >= MPII_GPUDT_BESIDE_MIN && is_beside(stage, unpack);
    if (are_beside)
        local.max_blocks = MPII_GPUDT_BESIDE_BLOCKS(stage->engine->nsms);
    /* Segments of one message are packed one after the other: the first one is awaited most */
    if (unpack || are_beside)
        local.lane = MPII_Gpudt_lane_choose(stage->engine, !unpack, n);
    mpi_errno = MPII_Gpudt_op_start(&local, op);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (are_beside)
        MPII_GPUDT_COUNT(staged_beside, 1);
    if (!unpack && local.ahead)
        *value = signal_value(stage, place);

  fn_exit:
    MPIR_FUNC_EXIT;
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
