/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Maps allocations of other processes by CUDA IPC or, if they are mapped virtual ranges, by file
 * descriptors, and keeps them mapped. Must not know messages.
 *
 * An allocation is identified by its process and by the number that the driver gave it there,
 * which is never reused. So memory that was freed and allocated again at the same address is never
 * accessed by an old mapping. A mapping keeps the memory of an allocation that its process has
 * freed. Therefore the number of mappings and their bytes are limited.
 *
 * To unmap memory, the driver waits for all kernels of the context, and so do other calls
 * meanwhile (measured with driver 580, also with the call in a thread of its own). So mappings are
 * only removed to make room, and only if the default stream is idle. If it is not, new memory is
 * not mapped. Only memory that the other process is known to free next is unmapped in any case: CUDA
 * does not define what becomes of it otherwise.
 *
 * The lists are short, and the mapping used last is at the head. */

#include "mpiimpl.h"
#include "gpudt_import.h"
#include "tuning/gpudt_tuning.h"
#include "gpudt_remote.h"
#include "gpudt_vars.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_GPUDT_DIRECT
      category    : GPUDT
      type        : enum
      default     : auto
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : |-
        Whether processes of a node map each other's GPU memory and copy messages directly, and the
        origin of one-sided operations, accumulates and atomic ones too, maps that of windows.
        auto   - Where the GPUs can access each other, and once mapping the memory pays off
        never  - Messages pass through host memory
        always - Map memory when it is first seen
        pull   - The same, and receivers copy from the sender's buffer in any case
        push   - The same, but senders copy long messages to the receiver's buffer
        staged - The same, but senders pack long messages into GPU memory first

    - name        : MPIR_CVAR_GPUDT_IPC_MAX
      category    : GPUDT
      type        : int
      default     : 512
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Allocations of GPU memory of other processes that are kept mapped, at most. Those in use may
        exceed it.

    - name        : MPIR_CVAR_GPUDT_IPC_MIB
      category    : GPUDT
      type        : int
      default     : 32768
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Their memory in MiB, at most. Memory that the other process frees is not released while it
        is mapped. A larger allocation does not count; one of each other process is kept mapped.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

/* Failures to map memory of a GPU after which it is taken as out of reach. One may be due to memory
 * that was freed. */
#define MAX_FAILURES 3

/* The same of one allocation whose handle the driver calls invalid: it may take it the next time (see
 * gpudt_share.c). */
#define MAX_REFUSALS 3

struct MPII_Gpudt_mapping {
    struct MPII_Gpudt_mapping *next, *prev;
    MPII_Gpudt_engine_t *engine;
    struct MPII_Gpudt_remote *remote;
    struct MPII_Gpudt_export export;
    CUdeviceptr mem;            /* 0: not mapped */
    unsigned long long own_id;  /* of a mapped range, in this process */
    CUmemoryPool pool;          /* of memory of a pool; NULL: not imported yet */
    bool is_refused;            /* could not be mapped: final */
    int nrefusals;              /* times that the driver called the handle invalid */
    bool is_large;              /* larger than all others may be: does not count in open_sz */
    int nrefs;
    double saved_us;            /* that being mapped would have saved so far */
};

static struct MPII_Gpudt_mapping *mappings;     /* the one used last first */
static int nmappings;           /* all of them */
static int nopen;               /* mapped ones, and their bytes but for large ones */
static uint64_t open_sz;
static bool has_finalizer = false;

static void trace(const char *what, const struct MPII_Gpudt_mapping *m, const char *why)
{
    if (MPIR_CVAR_GPUDT_TRACE)
        fprintf(stderr, "[%d] gpudt: %s allocation %" PRIu64 " of %" PRIu64 " bytes of process %"
                PRIx64 ", GPU %d, for GPU %d%s%s\n", (int) getpid(), what, m->export.id,
                m->export.sz, m->export.process, (int) m->export.gpu, m->engine->device,
                why[0] ? ": " : "", why);
}

/* Another engine's mapping of the same memory of a pool; NULL: none. The driver imports it once for all
 * contexts, and does not count. */
static const struct MPII_Gpudt_mapping *imported_too(const struct MPII_Gpudt_mapping *m)
{
    const struct MPII_Gpudt_mapping *other;

    DL_FOREACH(mappings, other) {
        if (other != m && other->mem && MPII_Gpudt_export_is_same(&other->export, &m->export))
            return other;
    }
    return NULL;
}

