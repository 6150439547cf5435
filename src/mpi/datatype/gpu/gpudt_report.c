/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tells what this library is and what GPUs it finds, for mpichversion, bug reports and programs. Knows
 * only the part of the driver that MPIR_Gpudt_query reports. */

#include "mpiimpl.h"
#include "gpudt_info.h"

#ifdef MPIR_GPUDT_HAVE_CUDA
#define BUILT_WITH "CUDA " GPUDT_CUDA_VERSION ", architectures " GPUDT_CUDA_ARCHS
#else
#define BUILT_WITH "no CUDA"
#endif

void MPIR_Gpudt_report(FILE * out)
{
    MPIR_Gpudt_info_t info;

    MPIR_Gpudt_query(&info);
    fprintf(out, "MPICH-Gpudt Version:\t%s\n", GPUDT_VERSION);
    fprintf(out, "MPICH-Gpudt engine:\tdataloop, built with %s\n", BUILT_WITH);
    if (info.ndevices > 0)
        fprintf(out, "MPICH-Gpudt GPU:\t%d device%s, driver for CUDA %d.%d\n",
                info.ndevices, info.ndevices == 1 ? "" : "s",
                info.driver_version / 1000, info.driver_version % 1000 / 10);
    else
        fprintf(out, "MPICH-Gpudt GPU:\tnone (%s)\n", info.reason);
}

int MPIR_Gpudt_is_usable(void)
{
    MPIR_Gpudt_info_t info;

    MPIR_Gpudt_query(&info);
    return info.ndevices > 0;
}
