/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The CUDA runtime's calls that test programs make, on top of the emulated driver. They are the
 * test's own calls: not counted, never made to fail, and not reported as leaks. Error numbers of
 * the runtime equal those of the driver. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "emu_control.h"

#define EXPORT __attribute__((visibility("default")))

static __thread cudaError_t last_error;
static __thread int wanted_device;

static cudaError_t note(CUresult res)
{
    emu_quiet(0);
    /* "Not ready" is a result and not stored as an error. */
    if (res != CUDA_SUCCESS && res != CUDA_ERROR_NOT_READY)
        last_error = (cudaError_t) res;
    return (cudaError_t) res;
}

/* The runtime's context of a device; retained once and until the process exits. */
static CUresult primary_use(int device)
{
    static CUcontext kept[64];
    int active = 0;
    unsigned flags;
    CUresult res = cuDevicePrimaryCtxGetState(device, &flags, &active);

    if (res == CUDA_SUCCESS && (kept[device] == NULL || !active))
        res = cuDevicePrimaryCtxRetain(&kept[device], device);
    return res == CUDA_SUCCESS ? cuCtxSetCurrent(kept[device]) : res;
}

/* Start of every call: initialises the driver and makes a context current. */
static CUresult ready(void)
{
    CUcontext current = NULL;
    CUresult res;

    emu_quiet(1);
    res = cuInit(0);
    if (res == CUDA_SUCCESS)
        res = cuCtxGetCurrent(&current);
    if (res == CUDA_SUCCESS && current == NULL)
        res = primary_use(wanted_device);
    return res;
}

/* Make driver call call_ in that state and return its result as the runtime's. */
#define RETURN(call_)                                                           \
    do {                                                                        \
        CUresult res_ = ready();                                                \
        if (res_ == CUDA_SUCCESS)                                               \
            res_ = call_;                                                       \
        return note(res_);                                                      \
    } while (0)

/* ---- devices and errors ---- */

EXPORT cudaError_t CUDARTAPI cudaGetDeviceCount(int *count)
{
    CUresult res;

    emu_quiet(1);
    *count = 0;
    res = cuInit(0);
    if (res == CUDA_SUCCESS)
        res = cuDeviceGetCount(count);
    return note(res);
}

EXPORT cudaError_t CUDARTAPI cudaSetDevice(int device)
{
    CUresult res;
    CUdevice handle;

    emu_quiet(1);
    res = cuInit(0);
    if (res == CUDA_SUCCESS)
        res = cuDeviceGet(&handle, device);
    if (res == CUDA_SUCCESS)
        res = primary_use(device);
    if (res == CUDA_SUCCESS)
        wanted_device = device;
    return note(res);
}

EXPORT cudaError_t CUDARTAPI cudaGetDevice(int *device)
{
    CUcontext current = NULL;
    CUresult res;

    emu_quiet(1);
    *device = wanted_device;
    res = cuInit(0);
    if (res == CUDA_SUCCESS)
        res = cuCtxGetCurrent(&current);
    if (res == CUDA_SUCCESS && current)
        res = cuCtxGetDevice(device);
    return note(res);
}

EXPORT cudaError_t CUDARTAPI cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute,
                                                    int device)
{
    RETURN(cuDeviceGetAttribute(value, (CUdevice_attribute) attribute, device));
}

EXPORT cudaError_t CUDARTAPI cudaDeviceSynchronize(void)
{
    RETURN(cuCtxSynchronize());
}

EXPORT cudaError_t CUDARTAPI cudaDeviceReset(void)
{
    RETURN(cuDevicePrimaryCtxReset(wanted_device));
}

EXPORT cudaError_t CUDARTAPI cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    RETURN(cuDeviceCanAccessPeer(can, device, peer));
}

/* Calls the driver with the runtime's context of a device. */
static CUresult with_primary(int device, CUresult(*call) (CUcontext context))
{
    CUcontext current, primary = NULL;
    CUresult res = cuCtxGetCurrent(&current);

    if (res == CUDA_SUCCESS)
        res = primary_use(device);
    if (res == CUDA_SUCCESS)
        res = cuCtxGetCurrent(&primary);
    if (res == CUDA_SUCCESS)
        res = cuCtxSetCurrent(current);
    return res == CUDA_SUCCESS ? call(primary) : res;
}

static CUresult peer_enable(CUcontext peer)
{
    return cuCtxEnablePeerAccess(peer, 0);
}

EXPORT cudaError_t CUDARTAPI cudaDeviceEnablePeerAccess(int peer, unsigned int flags)
{
    RETURN(flags ? CUDA_ERROR_INVALID_VALUE : with_primary(peer, peer_enable));
}

EXPORT cudaError_t CUDARTAPI cudaDeviceDisablePeerAccess(int peer)
{
    RETURN(with_primary(peer, cuCtxDisablePeerAccess));
}

EXPORT cudaError_t CUDARTAPI cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

EXPORT cudaError_t CUDARTAPI cudaDriverGetVersion(int *version)
{
    emu_quiet(1);
    return note(cuDriverGetVersion(version));
}