/* ---- removing ---- */

/* Unmap memory. A mapping of memory of cuMemAlloc ended with its context, if that was destroyed. */
static void mapping_close(struct MPII_Gpudt_mapping *m)
{
    const MPII_Gpudt_engine_t *engine = m->engine;
    MPII_Gpudt_ctx_t entered;
    bool is_entered;

    if (m->mem == 0)
        return;
    is_entered = MPII_Gpudt_engine_is_alive(engine) &&
        MPII_Gpudt_engine_reenter_twice(engine, &entered) == MPI_SUCCESS;
    if (m->export.kind == MPII_GPUDT_EXPORT__RANGE)
        MPII_Gpudt_descriptor_unmap(engine->drv, &m->export.descriptor, m->mem, m->own_id);
    else if (m->export.kind != MPII_GPUDT_EXPORT__POOL && is_entered)
        engine->drv->cuIpcCloseMemHandle(m->mem);
    else if (is_entered && imported_too(m) == NULL)
        engine->drv->cuMemFree(m->mem);
    if (is_entered)
        MPII_Gpudt_ctx_leave(engine->drv, &entered);
    trace("unmapped", m, "");
    m->mem = 0;
    nopen--;
    if (!m->is_large)
        open_sz -= m->export.sz;
    MPII_GPUDT_UNCOUNT(ipc_mapped, 1);
    MPII_GPUDT_UNCOUNT(ipc_bytes, m->export.sz);
}

static void mapping_remove(struct MPII_Gpudt_mapping *m)
{
    mapping_close(m);
    DL_DELETE(mappings, m);
    nmappings--;
    MPL_free(m);
}

/* Whether an export is of several allocations, whose numbers may be in any order. */
static bool is_joined(const struct MPII_Gpudt_export *export)
{
    return export->kind == MPII_GPUDT_EXPORT__RANGE && export->descriptor.nhandles > 1;
}

/* Whether the allocation of a mapping must have been freed, since a new one has some of its
 * addresses. */
static bool is_stale(const struct MPII_Gpudt_mapping *m, const struct MPII_Gpudt_export *export)
{
    return !is_joined(&m->export) && !is_joined(export) &&
        m->export.process == export->process && m->export.id < export->id &&
        m->export.base < export->base + export->sz && export->base < m->export.base + m->export.sz;
}

/* Put stale mappings where they are removed first, and forget those that are not mapped. */
static void stale_sort(const struct MPII_Gpudt_export *export)
{
    struct MPII_Gpudt_mapping *m, *next, *last = mappings ? mappings->prev : NULL;

    DL_FOREACH_SAFE(mappings, m, next) {
        const bool is_last = m == last;
        if (is_stale(m, export)) {
            if (m->mem == 0 && m->nrefs == 0) {
                mapping_remove(m);
            } else {
                DL_DELETE(mappings, m);
                DL_APPEND(mappings, m);
            }
        }
        if (is_last)
            break;
    }
}

/* Unmap the stale mappings of an engine. Returns whether there were any. */
static bool stale_close(const MPII_Gpudt_engine_t * engine, const struct MPII_Gpudt_export *export)
{
    struct MPII_Gpudt_mapping *m;
    bool were_any = false;

    DL_FOREACH(mappings, m) {
        if (m->mem && m->nrefs == 0 && m->engine == engine && is_stale(m, export)) {
            MPII_GPUDT_COUNT(ipc_evictions, 1);
            mapping_close(m);
            were_any = true;
        }
    }
    return were_any;
}

/* Whether to unmap memory of an engine waits for no kernel.
 *   idle, busy  (INOUT)  engines of which that is known; NULL: none yet */
static bool is_quiet(const MPII_Gpudt_engine_t * engine, const MPII_Gpudt_engine_t ** idle,
                     const MPII_Gpudt_engine_t ** busy)
{
    if (engine != *idle && engine != *busy) {
        if (!MPII_Gpudt_engine_is_alive(engine) || MPII_Gpudt_engine_is_idle(engine))
            *idle = engine;
        else
            *busy = engine;
    }
    return engine == *idle;
}

