/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The folder's interface in a build without CUDA: there is never a GPU. Knows nothing of cuda.h. */

#include "mpiimpl.h"
#include "gpudt_info.h"

int MPIR_Gpudt_query(MPIR_Gpudt_info_t * info)
{
    memset(info, 0, sizeof(*info));
    MPL_snprintf(info->reason, sizeof(info->reason), "%s",
                 "this library was built without GPU kernels");
    return MPI_SUCCESS;
}
