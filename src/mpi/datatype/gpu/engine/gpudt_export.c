/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Exports allocations by CUDA IPC, and mapped virtual ranges and pools by file descriptors. What the driver
 * said about an allocation is kept under the number that the driver gave it, which it never reuses.
 * Must not know messages.
 *
 * A descriptor keeps the memory of a range that the program has freed. The driver tells nobody when
 * it is freed. Therefore the kept descriptors are checked, all of them when a range is seen for the
 * first time, which may be in the place of another one, and otherwise one of them at a time. */

#include "mpiimpl.h"
#include "gpudt_export.h"
#include "gpudt_vars.h"

#include <stdio.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define NKEPT 256               /* a power of 2 */
#define LOOK_EVERY 16           /* uses of ranges between two checks of a descriptor */

static struct kept {
    unsigned long long id;      /* 0: unused */
    bool is_exportable;
    struct MPII_Gpudt_export export;
    struct MPII_Gpudt_descriptor *descriptor;   /* of a range or pool */
} kept[NKEPT];
static uint64_t process;
static bool has_finalizer = false;

uint64_t MPII_Gpudt_export_process(void)
{
    if (process == 0 && getrandom(&process, sizeof(process), GRND_NONBLOCK) != sizeof(process))
        process = 0;
    if (process == 0)
        process = (uint64_t) getpid() << 32 ^ (uint64_t) time(NULL) ^ 1;
    return process;
}

static void kept_drop(struct kept *k)
{
    MPII_Gpudt_descriptor_release(k->descriptor);
    k->descriptor = NULL;
    k->is_exportable = false;
    k->id = 0;
}

/* For MPIR_Add_finalize: after the messages that refer to descriptors are freed. */
static int exports_end(void *unused ATTRIBUTE((unused)))
{
    for (int i = 0; i < NKEPT; i++) {
        if (kept[i].descriptor)
            kept_drop(&kept[i]);
    }
    MPII_Gpudt_descriptors_end();
    has_finalizer = false;
    return 0;
}

/* Close the descriptor of memory that was freed. */
static void descriptor_check(const MPII_Gpudt_driver_t * drv, struct kept *k)
{
    unsigned long long now = 0;

    if (k->descriptor && (drv->cuPointerGetAttribute(&now, CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                                     k->export.base) != CUDA_SUCCESS ||
                          now != k->id))
        kept_drop(k);
}

/* ---- exporting ---- */

/* Share memory of cuMemAlloc. Returns NULL, or why that is not possible. */
static const char *memory_export(const MPII_Gpudt_driver_t * drv, struct kept *k)
{
    const char *why = "the driver has no interprocess handles";
    CUresult res;

    if (!drv->cuIpcGetMemHandle || !drv->cuIpcOpenMemHandle || !drv->cuIpcCloseMemHandle)
        return why;
    res = drv->cuIpcGetMemHandle(&k->export.handle, k->export.base);
    if (res == CUDA_SUCCESS)
        return NULL;
    drv->cuGetErrorName(res, &why);
    return why;
}

/* Share a mapped virtual range, or memory of a pool, likewise. */
static const char *private_export(const MPII_Gpudt_driver_t * drv, struct kept *k)
{
    const char *why = NULL;
    bool is_final;

    for (int i = 0; i < NKEPT; i++)
        descriptor_check(drv, &kept[i]);
    if (!has_finalizer)
        MPIR_Add_finalize(exports_end, NULL, MPIR_FINALIZE_CALLBACK_PRIO - 3);
    has_finalizer = true;
    if (k->export.kind == MPII_GPUDT_EXPORT__POOL) {
        k->descriptor = MPII_Gpudt_mempool_open(drv, k->export.base, k->export.sz, process,
                                                &k->export.pool, &why, &is_final);
    } else {
        k->descriptor = MPII_Gpudt_descriptor_open(drv, k->export.base, k->export.sz, process,
                                                   &k->export.descriptor, &why, &is_final);
        k->export.descriptor.id[0] = k->export.id;
    }
    if (k->descriptor)
        return NULL;
    if (!is_final)
        k->id = 0;
    return why;
}

/* What memory is. */
static enum MPII_Gpudt_export_e kind_of(const MPII_Gpudt_driver_t * drv, const void *addr,
                                        bool is_private)
{
    if (!is_private)
        return MPII_GPUDT_EXPORT__MEMORY;
    return MPII_Gpudt_mempool_of(drv, (CUdeviceptr) addr) ? MPII_GPUDT_EXPORT__POOL :
        MPII_GPUDT_EXPORT__RANGE;
}

/* Ask the driver. */
static void kept_fill(struct kept *k, const MPII_Gpudt_engine_t * engine, const void *addr,
                      unsigned long long id, bool is_private)
{
    const MPII_Gpudt_driver_t *drv = engine->drv;
    const char *why = "the driver does not know its bounds";
    MPII_Gpudt_ctx_t entered;
    CUdeviceptr base = 0;
    size_t sz = 0;

    kept_drop(k);
    if (!drv->cuMemGetAddressRange ||
        MPII_Gpudt_ctx_enter(drv, engine->device, engine->ctx, &entered) != MPI_SUCCESS)
        return;
    k->id = id;
    memset(&k->export, 0, sizeof(k->export));
    k->export.process = MPII_Gpudt_export_process();
    k->export.gpu = (uint64_t) engine->device;
    k->export.id = id;
    k->export.kind = kind_of(drv, addr, is_private);
    if (k->export.kind == MPII_GPUDT_EXPORT__RANGE &&
        !MPII_Gpudt_descriptor_is_possible(drv, (CUdeviceptr) addr)) {
        why = "it was not created to be shared by a file descriptor";
    } else if (drv->cuMemGetAddressRange(&base, &sz, (CUdeviceptr) addr) == CUDA_SUCCESS) {
        k->export.base = base;
        k->export.sz = sz;
        why = is_private ? private_export(drv, k) : memory_export(drv, k);
    }
    k->is_exportable = why == NULL;
    MPII_Gpudt_ctx_leave(drv, &entered);
    if (why && MPIR_CVAR_GPUDT_TRACE)
        fprintf(stderr, "[%d] gpudt: other processes cannot map allocation %llu of %zu bytes of "
                "GPU %d: %s\n", (int) getpid(), id, sz, engine->device, why);
}

