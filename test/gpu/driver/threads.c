/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests eight threads that use the driver for the first time at once, classify, enter and leave
 * contexts. */

#include "driver_test.h"

#define NTHREADS 8

static pthread_barrier_t start;
static CUdeviceptr d;
static CUcontext app_ctx;

static void *work(void *arg)
{
    const MPII_Gpudt_driver_t *drv;
    MPII_Gpudt_ctx_t entered;
    MPIR_Gpudt_ptr_t ptr;
    CUcontext current;
    int me = (int) (intptr_t) arg;

    pthread_barrier_wait(&start);
    for (int i = 0; i < 200; i++) {
        CHECK(is_gpu((void *) d) == 1);
        CHECK(!is_gpu(&me));
        OK(MPIR_Gpudt_query_ptr((void *) d, &ptr));
        drv = MPII_Gpudt_driver_get();
        OK(MPII_Gpudt_ctx_enter(drv, ptr.device, (i + me) % 2 ? NULL : ptr.ctx, &entered));
        CHECK(entered.ctx == app_ctx);
        MPII_Gpudt_ctx_leave(drv, &entered);
        OK(drv->cuCtxGetCurrent(&current));
        CHECK(current == NULL);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[NTHREADS];

    MPIR_CVAR_ENABLE_GPU = 1;
    app_load();
    app_ctx = app_primary(0);
    OK(APP(cuMemAlloc) (&d, 100));

    pthread_barrier_init(&start, NULL, NTHREADS);
    for (int i = 0; i < NTHREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *) (intptr_t) i);
    for (int i = 0; i < NTHREADS; i++)
        pthread_join(threads[i], NULL);

    MPII_Gpudt_ctx_finalize();
    OK(APP(cuMemFree) (d));
    OK(APP(cuDevicePrimaryCtxRelease) (0));
    CHECK(EMU(emu_live) (NULL) == 0);
    return test_end();
}