static bool is_room(const struct MPII_Gpudt_mapping *wanted, uint64_t max_sz)
{
    return nopen < MPL_MAX(MPIR_CVAR_GPUDT_IPC_MAX, 1) &&
        (wanted->is_large || open_sz + wanted->export.sz <= max_sz);
}

/* Remove mappings that were not used for longest until there is room for one, and if that is large, another
 * large one of its process. An allocation whose mapping was removed has to be worth one anew. Returns
 * whether it may be mapped: not if the others could not be removed without a wait; those in use stay. */
static bool room_make(struct MPII_Gpudt_mapping *wanted)
{
    const uint64_t max_sz = (uint64_t) MPL_MAX(MPIR_CVAR_GPUDT_IPC_MIB, 0) << 20;
    const MPII_Gpudt_engine_t *idle = NULL, *busy = NULL;
    struct MPII_Gpudt_mapping *m, *prev;
    bool are_left = false;

    wanted->is_large = wanted->export.sz > max_sz;
    if (nopen == 0 || (is_room(wanted, max_sz) && !wanted->is_large))
        return true;
    for (m = mappings->prev;; m = prev) {
        bool is_first = m == mappings;
        bool is_other = wanted->is_large && m->is_large && m->engine == wanted->engine &&
            m->export.process == wanted->export.process;
        prev = m->prev;
        if (m->mem && m->nrefs == 0 && (is_other || !is_room(wanted, max_sz))) {
            if (is_quiet(m->engine, &idle, &busy)) {
                MPII_GPUDT_COUNT(ipc_evictions, 1);
                mapping_close(m);
                m->saved_us = 0;
            } else {
                are_left = true;
            }
        }
        if (is_first)
            break;
    }
    return !are_left || (!wanted->is_large && is_room(wanted, max_sz));
}

void MPII_Gpudt_import_close(uint64_t process, uint64_t id)
{
    struct MPII_Gpudt_mapping *m, *next;

    DL_FOREACH_SAFE(mappings, m, next) {
        if (m->export.process == process && m->export.id == id && m->nrefs == 0)
            mapping_remove(m);
    }
}

void MPII_Gpudt_import_drop(uint64_t process)
{
    struct MPII_Gpudt_mapping *m, *next;
    bool are_used = false;

    DL_FOREACH_SAFE(mappings, m, next) {
        if (m->export.process != process)
            continue;
        if (m->nrefs == 0)
            mapping_remove(m);
        else
            are_used = true;
    }
    if (!are_used) {
        MPII_Gpudt_remotes_drop(process);
        MPII_Gpudt_mempools_drop(process);
    }
}

/* For MPIR_Add_finalize: before the engines are freed. */
static int imports_end(void *unused ATTRIBUTE((unused)))
{
    while (mappings)
        mapping_remove(mappings);
    MPII_Gpudt_remotes_drop(0);
    MPII_Gpudt_mempools_drop(0);
    has_finalizer = false;
    return 0;
}

/* ---- finding ---- */

/* Forget the allocation that was not used for longest, if there are too many. */
static void count_limit(void)
{
    struct MPII_Gpudt_mapping *m;

    if (mappings == NULL || nmappings / 4 < MPL_MAX(MPIR_CVAR_GPUDT_IPC_MAX, 1))
        return;
    m = mappings->prev;
    while (m != mappings && (m->nrefs > 0 || m->mem))
        m = m->prev;
    if (m->nrefs == 0 && m->mem == 0)
        mapping_remove(m);
}

/* Whether two exports of the same memory name the same descriptors. */
static bool descriptors_are_same(const struct MPII_Gpudt_export *a,
                                 const struct MPII_Gpudt_export *b)
{
    const struct MPII_Gpudt_descriptor_name *p = &a->descriptor, *q = &b->descriptor;

    switch (a->kind) {
        case MPII_GPUDT_EXPORT__RANGE:
            return p->pid == q->pid && p->proof == q->proof &&
                memcmp(p->memory, q->memory, q->nhandles * sizeof(q->memory[0])) == 0;
        case MPII_GPUDT_EXPORT__POOL:
            return a->pool.pid == b->pool.pid && a->pool.proof == b->pool.proof &&
                a->pool.pool == b->pool.pool;
        default:
            return true;
    }
}

/* Take over the descriptors of memory that is not mapped. Its process may have closed the earlier
 * ones, and their numbers may be those of other files since. */