/* What the driver said about the allocation of an address. */
static struct kept *kept_get(const MPII_Gpudt_engine_t * engine, const void *addr,
                             unsigned long long id, bool is_private)
{
    struct kept *k = &kept[id & (NKEPT - 1)];

    if (unlikely(k->id != id))
        kept_fill(k, engine, addr, id, is_private);
    return k;
}

/* Add the range that begins where an export ends. Returns false if that is not possible. */
static bool range_add(const MPII_Gpudt_engine_t * engine, struct MPII_Gpudt_export *export)
{
    CUpointer_attribute names[] = {
        CU_POINTER_ATTRIBUTE_BUFFER_ID, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        CU_POINTER_ATTRIBUTE_CONTEXT
    };
    const CUdeviceptr at = export->base + export->sz;
    struct MPII_Gpudt_descriptor_name *name = &export->descriptor;
    const int n = name->nhandles;
    unsigned long long id = 0;
    int device = -1;
    CUcontext ctx = NULL;
    void *values[] = { &id, &device, &ctx };
    const struct kept *k;

    /* Memory with a context is not of a range */
    if (n == MPII_GPUDT_MAX_HANDLES ||
        engine->drv->cuPointerGetAttributes(3, names, values, at) != CUDA_SUCCESS ||
        id == 0 || device != engine->device || ctx)
        return false;
    k = kept_get(engine, (const void *) at, id, true);
    if (!k->is_exportable || k->export.base != at || k->export.kind != MPII_GPUDT_EXPORT__RANGE)
        return false;
    name->memory[n] = k->export.descriptor.memory[0];
    name->id[n] = id;
    name->sz[n] = k->export.sz;
    name->nhandles++;
    export->sz += k->export.sz;
    return true;
}

/* The export of adjacent ranges, of which the first one is given; NULL: not possible. */
static const struct MPII_Gpudt_export *ranges_join(const MPII_Gpudt_engine_t * engine,
                                                   const struct MPII_Gpudt_export *first,
                                                   const void *high)
{
    static struct MPII_Gpudt_export joined;

    joined = *first;
    while ((uintptr_t) high > joined.base + joined.sz) {
        if (!range_add(engine, &joined))
            return NULL;
    }
    /* One may have taken the place of another one */
    for (int i = 0; i < joined.descriptor.nhandles; i++) {
        if (kept[joined.descriptor.id[i] & (NKEPT - 1)].id != joined.descriptor.id[i])
            return NULL;
    }
    return &joined;
}

const struct MPII_Gpudt_export *MPII_Gpudt_export_get(const MPII_Gpudt_engine_t * engine,
                                                      const void *low, const void *high,
                                                      unsigned long long id, bool is_private)
{
    static unsigned nuses;
    const struct kept *k;

    if (is_private && ++nuses % LOOK_EVERY == 0)
        descriptor_check(engine->drv, &kept[nuses / LOOK_EVERY % NKEPT]);
    k = kept_get(engine, low, id, is_private);
    if (!k->is_exportable || (uintptr_t) low < k->export.base)
        return NULL;
    if (likely((uintptr_t) high <= k->export.base + k->export.sz))
        return &k->export;
    return k->export.kind == MPII_GPUDT_EXPORT__RANGE ? ranges_join(engine, &k->export, high) :
        NULL;
}

void MPII_Gpudt_export_copy(const struct MPII_Gpudt_export *from, struct MPII_Gpudt_export *to)
{
    memcpy(to, from, offsetof(struct MPII_Gpudt_export, handle));
    if (from->kind == MPII_GPUDT_EXPORT__RANGE)
        to->descriptor = from->descriptor;
    else if (from->kind == MPII_GPUDT_EXPORT__POOL)
        to->pool = from->pool;
    else
        to->handle = from->handle;
}

bool MPII_Gpudt_export_is_same(const struct MPII_Gpudt_export *a,
                               const struct MPII_Gpudt_export *b)
{
    const struct MPII_Gpudt_descriptor_name *p = &a->descriptor, *q = &b->descriptor;

    if (a->id != b->id || a->process != b->process || a->kind != b->kind)
        return false;
    return a->kind != MPII_GPUDT_EXPORT__RANGE ||
        (p->nhandles == q->nhandles &&
         memcmp(p->id, q->id, p->nhandles * sizeof(p->id[0])) == 0);
}

void MPII_Gpudt_export_hold(const struct MPII_Gpudt_export *export,
                            struct MPII_Gpudt_descriptor **held)
{
    if (export->kind == MPII_GPUDT_EXPORT__POOL)
        held[0] = MPII_Gpudt_descriptor_add_ref(kept[export->id & (NKEPT - 1)].descriptor);
    if (export->kind != MPII_GPUDT_EXPORT__RANGE)
        return;
    for (int i = 0; i < export->descriptor.nhandles; i++)
        held[i] = MPII_Gpudt_descriptor_add_ref(kept[export->descriptor.id[i] &
                                                     (NKEPT - 1)].descriptor);
}
