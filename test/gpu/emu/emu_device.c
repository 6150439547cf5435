/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The emulated devices and their attributes. */

#include <stdio.h>
#include <string.h>

#include "emu.h"

static bool device_valid(CUdevice device)
{
    return device >= 0 && device < emu_config.nvisible;
}

EMU_EXPORT CUresult CUDAAPI cuDeviceGetCount(int *count)
{
    EMU_ENTER(EMU_NEED__INIT);
    *count = emu_config.nvisible;
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuDeviceGet(CUdevice * device, int ordinal)
{
    EMU_ENTER(EMU_NEED__INIT);
    EMU_CHECK(device_valid(ordinal), CUDA_ERROR_INVALID_DEVICE);
    *device = ordinal;
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuDeviceGetName(char *name, int len, CUdevice device)
{
    EMU_ENTER(EMU_NEED__INIT);
    EMU_CHECK(device_valid(device) && len > 0, CUDA_ERROR_INVALID_DEVICE);
    snprintf(name, (size_t) len, "Emulated GPU %d", emu_config.visible[device]);
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuDeviceGetUuid(CUuuid * uuid, CUdevice device)
{
    EMU_ENTER(EMU_NEED__INIT);
    EMU_CHECK(device_valid(device), CUDA_ERROR_INVALID_DEVICE);
    memset(uuid, 0, sizeof(*uuid));
    memset(uuid->bytes, 0xe0, 4);
    uuid->bytes[15] = (char) emu_config.visible[device];
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuDeviceTotalMem(size_t * bytes, CUdevice device)
{
    EMU_ENTER(EMU_NEED__INIT);
    EMU_CHECK(device_valid(device), CUDA_ERROR_INVALID_DEVICE);
    *bytes = emu_config.memory_sz;
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuMemGetInfo(size_t * free_sz, size_t * total_sz)
{
    EMU_ENTER(EMU_NEED__CTX);
    emu_lock_take();
    *total_sz = emu_config.memory_sz;
    *free_sz = emu_config.memory_sz - emu_device_used(emu_current()->device);
    emu_lock_give();
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuDeviceGetPCIBusId(char *text, int len, CUdevice device)
{
    char id[32];

    EMU_ENTER(EMU_NEED__INIT);
    EMU_CHECK(device_valid(device), CUDA_ERROR_INVALID_DEVICE);
    /* A bus that no machine has: programs that look it up must handle a failure. */
    snprintf(id, sizeof(id), "00ff:%02x:00.0", (unsigned) emu_config.visible[device] & 0xff);
    EMU_CHECK(len > (int) strlen(id), CUDA_ERROR_INVALID_VALUE);
    strcpy(text, id);
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    EMU_ENTER(EMU_NEED__INIT);
    EMU_CHECK(device_valid(device) && device_valid(peer), CUDA_ERROR_INVALID_DEVICE);
    *can = device != peer && emu_config.peer;
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute,
                                                    CUdevice device, CUdevice peer)
{
    EMU_ENTER(EMU_NEED__INIT);
    EMU_CHECK(value, CUDA_ERROR_INVALID_VALUE);
    EMU_CHECK(device_valid(device) && device_valid(peer) && device != peer,
              CUDA_ERROR_INVALID_DEVICE);
    switch (attribute) {
        case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
        case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
            *value = emu_config.peer;
            break;
        default:
            return emu_leave(CUDA_ERROR_INVALID_VALUE);
    }
    return emu_leave(CUDA_SUCCESS);
}

EMU_EXPORT CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                                                 CUdevice device)
{
    EMU_ENTER(EMU_NEED__INIT);
    EMU_CHECK(value, CUDA_ERROR_INVALID_VALUE);
    EMU_CHECK(device_valid(device), CUDA_ERROR_INVALID_DEVICE);

    switch (attribute) {
        case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
            *value = emu_config.sm_count;
            break;
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
            *value = 9;
            break;
        case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
            *value = 32;
            break;
        case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
            *value = 1024;
            break;
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
            *value = 64;
            break;
        case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
            *value = 0x7fffffff;
            break;
        case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
        case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
            *value = 65535;
            break;
        case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
            *value = 2048;
            break;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
            *value = 48 << 10;
            break;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
            *value = 227 << 10;
            break;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
            *value = 228 << 10;
            break;
        case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
            *value = 50 << 20;
            break;
        case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
            *value = 3;
            break;
        case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
        case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
        case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
        case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
        case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
        case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
            *value = 1;
            break;
        case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
            *value = emu_config.ipc;
            break;
        case CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES:
            *value = emu_config.ipc ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE;
            break;
        case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
            *value = emu_config.concurrent_managed;
            break;
        default:
            *value = 0;
            break;
    }
    return emu_leave(CUDA_SUCCESS);
}