static void descriptors_renew(struct MPII_Gpudt_mapping *m, const struct MPII_Gpudt_export *export)
{
    if (m->mem || m->pool || descriptors_are_same(&m->export, export))
        return;
    MPII_Gpudt_export_copy(export, &m->export);
    m->is_refused = false;
}

/* The mapping of an allocation, at the head of the list; made if it is new. NULL: out of memory. */
static struct MPII_Gpudt_mapping *mapping_find(MPII_Gpudt_engine_t * engine,
                                               const struct MPII_Gpudt_export *export)
{
    struct MPII_Gpudt_mapping *m;

    DL_FOREACH(mappings, m) {
        if (MPII_Gpudt_export_is_same(&m->export, export) && m->engine == engine) {
            if (m != mappings) {
                DL_DELETE(mappings, m);
                DL_PREPEND(mappings, m);
            }
            descriptors_renew(m, export);
            return m;
        }
    }
    stale_sort(export);
    count_limit();
    m = MPL_calloc(1, sizeof(*m), MPL_MEM_BUFFER);
    if (m == NULL)
        return NULL;
    m->engine = engine;
    MPII_Gpudt_export_copy(export, &m->export);
    m->remote = MPII_Gpudt_remote_find(engine, export);
    if (m->remote == NULL) {
        MPL_free(m);
        return NULL;
    }
    if (!has_finalizer)
        MPIR_Add_finalize(imports_end, NULL, MPIR_FINALIZE_CALLBACK_PRIO - 3);
    has_finalizer = true;
    DL_PREPEND(mappings, m);
    nmappings++;
    return m;
}

/* Whether the driver has the functions that map an allocation. */
static bool has_functions(const MPII_Gpudt_driver_t * drv, const struct MPII_Gpudt_export *export)
{
    switch (export->kind) {
        case MPII_GPUDT_EXPORT__RANGE:
            return MPII_Gpudt_descriptor_exists(drv);
        case MPII_GPUDT_EXPORT__POOL:
            return MPII_Gpudt_mempool_exists(drv) && export->sz <= MPII_GPUDT_MEMPOOL_MOST;
        default:
            return drv->cuIpcOpenMemHandle && drv->cuIpcCloseMemHandle;
    }
}

/* Whether nothing of a process can be mapped, or no such allocation. */
static bool is_hopeless(const MPII_Gpudt_engine_t * engine, const struct MPII_Gpudt_export *export)
{
    return MPIR_CVAR_GPUDT_DIRECT == MPIR_CVAR_GPUDT_DIRECT_never || export->process == 0 ||
        export->id == 0 || !has_functions(engine->drv, export);
}

/* Whether an allocation will not be mapped any more. */
static bool is_refused(const struct MPII_Gpudt_mapping *m)
{
    return m->is_refused || (m->mem == 0 && m->remote->nfailures == MAX_FAILURES);
}

bool MPII_Gpudt_import_is_refused(MPII_Gpudt_engine_t * engine,
                                  const struct MPII_Gpudt_export *export)
{
    struct MPII_Gpudt_export copy;
    const struct MPII_Gpudt_mapping *m;

    MPII_Gpudt_export_copy(export, &copy);
    if (is_hopeless(engine, &copy))
        return true;
    m = mapping_find(engine, &copy);
    return m && is_refused(m);
}

struct MPII_Gpudt_mapping *MPII_Gpudt_import_find(MPII_Gpudt_engine_t * engine,
                                                  const struct MPII_Gpudt_export *export,
                                                  double saved_us)
{
    struct MPII_Gpudt_export copy;
    struct MPII_Gpudt_mapping *m;

    /* The other process may write to the export, of which reading all would take a while */
    MPII_Gpudt_export_copy(export, &copy);
    if (is_hopeless(engine, &copy))
        return NULL;
    m = mapping_find(engine, &copy);
    if (m == NULL || is_refused(m))
        return NULL;
    if (m->mem == 0 && MPIR_CVAR_GPUDT_DIRECT == MPIR_CVAR_GPUDT_DIRECT_auto) {
        m->saved_us += saved_us;
        if (m->saved_us < (m->remote->was_opened ? MPII_GPUDT_OPEN_US : MPII_GPUDT_FIRST_OPEN_US))
            return NULL;
    }
    return m;
}

/* ---- mapping ---- */

