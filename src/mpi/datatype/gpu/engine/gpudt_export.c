/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Exports allocations by CUDA IPC. What the driver said about an allocation is kept under the
 * number that the driver gave it, which it never reuses. Must not know messages. */

#include "mpiimpl.h"
#include "gpudt_export.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define NKEPT 256               /* a power of 2 */

static struct kept {
    unsigned long long id;      /* 0: unused */
    bool is_exportable;
    struct MPII_Gpudt_export export;
} kept[NKEPT];
static uint64_t process;

static uint64_t process_number(void)
{
    uint64_t number;

    if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number) || number == 0)
        number = (uint64_t) getpid() << 32 ^ (uint64_t) time(NULL) ^ 1;
    return number;
}

/* Ask the driver. */
static void kept_fill(struct kept *k, const MPII_Gpudt_engine_t * engine, const void *addr,
                      unsigned long long id)
{
    const MPII_Gpudt_driver_t *drv = engine->drv;
    MPII_Gpudt_ctx_t entered;
    CUdeviceptr base = 0;
    size_t sz = 0;

    if (process == 0)
        process = process_number();
    k->id = 0;
    k->is_exportable = false;
    if (!drv->cuMemGetAddressRange || !drv->cuIpcGetMemHandle || !drv->cuIpcOpenMemHandle ||
        !drv->cuIpcCloseMemHandle ||
        MPII_Gpudt_ctx_enter(drv, engine->device, engine->ctx, &entered) != MPI_SUCCESS)
        return;
    k->id = id;
    k->export.process = process;
    k->export.gpu = (uint64_t) engine->device;
    k->export.id = id;
    k->is_exportable =
        drv->cuMemGetAddressRange(&base, &sz, (CUdeviceptr) addr) == CUDA_SUCCESS &&
        drv->cuIpcGetMemHandle(&k->export.handle, base) == CUDA_SUCCESS;
    k->export.base = base;
    k->export.sz = sz;
    MPII_Gpudt_ctx_leave(drv, &entered);
}

const struct MPII_Gpudt_export *MPII_Gpudt_export_get(const MPII_Gpudt_engine_t * engine,
                                                      const void *addr, unsigned long long id)
{
    struct kept *k = &kept[id & (NKEPT - 1)];

    if (unlikely(k->id != id))
        kept_fill(k, engine, addr, id);
    return k->is_exportable ? &k->export : NULL;
}
