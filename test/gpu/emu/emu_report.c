/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Reports at process exit: calls counted, objects leaked. Also the names of errors. */

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu.h"
#include "emu_control.h"

#define MAX_FUNCTIONS 256
#define EXIT_LEAKS 66

static struct {
    const char *function;
    long calls;
} counts[MAX_FUNCTIONS];
static int ncounts;
static pthread_mutex_t count_lock = PTHREAD_MUTEX_INITIALIZER;

static FILE *leak_out;          /* NULL: only count */
static const char *leak_kind;   /* NULL: all */
static long leaks;

void emu_count_call(const char *function)
{
    pthread_mutex_lock(&count_lock);
    for (int i = 0; i <= ncounts && i < MAX_FUNCTIONS; i++) {
        /* Each function has one __func__, so comparing addresses is enough. */
        if (i == ncounts)
            counts[ncounts++].function = function;
        if (counts[i].function == function) {
            counts[i].calls++;
            break;
        }
    }
    pthread_mutex_unlock(&count_lock);
}

/* A file name in which %p stands for the process number. */
static FILE *file_open(const char *pattern)
{
    char name[512];
    const char *mark = strstr(pattern, "%p");

    if (strcmp(pattern, "stderr") == 0 || strcmp(pattern, "1") == 0)
        return stderr;
    if (mark)
        snprintf(name, sizeof(name), "%.*s%ld%s", (int) (mark - pattern), pattern,
                 (long) getpid(), mark + 2);
    else
        snprintf(name, sizeof(name), "%s", pattern);
    return fopen(name, "a");
}

void emu_leak(const char *what, const char *caller, const char *detail)
{
    if (leak_kind && strcmp(leak_kind, what) != 0)
        return;
    if (emu_config.leaks_from && strstr(caller, emu_config.leaks_from) == NULL)
        return;
    leaks++;
    if (leak_out)
        fprintf(leak_out, "emulated GPU: pid %ld leaves a %s (%s), made by %s\n",
                (long) getpid(), what, detail, caller);
}

/* Caller holds emu_lock. */
static long leaks_find(const char *kind, FILE * out)
{
    leak_kind = kind;
    leak_out = out;
    leaks = 0;
    emu_range_report();
    emu_reserve_report();
    emu_stream_report();
    emu_event_report();
    emu_module_report();
    emu_graph_report();
    emu_ctx_report();
    return leaks;
}

EMU_EXPORT long emu_live(const char *what)
{
    long n;

    emu_lock_take();
    n = leaks_find(what, NULL);
    emu_lock_give();
    return n;
}

__attribute__((constructor))
static void library_loaded(void)
{
    emu_config_read();
}

__attribute__((destructor))
static void library_ends(void)
{
    long found = 0;
    FILE *out;

    if (emu_config.count_file && (out = file_open(emu_config.count_file)) != NULL) {
        fprintf(out, "emulated GPU: pid %ld, %ld calls by the rules of injection, %ld failed\n",
                (long) getpid(), emu_call_count(), emu_failed_count());
        for (int i = 0; i < ncounts; i++)
            fprintf(out, "%8ld %s\n", counts[i].calls, counts[i].function);
        if (emu_ipc_count("opens") > 0)
            fprintf(out, "emulated GPU: %ld mappings of other processes' memory, at most %ld at "
                    "once\n", emu_ipc_count("opens"), emu_ipc_count("most"));
        if (out != stderr)
            fclose(out);
    }

    if ((emu_config.leaks_file || emu_config.leaks_fatal) && emu_initialized) {
        out = emu_config.leaks_file ? file_open(emu_config.leaks_file) : stderr;
        emu_lock_take();
        found = leaks_find(NULL, out ? out : stderr);
        emu_lock_give();
        if (out && out != stderr)
            fclose(out);
    }
    if (found > 0 && emu_config.leaks_fatal) {
        fflush(NULL);
        _exit(EXIT_LEAKS);
    }
}

static const struct {
    CUresult res;
    const char *name;
    const char *text;
} error_words[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {CUDA_ERROR_STUB_LIBRARY, "CUDA_ERROR_STUB_LIBRARY", "stub library"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_MAP_FAILED, "CUDA_ERROR_MAP_FAILED", "mapping of buffer object failed"},
    {CUDA_ERROR_ALREADY_MAPPED, "CUDA_ERROR_ALREADY_MAPPED", "resource already mapped"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
     "peer access is not supported between these two devices"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "too many resources requested for launch"},
    {CUDA_ERROR_ECC_UNCORRECTABLE, "CUDA_ERROR_ECC_UNCORRECTABLE",
     "uncorrectable ECC error encountered"},
    {CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
     "peer access is already enabled"},
    {CUDA_ERROR_CONTEXT_IS_DESTROYED, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "part or all of the requested memory range is already mapped"},
    {CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
     "pointer does not correspond to a registered memory region"},
    {CUDA_ERROR_MISALIGNED_ADDRESS, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CUDA_ERROR_NOT_PERMITTED, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED",
     "peer access has not been enabled"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CUDA_ERROR_SYSTEM_NOT_READY, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"},
    {CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "system has unsupported display driver / cuda driver combination"},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

void emu_error_text(CUresult res, const char **name, const char **text)
{
    *name = NULL;
    *text = NULL;
    for (size_t i = 0; i < sizeof(error_words) / sizeof(error_words[0]); i++) {
        if (error_words[i].res == res) {
            *name = error_words[i].name;
            *text = error_words[i].text;
        }
    }
}

EMU_EXPORT CUresult CUDAAPI cuGetErrorName(CUresult error, const char **name)
{
    const char *text;

    emu_error_text(error, name, &text);
    return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EMU_EXPORT CUresult CUDAAPI cuGetErrorString(CUresult error, const char **text)
{
    const char *name;

    emu_error_text(error, &name, text);
    return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