/* The driver refuses a small allocation in the place of a freed one that is still mapped. */
static CUresult handle_open(struct MPII_Gpudt_mapping *m)
{
    const MPII_Gpudt_driver_t *drv = m->engine->drv;
    CUresult res;

    res = drv->cuIpcOpenMemHandle(&m->mem, m->export.handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    if ((res == CUDA_ERROR_ALREADY_MAPPED || res == CUDA_ERROR_INVALID_HANDLE) &&
        MPII_Gpudt_engine_is_idle(m->engine) && stale_close(m->engine, &m->export))
        res = drv->cuIpcOpenMemHandle(&m->mem, m->export.handle,
                                      CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    return res;
}

/* Import memory of a pool, and first the pool itself. */
static CUresult pool_open(struct MPII_Gpudt_mapping *m, const char **why)
{
    const struct MPII_Gpudt_mempool_name *name = &m->export.pool;
    const struct MPII_Gpudt_mapping *other = imported_too(m);
    CUmemPoolPtrExportData data = name->data;
    CUresult res = CUDA_SUCCESS;

    if (m->pool == NULL)
        res = MPII_Gpudt_mempool_import(m->engine, name, m->export.process, &m->pool, why);
    if (res != CUDA_SUCCESS)
        m->pool = NULL;
    else if (other)
        m->mem = other->mem;
    else
        res = m->engine->drv->cuMemPoolImportPointer(&m->mem, m->pool, &data);
    return res;
}

/* Map an allocation that is not mapped.
 *   why  (OUT)  the reason, on failure */
static CUresult memory_open(struct MPII_Gpudt_mapping *m, const char **why)
{
    const struct MPII_Gpudt_export *export = &m->export;
    CUresult res;

    *why = NULL;
    switch (export->kind) {
        case MPII_GPUDT_EXPORT__RANGE:
            res = MPII_Gpudt_descriptor_map(m->engine, &export->descriptor, export->process,
                                            &m->mem, &m->own_id, why);
            break;
        case MPII_GPUDT_EXPORT__POOL:
            res = pool_open(m, why);
            break;
        default:
            res = handle_open(m);
    }
    if (res != CUDA_SUCCESS)
        m->mem = 0;
    if (res != CUDA_SUCCESS && *why == NULL) {
        *why = "";
        m->engine->drv->cuGetErrorName(res, why);
    }
    return res;
}

/* Whether to try again later to map memory, after a failure. */
static bool may_change(struct MPII_Gpudt_mapping *m, CUresult res)
{
    if (res == CUDA_ERROR_INVALID_HANDLE)
        return ++m->nrefusals < MAX_REFUSALS;
    return res == CUDA_ERROR_OUT_OF_MEMORY || res == CUDA_ERROR_ALREADY_MAPPED;
}

bool MPII_Gpudt_import_is_open(const struct MPII_Gpudt_mapping *m)
{
    return m->mem != 0;
}

CUdeviceptr MPII_Gpudt_import_open(struct MPII_Gpudt_mapping *m)
{
    const char *why;
    CUresult res;

    if (likely(m->mem)) {
        MPII_GPUDT_COUNT(ipc_hits, 1);
        m->nrefs++;
        return m->mem;
    }
    if (!room_make(m)) {
        m->saved_us = 0;
        return 0;
    }
    res = memory_open(m, &why);
    if (res != CUDA_SUCCESS) {
        m->saved_us = 0;
        m->is_refused = !may_change(m, res);
        if (m->is_refused && !m->remote->was_opened)
            m->remote->nfailures++;
        MPII_GPUDT_COUNT(ipc_failures, 1);
        trace("cannot map", m, why);
        return 0;
    }
    m->remote->was_opened = true;
    m->nrefs++;
    nopen++;
    if (!m->is_large)
        open_sz += m->export.sz;
    MPII_GPUDT_COUNT(ipc_opens, 1);
    MPII_GPUDT_COUNT(ipc_mapped, 1);
    MPII_GPUDT_COUNT(ipc_bytes, m->export.sz);
    trace("mapped", m, "");
    return m->mem;
}

void MPII_Gpudt_import_release(struct MPII_Gpudt_mapping *m)
{
    m->nrefs--;
    if (m->nrefs == 0 && m->export.kind == MPII_GPUDT_EXPORT__POOL)
        mapping_close(m);
}
