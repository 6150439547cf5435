/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* A test's own access to GPUs, without MPI: the CUDA driver by dlopen, so that one program serves
 * the real and the emulated driver and links neither; memory of every kind; copies of bytes in and
 * out. */

#ifndef GPU_H_INCLUDED
#define GPU_H_INCLUDED

#include <stddef.h>

#include <cuda.h>
#include <cudaTypedefs.h>

/* F(name without "cu", version of its prototype, version to ask the driver for) */
#define GPU_FUNCTIONS(F)                                                        \
    F(Init, 2000, 2000)                                                         \
    F(GetErrorName, 6000, 6000)                                                 \
    F(DeviceGetCount, 2000, 2000)                                               \
    F(DeviceGet, 2000, 2000)                                                    \
    F(DeviceGetName, 2000, 2000)                                                \
    F(DeviceGetPCIBusId, 4010, 4010)                                            \
    F(DevicePrimaryCtxRetain, 7000, 7000)                                       \
    F(DevicePrimaryCtxRelease, 11000, 11000)                                    \
    F(DevicePrimaryCtxReset, 11000, 11000)                                      \
    F(CtxCreate, 12050, 13000)                                                  \
    F(CtxDestroy, 4000, 4000)                                                   \
    F(CtxPushCurrent, 4000, 4000)                                               \
    F(CtxPopCurrent, 4000, 4000)                                                \
    F(CtxSetCurrent, 4000, 4000)                                                \
    F(CtxGetCurrent, 4000, 4000)                                                \
    F(CtxSynchronize, 2000, 2000)                                               \
    F(CtxEnablePeerAccess, 4000, 4000)                                          \
    F(CtxDisablePeerAccess, 4000, 4000)                                         \
    F(DeviceCanAccessPeer, 4000, 4000)                                          \
    F(DeviceGetAttribute, 2000, 2000)                                           \
    F(MemGetInfo, 3020, 3020)                                                   \
    F(MemAlloc, 3020, 3020)                                                     \
    F(MemFree, 3020, 3020)                                                      \
    F(MemAllocAsync, 11020, 11020)                                              \
    F(MemFreeAsync, 11020, 11020)                                               \
    F(MemPoolCreate, 11020, 11020)                                              \
    F(MemAllocFromPoolAsync, 11020, 11020)                                      \
    F(MemAllocManaged, 6000, 6000)                                              \
    F(MemHostAlloc, 2020, 2020)                                                 \
    F(MemFreeHost, 2000, 2000)                                                  \
    F(MemHostRegister, 6050, 6050)                                              \
    F(MemHostUnregister, 4000, 4000)                                            \
    F(MemAddressReserve, 10020, 10020)                                          \
    F(MemAddressFree, 10020, 10020)                                             \
    F(MemCreate, 10020, 10020)                                                  \
    F(MemRelease, 10020, 10020)                                                 \
    F(MemMap, 10020, 10020)                                                     \
    F(MemUnmap, 10020, 10020)                                                   \
    F(MemSetAccess, 10020, 10020)                                               \
    F(MemGetAllocationGranularity, 10020, 10020)                                \
    F(PointerGetAttribute, 4000, 4000)                                          \
    F(Memcpy, 4000, 4000)                                                       \
    F(MemcpyAsync, 4000, 4000)                                                  \
    F(Memcpy2DAsync, 3020, 3020)                                                \
    F(MemsetD8, 3020, 3020)                                                     \
    F(MemsetD8Async, 3020, 3020)                                                \
    F(StreamCreate, 2000, 2000)                                                 \
    F(StreamDestroy, 4000, 4000)                                                \
    F(StreamSynchronize, 2000, 2000)                                            \
    F(StreamQuery, 2000, 2000)                                                  \
    F(LaunchHostFunc, 10000, 10000)                                             \
    F(StreamBeginCapture, 10010, 10010)                                         \
    F(StreamEndCapture, 10000, 10000)                                           \
    F(StreamIsCapturing, 10000, 10000)                                          \
    F(ThreadExchangeStreamCaptureMode, 10010, 10010)

