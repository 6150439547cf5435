/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The table of CUDA driver functions, and the only function that interprets a CUresult. Knows
 * nothing of datatypes, messages or kernels. Included only if configure found CUDA
 * (MPIR_GPUDT_HAVE_CUDA): no other header includes cuda.h. */

#ifndef GPUDT_DRIVER_H_INCLUDED
#define GPUDT_DRIVER_H_INCLUDED

#include "mpiimpl.h"
#include "gpudt_info.h"

#include <cuda.h>
#include <cudaTypedefs.h>

/* Every driver function the library may call, as F(name without "cu", version of its prototype, its
 * name in the library). cuGetProcAddress is called with the version. The name is for drivers
 * without cuGetProcAddress. An unversioned name such as "cuMemFree" would give the prototype of
 * CUDA 2, and the newest version may have other parameters than in cuda.h. */
#define MPII_GPUDT_DRIVER_REQUIRED(F)                                               \
    F(Init, 2000, "cuInit")                                                         \
    F(DriverGetVersion, 2020, "cuDriverGetVersion")                                 \
    F(GetErrorName, 6000, "cuGetErrorName")                                         \
    F(GetErrorString, 6000, "cuGetErrorString")                                     \
    F(DeviceGetCount, 2000, "cuDeviceGetCount")                                     \
    F(DeviceGet, 2000, "cuDeviceGet")                                               \
    F(DeviceGetAttribute, 2000, "cuDeviceGetAttribute")                             \
    F(DeviceGetPCIBusId, 4010, "cuDeviceGetPCIBusId")                               \
    F(DevicePrimaryCtxRetain, 7000, "cuDevicePrimaryCtxRetain")                     \
    F(DevicePrimaryCtxRelease, 11000, "cuDevicePrimaryCtxRelease_v2")               \
    F(CtxGetCurrent, 4000, "cuCtxGetCurrent")                                       \
    F(CtxPushCurrent, 4000, "cuCtxPushCurrent_v2")                                  \
    F(CtxPopCurrent, 4000, "cuCtxPopCurrent_v2")                                    \
    F(CtxGetDevice, 2000, "cuCtxGetDevice")                                         \
    F(CtxEnablePeerAccess, 4000, "cuCtxEnablePeerAccess")                           \
    F(CtxDisablePeerAccess, 4000, "cuCtxDisablePeerAccess")                         \
    F(CtxGetStreamPriorityRange, 5050, "cuCtxGetStreamPriorityRange")               \
    F(ThreadExchangeStreamCaptureMode, 10010, "cuThreadExchangeStreamCaptureMode")  \
    F(ModuleLoadData, 2000, "cuModuleLoadData")                                     \
    F(ModuleUnload, 2000, "cuModuleUnload")                                         \
    F(ModuleGetFunction, 2000, "cuModuleGetFunction")                               \
    F(LaunchKernel, 4000, "cuLaunchKernel")                                         \
    F(MemAlloc, 3020, "cuMemAlloc_v2")                                              \
    F(MemAllocManaged, 6000, "cuMemAllocManaged")                                   \
    F(MemFree, 3020, "cuMemFree_v2")                                                \
    F(MemHostAlloc, 2020, "cuMemHostAlloc")                                         \
    F(MemFreeHost, 2000, "cuMemFreeHost")                                           \
    F(MemHostGetDevicePointer, 3020, "cuMemHostGetDevicePointer_v2")                \
    F(MemHostRegister, 6050, "cuMemHostRegister_v2")                                \
    F(MemHostUnregister, 4000, "cuMemHostUnregister")                               \
    F(MemcpyAsync, 4000, "cuMemcpyAsync")                                           \
    F(MemcpyHtoDAsync, 3020, "cuMemcpyHtoDAsync_v2")                                \
    F(Memcpy2DAsync, 3020, "cuMemcpy2DAsync_v2")                                    \
    F(Memcpy3DAsync, 3020, "cuMemcpy3DAsync_v2")                                    \
    F(PointerGetAttribute, 4000, "cuPointerGetAttribute")                           \
    F(PointerGetAttributes, 7000, "cuPointerGetAttributes")                         \
    F(PointerSetAttribute, 6000, "cuPointerSetAttribute")                           \
    F(StreamCreateWithPriority, 5050, "cuStreamCreateWithPriority")                 \
    F(StreamDestroy, 4000, "cuStreamDestroy_v2")                                    \
    F(StreamQuery, 2000, "cuStreamQuery")                                           \
    F(StreamIsCapturing, 10000, "cuStreamIsCapturing")                              \
    F(StreamSynchronize, 2000, "cuStreamSynchronize")                               \
    F(StreamWaitEvent, 3020, "cuStreamWaitEvent")                                   \
    F(EventCreate, 2000, "cuEventCreate")                                           \
    F(EventDestroy, 4000, "cuEventDestroy_v2")                                      \
    F(EventRecord, 2000, "cuEventRecord")                                           \
    F(EventQuery, 2000, "cuEventQuery")                                             \
    F(EventSynchronize, 2000, "cuEventSynchronize")

