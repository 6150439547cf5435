/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Entry and exit of every call of the emulated driver: state checks, injected failures, counts. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu.h"
#include "emu_control.h"

pthread_mutex_t emu_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t emu_changed = PTHREAD_COND_INITIALIZER;
bool emu_initialized;

/* True only in a forked child, where the parent's driver state is unusable. */
static bool is_dead_child;

static __thread int quiet_depth;
static __thread void *call_site;
static __thread CUresult call_failure;  /* injected, to be returned by emu_leave */

/* Guarded by inject_lock, not by emu_lock: they are read before a call takes that. */
static pthread_mutex_t inject_lock = PTHREAD_MUTEX_INITIALIZER;
static char fail_fn_copy[64];
static long calls_seen, calls_failed;

void emu_lock_take(void)
{
    pthread_mutex_lock(&emu_lock);
}

void emu_lock_give(void)
{
    pthread_mutex_unlock(&emu_lock);
}

/* "cuMemAlloc_v2" and "cuMemAlloc" are the same function. */
bool emu_same_name(const char *a, const char *b)
{
    const char *end_a = strstr(a, "_v"), *end_b = strstr(b, "_v");
    size_t n_a = end_a ? (size_t) (end_a - a) : strlen(a);
    size_t n_b = end_b ? (size_t) (end_b - b) : strlen(b);

    return n_a == n_b && memcmp(a, b, n_a) == 0;
}

static const char *object_name(void *address)
{
    Dl_info info;
    const char *slash;

    if (address == NULL || dladdr(address, &info) == 0 || info.dli_fname == NULL)
        return "?";
    slash = strrchr(info.dli_fname, '/');
    return slash ? slash + 1 : info.dli_fname;
}

const char *emu_caller(void)
{
    return object_name(call_site);
}

bool emu_is_quiet(void)
{
    return quiet_depth > 0;
}

EMU_EXPORT void emu_quiet(int on)
{
    quiet_depth += on ? 1 : -1;
}

/* The error this call must fail with, or CUDA_SUCCESS. */
static CUresult injection(const char *function, int need)
{
    CUresult res = CUDA_SUCCESS;
    bool by_name;

    if (quiet_depth > 0)
        return CUDA_SUCCESS;

    pthread_mutex_lock(&inject_lock);
    by_name = emu_config.fail_fn != NULL;
    if (by_name ? emu_same_name(function, emu_config.fail_fn) : !(need & EMU_NEED__QUIET)) {
        if (emu_config.fail_from == NULL || strstr(object_name(call_site), emu_config.fail_from)) {
            calls_seen++;
            if (emu_config.fail_at > 0 && calls_seen >= emu_config.fail_at &&
                (emu_config.fail_times == 0 ||
                 calls_seen < emu_config.fail_at + emu_config.fail_times)) {
                calls_failed++;
                res = emu_config.fail_code;
            }
        }
    }
    pthread_mutex_unlock(&inject_lock);
    return res;
}

CUresult emu_enter(const char *function, int need, void *caller)
{
    CUresult res;
    CUcontext ctx;

    call_site = caller;
    call_failure = CUDA_SUCCESS;
    if (!emu_is_quiet())
        emu_count_call(function);

    if (is_dead_child || ((need & EMU_NEED__INIT) && !emu_initialized))
        return CUDA_ERROR_NOT_INITIALIZED;
    if ((need & EMU_NEED__INIT) && emu_in_host_function())
        return CUDA_ERROR_NOT_PERMITTED;

    res = injection(function, need);
    if (res != CUDA_SUCCESS && emu_config.fail_sticky && emu_current())
        emu_break(emu_current(), res);
    if (res != CUDA_SUCCESS && !(need & EMU_NEED__DO_IT))
        return res;
    call_failure = res;

    if ((need & EMU_NEED__SAFE) && emu_capture_forbids())
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;

    if ((need & EMU_NEED__CTX) == EMU_NEED__CTX) {
        ctx = emu_current();
        if (ctx == NULL)
            return CUDA_ERROR_INVALID_CONTEXT;
        if (!ctx->is_alive)
            return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        res = emu_broken(ctx);
        if (res != CUDA_SUCCESS && !(need & EMU_NEED__DO_IT))
            return res;
        if (res != CUDA_SUCCESS)
            call_failure = res;
    }
    return CUDA_SUCCESS;
}

CUresult emu_leave(CUresult res)
{
    CUresult injected = call_failure;

    call_failure = CUDA_SUCCESS;
    return res == CUDA_SUCCESS ? injected : res;
}

EMU_EXPORT void emu_fail_set(const char *function, long nth, int code, long times)
{
    pthread_mutex_lock(&inject_lock);
    emu_config.fail_fn = NULL;
    if (function) {
        snprintf(fail_fn_copy, sizeof(fail_fn_copy), "%s", function);
        emu_config.fail_fn = fail_fn_copy;
    }
    calls_seen = 0;
    calls_failed = 0;
    emu_config.fail_at = nth;
    emu_config.fail_code = code;
    emu_config.fail_times = times;
    pthread_mutex_unlock(&inject_lock);
}

EMU_EXPORT long emu_call_count(void)
{
    long n;

    pthread_mutex_lock(&inject_lock);
    n = calls_seen;
    pthread_mutex_unlock(&inject_lock);
    return n;
}

EMU_EXPORT long emu_failed_count(void)
{
    long n;

    pthread_mutex_lock(&inject_lock);
    n = calls_failed;
    pthread_mutex_unlock(&inject_lock);
    return n;
}

static void fork_child(void)
{
    is_dead_child = emu_initialized;
    emu_initialized = false;
    /* Locks that the parent's threads held would stay locked in the child. */
    pthread_mutex_init(&emu_lock, NULL);
    pthread_mutex_init(&inject_lock, NULL);
}

EMU_EXPORT CUresult CUDAAPI cuInit(unsigned int flags)
{
    EMU_ENTER(EMU_NEED__NOTHING);
    EMU_CHECK(flags == 0, CUDA_ERROR_INVALID_VALUE);
    EMU_CHECK(emu_config.init_error == 0, emu_config.init_error);
    EMU_CHECK(emu_config.nvisible > 0, CUDA_ERROR_NO_DEVICE);

    emu_lock_take();
    if (!emu_initialized) {
        if (!emu_window_init()) {
            emu_lock_give();
            return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
        }
        emu_fault_init();
        pthread_atfork(NULL, NULL, fork_child);
        emu_initialized = true;
    }
    emu_lock_give();
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuDriverGetVersion(int *version)
{
    EMU_ENTER(EMU_NEED__NOTHING | EMU_NEED__QUIET);
    EMU_CHECK(version, CUDA_ERROR_INVALID_VALUE);
    *version = emu_config.version;
    return emu_leave(CUDA_SUCCESS);
}