EXPORT cudaError_t CUDARTAPI cudaGetLastError(void)
{
    cudaError_t error = last_error;

    last_error = cudaSuccess;
    return error;
}

EXPORT cudaError_t CUDARTAPI cudaPeekAtLastError(void)
{
    return last_error;
}

EXPORT const char *CUDARTAPI cudaGetErrorName(cudaError_t error)
{
    const char *name;

    return cuGetErrorName((CUresult) error, &name) == CUDA_SUCCESS ? name : "unrecognized error";
}

EXPORT const char *CUDARTAPI cudaGetErrorString(cudaError_t error)
{
    const char *text;

    return cuGetErrorString((CUresult) error, &text) == CUDA_SUCCESS ? text : "unrecognized error";
}

/* ---- memory ---- */

EXPORT cudaError_t CUDARTAPI cudaMalloc(void **addr, size_t size)
{
    *addr = NULL;
    RETURN(size == 0 ? CUDA_SUCCESS : cuMemAlloc((CUdeviceptr *) addr, size));
}

EXPORT cudaError_t CUDARTAPI cudaFree(void *addr)
{
    RETURN(cuMemFree((CUdeviceptr) addr));
}

EXPORT cudaError_t CUDARTAPI cudaMallocManaged(void **addr, size_t size, unsigned int flags)
{
    RETURN(cuMemAllocManaged((CUdeviceptr *) addr, size, flags));
}

EXPORT cudaError_t CUDARTAPI cudaMallocHost(void **addr, size_t size)
{
    RETURN(cuMemAllocHost(addr, size));
}

EXPORT cudaError_t CUDARTAPI cudaHostAlloc(void **addr, size_t size, unsigned int flags)
{
    RETURN(cuMemHostAlloc(addr, size, flags));
}

EXPORT cudaError_t CUDARTAPI cudaFreeHost(void *addr)
{
    RETURN(addr == NULL ? CUDA_SUCCESS : cuMemFreeHost(addr));
}

EXPORT cudaError_t CUDARTAPI cudaHostRegister(void *addr, size_t size, unsigned int flags)
{
    RETURN(cuMemHostRegister(addr, size, flags));
}

EXPORT cudaError_t CUDARTAPI cudaHostUnregister(void *addr)
{
    RETURN(cuMemHostUnregister(addr));
}

EXPORT cudaError_t CUDARTAPI cudaHostGetDevicePointer(void **device_addr, void *addr,
                                                      unsigned int flags)
{
    RETURN(cuMemHostGetDevicePointer((CUdeviceptr *) device_addr, addr, flags));
}

EXPORT cudaError_t CUDARTAPI cudaMallocAsync(void **addr, size_t size, cudaStream_t stream)
{
    RETURN(cuMemAllocAsync((CUdeviceptr *) addr, size, stream));
}

EXPORT cudaError_t CUDARTAPI cudaFreeAsync(void *addr, cudaStream_t stream)
{
    RETURN(cuMemFreeAsync((CUdeviceptr) addr, stream));
}

EXPORT cudaError_t CUDARTAPI cudaMemGetInfo(size_t * free_sz, size_t * total_sz)
{
    RETURN(cuMemGetInfo(free_sz, total_sz));
}

EXPORT cudaError_t CUDARTAPI cudaMemcpy(void *dst, const void *src, size_t n,
                                        enum cudaMemcpyKind kind)
{
    (void) kind;
    RETURN(cuMemcpy((CUdeviceptr) dst, (CUdeviceptr) src, n));
}

EXPORT cudaError_t CUDARTAPI cudaMemcpyAsync(void *dst, const void *src, size_t n,
                                             enum cudaMemcpyKind kind, cudaStream_t stream)
{
    (void) kind;
    RETURN(cuMemcpyAsync((CUdeviceptr) dst, (CUdeviceptr) src, n, stream));
}

EXPORT cudaError_t CUDARTAPI cudaMemcpy2DAsync(void *dst, size_t dst_pitch, const void *src,
                                               size_t src_pitch, size_t width, size_t height,
                                               enum cudaMemcpyKind kind, cudaStream_t stream)
{
    CUDA_MEMCPY2D box = {
        .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
        .srcDevice = (CUdeviceptr) src,
        .srcPitch = src_pitch,
        .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
        .dstDevice = (CUdeviceptr) dst,
        .dstPitch = dst_pitch,
        .WidthInBytes = width,
        .Height = height
    };
    (void) kind;
    RETURN(cuMemcpy2DAsync(&box, stream));
}

EXPORT cudaError_t CUDARTAPI cudaMemset(void *addr, int value, size_t n)
{
    RETURN(cuMemsetD8((CUdeviceptr) addr, (unsigned char) value, n));
}

EXPORT cudaError_t CUDARTAPI cudaMemsetAsync(void *addr, int value, size_t n, cudaStream_t stream)
{
    RETURN(cuMemsetD8Async((CUdeviceptr) addr, (unsigned char) value, n, stream));
}