/* The driver, and functions of the emulated one; see emu_control.h for those. */
struct gpu_driver {
#define GPU_MEMBER(name_, proto_, ask_) PFN_cu##name_##_v##proto_ name_;
    GPU_FUNCTIONS(GPU_MEMBER)
#undef GPU_MEMBER
    int is_emulated;
    void (*emu_quiet) (int on);
    void (*emu_fail_set) (const char *function, long nth, int code, long times);
    long (*emu_call_count) (void);
    long (*emu_failed_count) (void);
    long (*emu_live) (const char *what);
    long (*emu_ipc_count) (const char *what);
    void *(*emu_peek) (const void *addr, size_t n);
    void (*emu_device_lose) (int device, int code);
};
extern struct gpu_driver gpu;

/* Make a call that must succeed. It is the test's own: no failure is injected and no leak reported.
 * Ends the program on failure: CU(MemAlloc(&addr, n)). */
#define CU(call_)                                                               \
    do {                                                                        \
        gpu_quiet(1);                                                           \
        gpu_judge(gpu.call_, #call_, __FILE__, __LINE__);                       \
        gpu_quiet(0);                                                           \
    } while (0)
void gpu_quiet(int on);
void gpu_judge(CUresult res, const char *call, const char *file, int line);

/* Load the driver and initialise it. No context is current afterwards. Returns the number of
 * devices; 0 and a line on stderr if there is none. */
int gpu_open(void);

/* The primary context of a device, held until the program ends. */
CUcontext gpu_primary(int device);

/* To be called after the program has reset a device: forget the objects that these functions had
 * there. */
void gpu_forget(int device);
/* Enable peer access between devices 0 and 1, in their primary contexts, if possible; that is up to
 * the program, not MPI. Returns 1 if access is possible. */
int gpu_peers_enable(void);

/* Make the primary context of device 0 current, as in a program with the runtime library. */
void gpu_set_current(int device);
/* The current context, or NULL. */
CUcontext gpu_get_current(void);

/* Make a stream that the default stream waits for, and that does not go on until it is released: that waits for its
 * end and destroys it. One at a time. */
CUstream gpu_stream_hold(void);
void gpu_stream_release(CUstream stream);

/* Kinds of memory a buffer may be in. */
enum mem_kind {
    MEM__PAGEABLE,
    MEM__PINNED,                /* allocated by the driver */
    MEM__REGISTERED,            /* pageable memory that was registered */
    MEM__DEVICE,                /* device 0, its primary context */
    MEM__OTHER_DEVICE,          /* device 1 */
    MEM__OTHER_CTX,             /* device 0, a context made by the driver's interface */
    MEM__MANAGED,
    MEM__POOL,                  /* device 0, stream-ordered allocation */
    MEM__SHARED_POOL,           /* the same, of a pool that other processes may import */
    MEM__MAPPED,                /* device 0, mapped virtual range */
    MEM__SHAREABLE,             /* likewise, created to be shared by a file descriptor */
    MEM__NKINDS
};

const char *mem_name(enum mem_kind kind);
/* The kind of a name, or MEM__NKINDS. */
enum mem_kind mem_named(const char *name);
/* Whether the GPU, and not the CPU, has to move data of this kind. */
int mem_is_gpu(enum mem_kind kind);
/* Whether this machine has memory of the kind; 0 if the device is missing. */
int mem_exists(enum mem_kind kind);
/* Treat this machine as having no memory of that kind from now on. */
void mem_without(enum mem_kind kind);

struct mem {
    enum mem_kind kind;
    char *addr;
    size_t sz;                  /* bytes; a multiple of the kind's page size */
    CUcontext ctx;              /* owner; NULL: pageable memory */
    char *cpu;                  /* address by which the CPU can access it, or NULL */
    CUmemGenericAllocationHandle handle;        /* MEM__MAPPED */
};

/* Get at least sz bytes of a kind. Ends the program if there is no memory. */
void mem_alloc(struct mem *mem, enum mem_kind kind, size_t sz);
void mem_free(struct mem *mem);
/* Copy n bytes in or out; complete when the call returns. */
void mem_write(const struct mem *mem, size_t off, const void *from, size_t n);
void mem_read(const struct mem *mem, size_t off, void *to, size_t n);

#endif /* GPU_H_INCLUDED */
