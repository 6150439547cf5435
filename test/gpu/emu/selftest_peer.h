/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Another process for the self-tests of interprocess memory: the same program in mode "serve". It
 * executes commands of one character from standard input and answers on standard output. */

#ifndef SELFTEST_PEER_H_INCLUDED
#define SELFTEST_PEER_H_INCLUDED

#include <fcntl.h>

#include "selftest.h"

#define LAZY CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
#define SZ ((size_t) 100000)
#define FILL 0x3c

/* ---- the other process ---- */

struct peer {
    pid_t pid;
    int to, from;
};

static inline void answer(const void *data, size_t n)
{
    if (write(STDOUT_FILENO, data, n) != (ssize_t) n)
        _exit(4);
}

static inline void serve_one(char command)
{
    static CUdeviceptr own, mapped;
    CUipcMemHandle handle;
    CUresult res = CUDA_SUCCESS;
    unsigned char byte;
    long count;

    switch (command) {
        case 'a':              /* allocate and fill; answer: a handle made from inside */
            OK(cuMemAlloc(&own, SZ));
            OK(cuMemsetD8(own, FILL, SZ));
            OK(cuCtxSynchronize());
            OK(cuIpcGetMemHandle(&handle, own + 777));
            answer(&handle, sizeof(handle));
            break;
        case 'A':              /* address and size of the allocation */
            answer(&own, sizeof(own));
            break;
        case 'r':              /* its byte 5 */
            OK(cuMemcpyDtoH(&byte, own + 5, 1));
            answer(&byte, 1);
            break;
        case 'f':              /* free it */
            res = cuMemFree(own);
            answer(&res, sizeof(res));
            break;
        case 'c':              /* orphaned bytes */
            count = emu_ipc_count("orphaned");
            answer(&count, sizeof(count));
            break;
        case 'x':              /* reset */
            res = cuDevicePrimaryCtxReset(0);
            answer(&res, sizeof(res));
            break;
        case 'o':              /* open the handle that follows */
            if (read(STDIN_FILENO, &handle, sizeof(handle)) != sizeof(handle))
                _exit(5);
            res = cuIpcOpenMemHandle(&mapped, handle, LAZY);
            answer(&res, sizeof(res));
            break;
        case 'w':              /* write a byte of the mapping */
            OK(cuMemsetD8(mapped + 5, 0x77, 1));
            OK(cuCtxSynchronize());
            answer("w", 1);
            break;
    }
}

static inline int serve(int device)
{
    char command;

    primary_enter(device);
    while (read(STDIN_FILENO, &command, 1) == 1)
        serve_one(command);
    return errs != 0;
}

static inline struct peer peer_start(const char *device)
{
    struct peer p;
    int to[2], from[2];

    if (pipe(to) != 0 || pipe(from) != 0)
        exit(1);
    /* Other children must not keep these ends open. */
    fcntl(to[1], F_SETFD, FD_CLOEXEC);
    fcntl(from[0], F_SETFD, FD_CLOEXEC);
    p.pid = fork();
    if (p.pid == 0) {
        unsetenv("CUDA_VISIBLE_DEVICES");
        unsetenv("EMU_IPC");
        unsetenv("EMU_LEAKS_FATAL");
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        close(to[0]);
        close(from[1]);
        execl("/proc/self/exe", "selftest", "serve", device, (char *) NULL);
        _exit(3);
    }
    close(to[0]);
    close(from[1]);
    p.to = to[1];
    p.from = from[0];
    return p;
}

static inline void ask(struct peer *p, char command, void *reply, size_t n)
{
    CHECK(write(p->to, &command, 1) == 1);
    if (read(p->from, reply, n) != (ssize_t) n) {
        CHECK(!"the other process answers");
        exit(1);
    }
}

static inline CUipcMemHandle ask_handle(struct peer *p)
{
    CUipcMemHandle handle;

    ask(p, 'a', &handle, sizeof(handle));
    return handle;
}

static inline CUresult ask_result(struct peer *p, char command)
{
    CUresult res = CUDA_ERROR_UNKNOWN;

    ask(p, command, &res, sizeof(res));
    return res;
}

static inline long ask_orphaned(struct peer *p)
{
    long count = -1;

    ask(p, 'c', &count, sizeof(count));
    return count;
}

static inline CUresult ask_open(struct peer *p, CUipcMemHandle handle)
{
    char message[1 + sizeof(handle)] = "o";
    CUresult res = CUDA_ERROR_UNKNOWN;

    memcpy(message + 1, &handle, sizeof(handle));
    CHECK(write(p->to, message, sizeof(message)) == sizeof(message));
    CHECK(read(p->from, &res, sizeof(res)) == sizeof(res));
    return res;
}

static inline void peer_end(struct peer *p)
{
    close(p->to);
    close(p->from);
    CHECK(child_wait(p->pid) == 0);
}

static inline void peer_kill(struct peer *p)
{
    kill(p->pid, SIGKILL);
    CHECK(child_wait(p->pid) == -SIGKILL);
    close(p->to);
    close(p->from);
}

/* ---- this process ---- */

static inline unsigned char byte_at(CUdeviceptr d)
{
    unsigned char byte = 0;

    OK(cuMemcpyDtoH(&byte, d, 1));
    return byte;
}

static inline long long attribute(CUdeviceptr d, CUpointer_attribute which)
{
    long long value = 0;

    OK(cuPointerGetAttribute(&value, which, d));
    return value;
}

/* Copy n 4-byte elements from src to dst in a kernel of the current context. */
static inline CUresult kernel_copy(CUdeviceptr dst, CUdeviceptr src, unsigned n)
{
    static const unsigned char image[8] = { 0x50, 0xed, 0x55, 0xba };
    struct {
        CUdeviceptr src, dst;
        unsigned n;
    } args = { src, dst, n };
    unsigned add = 0;
    void *params[] = { &args, &add };
    CUmodule module;
    CUfunction f;
    CUresult res;

    OK(cuModuleLoadData(&module, image));
    OK(cuModuleGetFunction(&f, module, "selftest_copy"));
    OK(cuLaunchKernel(f, 2, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
    res = cuCtxSynchronize();
    cuModuleUnload(module);
    return res;
}

#endif /* SELFTEST_PEER_H_INCLUDED */
