/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* GPUs that several processes use, see gpudt_shared.h and gpudt_sharing.h. Must not know transfers,
 * nor how processes exchange the names. */

#include "mpiimpl.h"
#include "gpudt_sharing.h"
#include "gpudt_shared.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_GPUDT_SHARED_GPU
      category    : GPUDT
      type        : enum
      default     : auto
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : |-
        Whether kernels of other processes take turns with ours on a GPU, so that copies by the
        driver are better where they apply.
        auto - If another process of the node is found to use the GPU, without MPS
        yes  - Always
        no   - Never

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

/* CU_DEVICE_ATTRIBUTE_MPS_ENABLED, which older headers lack */
#define ATTRIBUTE_MPS_ENABLED ((CUdevice_attribute) 133)

/* The names are added one at a time. A reader sees a count only after the names that it counts. */
static uint64_t names[MPIR_GPUDT_MAX_NAMES];
static MPL_atomic_int_t is_shared[MPIR_GPUDT_MAX_NAMES];
static MPL_atomic_int_t nnames = MPL_ATOMIC_INT_T_INITIALIZER(0);

#define MAX_ANSWERS 64          /* of MPII_Gpudt_has_atomics that are kept */

static struct answer {
    uint64_t name;
    int device;
    bool has_atomics;
} answers[MAX_ANSWERS];
static int nanswers;

uint64_t MPII_Gpudt_gpu_name(const MPII_Gpudt_driver_t * drv, int ordinal)
{
    CUdevice device;
    CUuuid uuid;
    uint64_t half[2];

    if (drv->cuDeviceGetUuid == NULL || drv->cuDeviceGet(&device, ordinal) != CUDA_SUCCESS ||
        drv->cuDeviceGetUuid(&uuid, device) != CUDA_SUCCESS)
        return 0;
    memcpy(half, uuid.bytes, sizeof(half));
    return half[0] ^ half[1] ? half[0] ^ half[1] : 1;
}

/* The same, but 0 if the device's processes do not time-slice. */
static uint64_t shared_name(const MPII_Gpudt_driver_t * drv, int ordinal)
{
    CUdevice device;
    int has_mps = 0;

    /* A driver that does not know the attribute is taken to have no MPS */
    if (drv->cuDeviceGet(&device, ordinal) != CUDA_SUCCESS ||
        (drv->cuDeviceGetAttribute(&has_mps, ATTRIBUTE_MPS_ENABLED, device) == CUDA_SUCCESS &&
         has_mps))
        return 0;
    return MPII_Gpudt_gpu_name(drv, ordinal);
}

static bool atomics_ask(const MPII_Gpudt_driver_t * drv, int ordinal, uint64_t name)
{
    CUdevice device, peer;
    int ndevices = 0, are_native = 0;

    if (MPII_Gpudt_gpu_name(drv, ordinal) == name)
        return true;
    if (drv->cuDeviceGetP2PAttribute == NULL || drv->cuDeviceGetCount(&ndevices) != CUDA_SUCCESS)
        return false;
    for (int i = 0; i < ndevices; i++) {
        if (MPII_Gpudt_gpu_name(drv, i) == name)
            return drv->cuDeviceGet(&device, ordinal) == CUDA_SUCCESS &&
                drv->cuDeviceGet(&peer, i) == CUDA_SUCCESS &&
                drv->cuDeviceGetP2PAttribute(&are_native,
                                             CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED,
                                             device, peer) == CUDA_SUCCESS && are_native;
    }
    return false;
}

bool MPII_Gpudt_has_atomics(const MPII_Gpudt_driver_t * drv, int ordinal, uint64_t name)
{
    bool has_atomics;

    if (name == 0)
        return false;
    for (int i = 0; i < nanswers; i++) {
        if (answers[i].device == ordinal && answers[i].name == name)
            return answers[i].has_atomics;
    }
    has_atomics = atomics_ask(drv, ordinal, name);
    if (nanswers < MAX_ANSWERS)
        answers[nanswers++] = (struct answer) { name, ordinal, has_atomics };
    return has_atomics;
}

int MPII_Gpudt_shared_add(const MPII_Gpudt_driver_t * drv, int ordinal)
{
    uint64_t name = shared_name(drv, ordinal);
    int n = MPL_atomic_relaxed_load_int(&nnames);

    if (name == 0)
        return -1;
    for (int i = 0; i < n; i++) {
        if (names[i] == name)
            return i;
    }
    if (n == MPIR_GPUDT_MAX_NAMES)
        return -1;
    names[n] = name;
    MPL_atomic_release_store_int(&nnames, n + 1);
    return n;
}

bool MPII_Gpudt_is_shared(int index)
{
    switch (MPIR_CVAR_GPUDT_SHARED_GPU) {
        case MPIR_CVAR_GPUDT_SHARED_GPU_yes:
            return true;
        case MPIR_CVAR_GPUDT_SHARED_GPU_no:
            return false;
        default:
            return index >= 0 && MPL_atomic_relaxed_load_int(&is_shared[index]);
    }
}

int MPIR_Gpudt_shared_names(const uint64_t ** all)
{
    *all = names;
    return MPL_atomic_acquire_load_int(&nnames);
}

void MPIR_Gpudt_shared_note(uint64_t name)
{
    int n = MPL_atomic_acquire_load_int(&nnames);

    for (int i = 0; i < n; i++) {
        if (names[i] == name)
            MPL_atomic_relaxed_store_int(&is_shared[i], 1);
    }
}
