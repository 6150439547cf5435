/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Shared by the tests of the driver loader. They are linked with the library's objects and with no
 * CUDA library: a test loads the driver as an application would. */

#ifndef DRIVER_TEST_H_INCLUDED
#define DRIVER_TEST_H_INCLUDED

#include "mpiimpl.h"
#include "driver/gpudt_ctx.h"
#include "driver/gpudt_ptr.h"
#include "emu_control.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int errs;

#define CHECK(cond_)                                                            \
    do {                                                                        \
        if (!(cond_)) {                                                         \
            errs++;                                                             \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #cond_); \
        }                                                                       \
    } while (0)

#define OK(call_)                                                               \
    do {                                                                        \
        int got_ = (int) (call_);                                               \
        if (got_ != 0) {                                                        \
            errs++;                                                             \
            fprintf(stderr, "%s:%d: %s gave %d\n", __FILE__, __LINE__, #call_, got_); \
        }                                                                       \
    } while (0)

/* Whether the library classifies an address as GPU memory; -1: it cannot tell. */
static inline int is_gpu(const void *addr)
{
    MPIR_Gpudt_ptr_t ptr;

    if (MPIR_Gpudt_query_ptr(addr, &ptr) != MPI_SUCCESS)
        return -1;
    return ptr.mem == MPIR_GPUDT_MEM__DEVICE || ptr.mem == MPIR_GPUDT_MEM__MANAGED;
}

/* The application's own access to the driver: APP(cuMemAlloc) (&d, n). */
static void *app_library;

static inline void app_load(void)
{
    app_library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (app_library == NULL) {
        fprintf(stderr, "this test needs a driver: %s\n", dlerror());
        exit(1);
    }
}

static inline void *app_symbol(const char *name)
{
    void *symbol = dlsym(app_library, name);

    if (symbol == NULL) {
        fprintf(stderr, "the driver has no %s\n", name);
        exit(1);
    }
    return symbol;
}

#define APP(function_) APP_EXPANDED(function_)
#define APP_EXPANDED(function_) ((__typeof__(&function_)) app_symbol(#function_))

/* The emulated driver's control functions; for tests that run with it only. */
#define EMU(function_) ((__typeof__(&function_)) app_symbol(#function_))

static inline CUcontext app_primary(int device)
{
    CUcontext ctx = NULL;

    OK(APP(cuInit) (0));
    OK(APP(cuDevicePrimaryCtxRetain) (&ctx, device));
    OK(APP(cuCtxSetCurrent) (ctx));
    return ctx;
}

static inline int process_has_libcuda(void)
{
    char line[1024];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");

    while (maps && fgets(line, sizeof(line), maps))
        found |= strstr(line, "libcuda.so") != NULL;
    if (maps)
        fclose(maps);
    return found;
}

static inline int child_wait(pid_t pid)
{
    int status;

    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return -1000;
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

/* Execute this program again as `program mode arg`, with one environment variable set or (value
 * NULL) unset. Returns its exit status, or minus the signal that killed it. */
static inline int child_exec(const char *mode, const char *arg, const char *name, const char *value)
{
    pid_t pid = fork();

    if (pid == 0) {
        if (name && value)
            setenv(name, value, 1);
        else if (name)
            unsetenv(name);
        execl("/proc/self/exe", "test", mode, arg, (char *) NULL);
        _exit(3);
    }
    return child_wait(pid);
}

static inline double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e9 + (double) t.tv_nsec;
}

/* Check that the text of an MPI error contains all three. */
static inline void check_error(int mpi_errno, int errclass, const char *call, const char *name)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int len, got;

    CHECK(mpi_errno != MPI_SUCCESS);
    if (mpi_errno == MPI_SUCCESS)
        return;
    MPI_Error_class(mpi_errno, &got);
    MPI_Error_string(mpi_errno, text, &len);
    if (got != errclass || !strstr(text, call) || !strstr(text, name)) {
        errs++;
        fprintf(stderr, "error of class %d says: %s\n", got, text);
    }
}

static inline int test_end(void)
{
    if (errs)
        printf(" Found %d errors\n", errs);
    else
        printf(" No Errors\n");
    return errs != 0;
}

#endif /* DRIVER_TEST_H_INCLUDED */
