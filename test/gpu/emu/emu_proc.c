/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Symbol look-up in the emulated driver, and functions that abort for look-ups without a
 * version. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu.h"
#include "emu_graph.h"

/* name without "cu", version that introduced its present prototype */
#define FUNCTIONS(F)                                                            \
    F(Init, 2000) F(DriverGetVersion, 2020) F(GetErrorName, 6000)               \
    F(GetErrorString, 6000) F(GetProcAddress, 12000)                            \
    F(DeviceGetCount, 2000) F(DeviceGet, 2000) F(DeviceGetName, 2000)           \
    F(DeviceGetUuid, 11040) F(DeviceTotalMem, 3020) F(DeviceGetPCIBusId, 4010)  \
    F(DeviceGetAttribute, 2000) F(DeviceCanAccessPeer, 4000)                    \
    F(DeviceGetP2PAttribute, 8000)                                              \
    F(DevicePrimaryCtxRetain, 7000) F(DevicePrimaryCtxRelease, 11000)           \
    F(DevicePrimaryCtxReset, 11000) F(DevicePrimaryCtxGetState, 7000)           \
    F(CtxCreate, 13000) F(CtxDestroy, 4000) F(CtxPushCurrent, 4000)             \
    F(CtxPopCurrent, 4000) F(CtxSetCurrent, 4000) F(CtxGetCurrent, 4000)        \
    F(CtxGetDevice, 2000) F(CtxGetId, 12000) F(CtxSynchronize, 2000)            \
    F(CtxGetFlags, 7000) F(CtxSetFlags, 12010)                                  \
    F(CtxGetStreamPriorityRange, 5050) F(CtxEnablePeerAccess, 4000)             \
    F(CtxDisablePeerAccess, 4000)                                               \
    F(ThreadExchangeStreamCaptureMode, 10010) F(StreamBeginCapture, 10010)      \
    F(StreamEndCapture, 10000) F(StreamIsCapturing, 10000)                      \
    F(ModuleLoadData, 2000) F(ModuleLoadDataEx, 2010) F(ModuleUnload, 2000)     \
    F(ModuleGetFunction, 2000) F(FuncSetAttribute, 9000) F(LaunchHostFunc, 10000) \
    F(FuncGetAttribute, 2020) F(LaunchKernel, 4000)                             \
    F(GraphCreate, 10000) F(GraphAddKernelNode, 10000) F(GraphDestroy, 10000)   \
    F(GraphKernelNodeSetAttribute, 11000) F(GraphInstantiateWithFlags, 11040)   \
    F(GraphExecKernelNodeSetParams, 10010) F(GraphExecDestroy, 10000)           \
    F(GraphLaunch, 10000)                                                       \
    F(OccupancyMaxActiveBlocksPerMultiprocessor, 6050)                          \
    F(MemGetInfo, 3020) F(MemAlloc, 3020) F(MemFree, 3020)                      \
    F(MemAllocAsync, 11020) F(MemFreeAsync, 11020) F(MemAllocManaged, 6000)     \
    F(MemGetAddressRange, 3020) F(MemHostAlloc, 2020) F(MemAllocHost, 3020)     \
    F(MemFreeHost, 2000) F(MemHostRegister, 6050) F(MemHostUnregister, 4000)    \
    F(MemHostGetDevicePointer, 3020)                                            \
    F(MemAddressReserve, 10020) F(MemAddressFree, 10020) F(MemCreate, 10020)    \
    F(MemRelease, 10020) F(MemMap, 10020) F(MemUnmap, 10020)                    \
    F(MemSetAccess, 10020) F(MemGetAccess, 10020)                               \
    F(MemGetAllocationGranularity, 10020) F(MemExportToShareableHandle, 10020)  \
    F(MemImportFromShareableHandle, 10020) F(MemRetainAllocationHandle, 11000)  \
    F(MemGetAllocationPropertiesFromHandle, 10020)                              \
    F(MemPoolCreate, 11020) F(MemPoolDestroy, 11020) F(MemAllocFromPoolAsync, 11020) \
    F(MemPoolExportToShareableHandle, 11020) F(MemPoolExportPointer, 11020)     \
    F(MemPoolImportFromShareableHandle, 11020) F(MemPoolImportPointer, 11020)   \
    F(MemPoolSetAccess, 11020)                                                  \
    F(IpcGetMemHandle, 4010) F(IpcOpenMemHandle, 11000) F(IpcCloseMemHandle, 4010) \
    F(PointerGetAttribute, 4000) F(PointerGetAttributes, 7000)                  \
    F(PointerSetAttribute, 6000)                                                \
    F(Memcpy, 4000) F(MemcpyHtoD, 3020) F(MemcpyDtoH, 3020) F(MemcpyDtoD, 3020) \
    F(MemcpyAsync, 4000) F(MemcpyHtoDAsync, 3020) F(MemcpyDtoHAsync, 3020)      \
    F(MemcpyDtoDAsync, 3020) F(MemcpyPeerAsync, 4000) F(Memcpy2DAsync, 3020)    \
    F(Memcpy3DAsync, 3020) F(MemsetD8, 3020) F(MemsetD8Async, 3020)             \
    F(StreamCreate, 2000) F(StreamCreateWithPriority, 5050)                     \
    F(StreamDestroy, 4000) F(StreamSynchronize, 2000) F(StreamQuery, 2000)      \
    F(StreamWaitEvent, 3020)                                                    \
    F(EventCreate, 2000) F(EventDestroy, 4000)                                  \
    F(EventRecord, 2000) F(EventQuery, 2000) F(EventSynchronize, 2000)          \
    F(EventElapsedTime, 12080)

