/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Shared by the emulated driver's own tests. */

#ifndef SELFTEST_H_INCLUDED
#define SELFTEST_H_INCLUDED

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "emu_control.h"

static int errs;

#define CHECK(cond_)                                                            \
    do {                                                                        \
        if (!(cond_)) {                                                         \
            errs++;                                                             \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #cond_); \
        }                                                                       \
    } while (0)

#define EXPECT(call_, res_)                                                     \
    do {                                                                        \
        CUresult got_ = call_;                                                  \
        if (got_ != (res_)) {                                                   \
            errs++;                                                             \
            fprintf(stderr, "%s:%d: %s gave %d, not %d\n", __FILE__, __LINE__,  \
                    #call_, (int) got_, (int) (res_));                          \
        }                                                                       \
    } while (0)

#define OK(call_) EXPECT(call_, CUDA_SUCCESS)

static inline int child_wait(pid_t pid)
{
    int status;

    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return -1000;
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

/* Run body in a child process that has not used CUDA. Returns its exit status, or minus the signal
 * that killed it. Its output is discarded: some children are expected to fault. */
static inline int child_run(void (*body) (void *), void *arg)
{
    pid_t pid = fork();

    if (pid == 0) {
        if (freopen("/dev/null", "w", stderr) == NULL)
            _exit(3);
        body(arg);
        _exit(errs ? 1 : 0);
    }
    return child_wait(pid);
}

/* Execute this program again as `program mode`, with an environment variable set or (value NULL)
 * unset. Returns as child_run. */
static inline int child_exec(const char *mode, const char *name, const char *value)
{
    pid_t pid = fork();

    if (pid == 0) {
        if (name && value)
            setenv(name, value, 1);
        else if (name)
            unsetenv(name);
        if (freopen("/dev/null", "w", stderr) && freopen("/dev/null", "w", stdout))
            execl("/proc/self/exe", "selftest", mode, (char *) NULL);
        _exit(3);
    }
    return child_wait(pid);
}

static inline CUcontext primary_enter(int device)
{
    CUcontext ctx = NULL;

    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&ctx, device));
    OK(cuCtxSetCurrent(ctx));
    return ctx;
}

static inline int selftest_end(void)
{
    printf("%s\n", errs ? "FAILED" : "passed");
    return errs != 0;
}

#endif /* SELFTEST_H_INCLUDED */