static CUresult pointer_attributes(struct cudaPointerAttributes *attributes, const void *addr)
{
    int is_managed = 0, device = -1;
    CUmemorytype type = 0;
    CUpointer_attribute names[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    };
    void *values[] = { &type, &is_managed, &device };
    CUresult res = cuPointerGetAttributes(3, names, values, (CUdeviceptr) addr);

    attributes->type = is_managed ? cudaMemoryTypeManaged :
        type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice :
        type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost : cudaMemoryTypeUnregistered;
    attributes->device = device;
    attributes->devicePointer = type == 0 ? NULL : (void *) addr;
    attributes->hostPointer = type == CU_MEMORYTYPE_DEVICE && !is_managed ? NULL : (void *) addr;
    return res;
}

EXPORT cudaError_t CUDARTAPI cudaPointerGetAttributes(struct cudaPointerAttributes *attributes,
                                                      const void *addr)
{
    RETURN(pointer_attributes(attributes, addr));
}

/* ---- streams and events ---- */

EXPORT cudaError_t CUDARTAPI cudaStreamCreate(cudaStream_t * stream)
{
    RETURN(cuStreamCreate(stream, CU_STREAM_DEFAULT));
}

EXPORT cudaError_t CUDARTAPI cudaStreamCreateWithFlags(cudaStream_t * stream, unsigned int flags)
{
    RETURN(cuStreamCreate(stream, flags));
}

EXPORT cudaError_t CUDARTAPI cudaStreamCreateWithPriority(cudaStream_t * stream,
                                                          unsigned int flags, int priority)
{
    RETURN(cuStreamCreateWithPriority(stream, flags, priority));
}

EXPORT cudaError_t CUDARTAPI cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    RETURN(cuCtxGetStreamPriorityRange(least, greatest));
}

EXPORT cudaError_t CUDARTAPI cudaStreamDestroy(cudaStream_t stream)
{
    RETURN(cuStreamDestroy(stream));
}

EXPORT cudaError_t CUDARTAPI cudaStreamSynchronize(cudaStream_t stream)
{
    RETURN(cuStreamSynchronize(stream));
}

EXPORT cudaError_t CUDARTAPI cudaStreamQuery(cudaStream_t stream)
{
    RETURN(cuStreamQuery(stream));
}

EXPORT cudaError_t CUDARTAPI cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                                 unsigned int flags)
{
    RETURN(cuStreamWaitEvent(stream, event, flags));
}

EXPORT cudaError_t CUDARTAPI cudaStreamBeginCapture(cudaStream_t stream,
                                                    enum cudaStreamCaptureMode mode)
{
    RETURN(cuStreamBeginCapture(stream, (CUstreamCaptureMode) mode));
}

EXPORT cudaError_t CUDARTAPI cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t * graph)
{
    RETURN(cuStreamEndCapture(stream, graph));
}

EXPORT cudaError_t CUDARTAPI cudaEventCreate(cudaEvent_t * event)
{
    RETURN(cuEventCreate(event, CU_EVENT_DEFAULT));
}

EXPORT cudaError_t CUDARTAPI cudaEventCreateWithFlags(cudaEvent_t * event, unsigned int flags)
{
    RETURN(cuEventCreate(event, flags));
}

EXPORT cudaError_t CUDARTAPI cudaEventQuery(cudaEvent_t event)
{
    RETURN(cuEventQuery(event));
}

EXPORT cudaError_t CUDARTAPI cudaEventDestroy(cudaEvent_t event)
{
    RETURN(cuEventDestroy(event));
}

EXPORT cudaError_t CUDARTAPI cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    RETURN(cuEventRecord(event, stream));
}

EXPORT cudaError_t CUDARTAPI cudaEventSynchronize(cudaEvent_t event)
{
    RETURN(cuEventSynchronize(event));
}

/* ---- kernels ---- */

/* The runtime identifies a program's kernel by its address. EMU_KERNEL has exported the function
 * that runs it under a name derived from the kernel's. The program exports both, as it is linked
 * with -rdynamic. */
static const struct emu_kernel *kernel_of(const void *function)
{
    char symbol[256];
    Dl_info info;

    if (!dladdr(function, &info) || info.dli_sname == NULL || info.dli_saddr != function)
        return NULL;
    snprintf(symbol, sizeof(symbol), "emu_kernel_%s", info.dli_sname);
    return dlsym(RTLD_DEFAULT, symbol);
}

static CUresult kernel_launch(const void *function, dim3 grid, dim3 block, size_t shared_sz,
                              cudaStream_t stream, void **params)
{
    const struct emu_kernel *kernel = kernel_of(function);

    if (kernel == NULL)
        return (CUresult) cudaErrorInvalidDeviceFunction;
    return emu_kernel_launch(kernel, (unsigned[]) {grid.x, grid.y, grid.z},
                             (unsigned[]) {block.x, block.y, block.z}, shared_sz, stream, params);
}

EXPORT cudaError_t CUDARTAPI cudaLaunchKernel(const void *function, dim3 grid, dim3 block,
                                              void **params, size_t shared_sz, cudaStream_t stream)
{
    RETURN(kernel_launch(function, grid, block, shared_sz, stream, params));
}