#define ROW(name_, version_) { "cu" #name_, version_, (void (*)(void)) cu##name_ },
static const struct {
    const char *name;
    int version;
    void (*function) (void);
} functions[] = {
    FUNCTIONS(ROW)
};

static bool is_hidden(const char *name)
{
    const char *at = emu_config.hide;
    size_t n = strlen(name);

    while (at && (at = strstr(at, name)) != NULL) {
        if ((at == emu_config.hide || at[-1] == ',') && (at[n] == ',' || at[n] == '\0'))
            return true;
        at += n;
    }
    return false;
}

EMU_EXPORT CUresult CUDAAPI cuGetProcAddress(const char *name, void **function, int version,
                                             cuuint64_t flags,
                                             CUdriverProcAddressQueryResult * status)
{
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;

    EMU_ENTER(EMU_NEED__NOTHING | EMU_NEED__QUIET);
    EMU_CHECK(name && function && !(flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM),
              CUDA_ERROR_INVALID_VALUE);
    *function = NULL;
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        if (strcmp(functions[i].name, name) != 0 || is_hidden(name))
            continue;
        found = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
        if (version >= functions[i].version) {
            found = CU_GET_PROC_ADDRESS_SUCCESS;
            memcpy(function, &functions[i].function, sizeof(*function));
        }
    }
    if (status)
        *status = found;
    return emu_leave(*function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND);
}

/* In a real driver these names have the prototypes of CUDA 2: 32-bit sizes and addresses. A program
 * that calls one has looked it up by its unversioned name. */
#define TRAPS(T)                                                                \
    T(cuMemAlloc) T(cuMemFree) T(cuMemGetAddressRange) T(cuMemHostGetDevicePointer) \
    T(cuMemHostRegister) T(cuMemcpyHtoD) T(cuMemcpyDtoH) T(cuMemcpyDtoD)        \
    T(cuMemcpyHtoDAsync) T(cuMemcpyDtoHAsync) T(cuMemcpyDtoDAsync)              \
    T(cuMemcpy2DAsync) T(cuMemcpy3DAsync) T(cuMemGetInfo) T(cuDeviceTotalMem)   \
    T(cuCtxPushCurrent) T(cuCtxPopCurrent) T(cuCtxDestroy) T(cuStreamDestroy)   \
    T(cuEventDestroy) T(cuDevicePrimaryCtxRelease) T(cuGetProcAddress)          \
    T(cuIpcOpenMemHandle)

#define TRAP(name_)                                                             \
    EMU_EXPORT void trap_##name_(void) __asm__(#name_);                         \
    void trap_##name_(void)                                                     \
    {                                                                           \
        fputs("emulated GPU: the obsolete " #name_ " was called\n", stderr);    \
        abort();                                                                \
    }
#undef cuMemAlloc
#undef cuMemFree
#undef cuMemGetAddressRange
#undef cuMemHostGetDevicePointer
#undef cuMemHostRegister
#undef cuMemcpyHtoD
#undef cuMemcpyDtoH
#undef cuMemcpyDtoD
#undef cuMemcpyHtoDAsync
#undef cuMemcpyDtoHAsync
#undef cuMemcpyDtoDAsync
#undef cuMemcpy2DAsync
#undef cuMemcpy3DAsync
#undef cuMemGetInfo
#undef cuDeviceTotalMem
#undef cuCtxPushCurrent
#undef cuCtxPopCurrent
#undef cuCtxDestroy
#undef cuStreamDestroy
#undef cuEventDestroy
#undef cuDevicePrimaryCtxRelease
#undef cuGetProcAddress
#undef cuIpcOpenMemHandle
TRAPS(TRAP)