/* May be NULL in the table: check before the call. */
#define MPII_GPUDT_DRIVER_OPTIONAL(F)                                               \
    F(DeviceGetUuid, 11040, "cuDeviceGetUuid_v2")                                   \
    F(DeviceGetP2PAttribute, 8000, "cuDeviceGetP2PAttribute")                       \
    F(FuncSetAttribute, 9000, "cuFuncSetAttribute")                                 \
    F(GraphCreate, 10000, "cuGraphCreate")                                          \
    F(GraphAddKernelNode, 10000, "cuGraphAddKernelNode")                            \
    F(GraphKernelNodeSetAttribute, 11000, "cuGraphKernelNodeSetAttribute")          \
    F(GraphInstantiateWithFlags, 11040, "cuGraphInstantiateWithFlags")              \
    F(GraphExecKernelNodeSetParams, 10010, "cuGraphExecKernelNodeSetParams")        \
    F(GraphLaunch, 10000, "cuGraphLaunch")                                          \
    F(GraphExecDestroy, 10000, "cuGraphExecDestroy")                                \
    F(GraphDestroy, 10000, "cuGraphDestroy")                                        \
    F(MemGetAddressRange, 3020, "cuMemGetAddressRange_v2")                          \
    F(IpcGetMemHandle, 4010, "cuIpcGetMemHandle")                                   \
    F(IpcOpenMemHandle, 11000, "cuIpcOpenMemHandle_v2")                             \
    F(IpcCloseMemHandle, 4010, "cuIpcCloseMemHandle")                               \
    F(MemRetainAllocationHandle, 11000, "cuMemRetainAllocationHandle")              \
    F(MemExportToShareableHandle, 10020, "cuMemExportToShareableHandle")            \
    F(MemImportFromShareableHandle, 10020, "cuMemImportFromShareableHandle")        \
    F(MemAddressReserve, 10020, "cuMemAddressReserve")                              \
    F(MemAddressFree, 10020, "cuMemAddressFree")                                    \
    F(MemMap, 10020, "cuMemMap")                                                    \
    F(MemUnmap, 10020, "cuMemUnmap")                                                \
    F(MemRelease, 10020, "cuMemRelease")                                            \
    F(MemSetAccess, 10020, "cuMemSetAccess")                                        \
    F(MemPoolExportToShareableHandle, 11020, "cuMemPoolExportToShareableHandle")    \
    F(MemPoolImportFromShareableHandle, 11020, "cuMemPoolImportFromShareableHandle") \
    F(MemPoolExportPointer, 11020, "cuMemPoolExportPointer")                        \
    F(MemPoolImportPointer, 11020, "cuMemPoolImportPointer")                        \
    F(MemPoolSetAccess, 11020, "cuMemPoolSetAccess")                                \
    F(MemPoolDestroy, 11020, "cuMemPoolDestroy")

/* Members are called cuMemAlloc and so on. Macros of cuda.h turn some of these names into versioned
 * ones. They do so here and at every use, so that the source has the plain names. */
#define MPII_GPUDT_DRIVER_MEMBER(name_, version_, symbol_) PFN_cu##name_##_v##version_ cu##name_;
typedef struct MPII_Gpudt_driver {
    MPII_GPUDT_DRIVER_REQUIRED(MPII_GPUDT_DRIVER_MEMBER)
    MPII_GPUDT_DRIVER_OPTIONAL(MPII_GPUDT_DRIVER_MEMBER)
} MPII_Gpudt_driver_t;
#undef MPII_GPUDT_DRIVER_MEMBER

/* The driver table, if a device pointer can exist in this process.
 *
 * Never initialises CUDA and never loads a library: until the application or its CUDA runtime has
 * loaded libcuda, no address can be a device address, and the answer is NULL. This costs reading
 * one counter of the dynamic linker, or a load or two where the node has no NVIDIA device and
 * LD_LIBRARY_PATH no driver. Thread safe. Returns the table, valid until the process exits, or
 * NULL: no GPU (so far). */
const MPII_Gpudt_driver_t *MPII_Gpudt_driver_get(void);

/* Whether MPII_Gpudt_driver_get may ever return a table. The first time, the node is looked at, which
 * takes as long as reading some hundred files. */
bool MPII_Gpudt_driver_may_be_found(void);

/* The driver table with the driver loaded and initialised. Slow at first use.
 *   reason  (OUT)  if not NULL: why there is no GPU (static text, one line); "" if there is one
 * Returns the table, or NULL: no library, an incomplete one, no device, or a driver that fails to
 * initialise. NULL is final for the process. Thread safe; needs no MPI_Init. */
const MPII_Gpudt_driver_t *MPII_Gpudt_driver_init(const char **reason);

/* The MPI error code for a failed driver call: class MPI_ERR_NO_MEM if memory ran out, else
 * MPI_ERR_OTHER. The message has the call's name and the driver's name and text for the error.
 *   drv         (IN)  driver table, or NULL if there is none
 *   res         (IN)  result of the call, not CUDA_SUCCESS
 *   call        (IN)  text of the call
 *   fcname,line (IN)  its position in the source */
int MPII_Gpudt_driver_error(const MPII_Gpudt_driver_t * drv, CUresult res, const char *call,
                            const char *fcname, int line);

/* Make the call drv_->call_; if it fails, set mpi_errno_ to the error and go to fn_fail. */
#define MPII_GPUDT_CHECK(drv_, call_, mpi_errno_)                               \
    do {                                                                        \
        CUresult res_ = (drv_)->call_;                                          \
        if (unlikely(res_ != CUDA_SUCCESS)) {                                   \
            mpi_errno_ = MPII_Gpudt_driver_error(drv_, res_, #call_,            \
                                                 __func__, __LINE__);           \
            goto fn_fail;                                                       \
        }                                                                       \
    } while (0)

#endif /* GPUDT_DRIVER_H_INCLUDED */
