/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Kernel launches and copies on a stream of an engine. Must not know what they are for. */

#include "mpiimpl.h"
#include "gpudt_stream.h"
#include "gpudt_error.h"
#include "tuning/gpudt_tuning.h"
#include "gpudt_vars.h"
#include "kernel/gpudt_args.h"
#include "driver/gpudt_ptr.h"
#include "driver/gpudt_sharing.h"
#include "engine/gpudt_graph.h"

int MPII_Gpudt_kernel_launch(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane, int kernel,
                             CUfunction function, unsigned grid, const void *args, bool is_idle)
{
    int mpi_errno = MPI_SUCCESS;
    void *params[] = { (void *) args };

    if (!is_idle || !MPII_Gpudt_graph_launch(engine, lane, kernel, function, grid, args))
        MPII_GPUDT_CHECK(engine->drv, cuLaunchKernel(function, grid, 1, 1, MPII_GPUDT_THREADS, 1, 1,
                                                     0, engine->streams[lane], params, NULL),
                         mpi_errno);
    MPII_GPUDT_COUNT(launches, 1);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static CUresult planes_copy(MPII_Gpudt_engine_t * engine, CUstream stream,
                            const struct MPII_Gpudt_rows *rows)
{
    const CUDA_MEMCPY3D copy = {
        .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
        .srcDevice = rows->src,
        .srcPitch = rows->src_pitch,
        .srcHeight = rows->src_height,
        .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
        .dstDevice = rows->dst,
        .dstPitch = rows->dst_pitch,
        .dstHeight = rows->dst_height,
        .WidthInBytes = rows->width,
        .Height = rows->rows,
        .Depth = rows->planes
    };

    return engine->drv->cuMemcpy3DAsync(&copy, stream);
}

CUresult MPII_Gpudt_rows_copy(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane,
                              const struct MPII_Gpudt_rows *rows)
{
    const CUDA_MEMCPY2D copy = {
        .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
        .srcDevice = rows->src,
        .srcPitch = rows->src_pitch,
        .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
        .dstDevice = rows->dst,
        .dstPitch = rows->dst_pitch,
        .WidthInBytes = rows->width,
        .Height = rows->rows
    };

    return rows->planes > 1 ? planes_copy(engine, engine->streams[lane], rows) :
        engine->drv->cuMemcpy2DAsync(&copy, engine->streams[lane]);
}

/* Bytes from an address to the end of its allocation, at most n; n if it is in none, or the driver
 * does not tell. */
static int64_t allocation_rest(const MPII_Gpudt_driver_t * drv, const char *addr, int64_t n)
{
    CUdeviceptr base;
    size_t sz;

    if (!MPII_Gpudt_ptr_range(drv, (CUdeviceptr) addr, &base, &sz))
        return n;
    return MPL_MIN(n, (int64_t) (base + sz - (CUdeviceptr) addr));
}

CUresult MPII_Gpudt_memcpy(const MPII_Gpudt_driver_t * drv, char *to, const char *from, int64_t n,
                           CUstream stream)
{
    CUresult res;
    int64_t part;

    /* The driver refuses a copy that leaves the allocation in which it begins */
    while ((res = drv->cuMemcpyAsync((CUdeviceptr) to, (CUdeviceptr) from, n, stream)) ==
           CUDA_ERROR_INVALID_VALUE) {
        part = MPL_MIN(allocation_rest(drv, to, n), allocation_rest(drv, from, n));
        if (part == n)
            break;
        res = drv->cuMemcpyAsync((CUdeviceptr) to, (CUdeviceptr) from, part, stream);
        if (res != CUDA_SUCCESS)
            break;
        to += part;
        from += part;
        n -= part;
    }
    return res;
}

/* The driver copies small contiguous data from the host by multiprocessors, which needs a context
 * switch where processes share a GPU. It does not do so for rows. */
static CUresult as_rows_copy(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane, char *to,
                             const char *from, int64_t n, int nrows)
{
    const struct MPII_Gpudt_rows rows = {
        .src = (CUdeviceptr) from,.dst = (CUdeviceptr) to,
        .width = n / nrows,.rows = nrows,.planes = 1,
        .src_pitch = n / nrows,.dst_pitch = n / nrows
    };

    return MPII_Gpudt_rows_copy(engine, lane, &rows);
}

/* After the driver has refused to copy: what it does not say. */
static int range_check(const MPII_Gpudt_driver_t * drv, const char *addr, int64_t n)
{
    int mpi_errno = MPI_SUCCESS;
    CUdeviceptr base;
    size_t sz;

    if (!MPII_Gpudt_ptr_range(drv, (CUdeviceptr) (uintptr_t) addr, &base, &sz))
        return MPI_SUCCESS;
    MPIR_ERR_CHKANDJUMP4((uintptr_t) addr + (uint64_t) n > base + sz, mpi_errno, MPI_ERR_BUFFER,
                         "**gpudt_beyond", "**gpudt_beyond %L %p %L %p", (long long) n, addr,
                         (long long) sz, (void *) (uintptr_t) base);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPII_Gpudt_copy_launch(MPII_Gpudt_engine_t * engine, enum MPII_Gpudt_lane_e lane, char *to,
                           const char *from, int64_t n)
{
    int mpi_errno = MPI_SUCCESS;
    int rows = n % 2 == 0 ? 2 : n % 3 == 0 ? 3 : 1;
    CUresult res = CUDA_SUCCESS;

    if (n > MPII_GPUDT_INLINE_MAX || rows == 1 || !MPII_Gpudt_is_shared(engine->shared) ||
        as_rows_copy(engine, lane, to, from, n, rows) != CUDA_SUCCESS)
        res = MPII_Gpudt_memcpy(engine->drv, to, from, n, engine->streams[lane]);
    if (res == CUDA_ERROR_INVALID_VALUE) {
        mpi_errno = range_check(engine->drv, from, n);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
        mpi_errno = range_check(engine->drv, to, n);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    if (res != CUDA_SUCCESS) {
        mpi_errno = MPII_Gpudt_driver_error(engine->drv, res, "cuMemcpyAsync", __func__, __LINE__);
        goto fn_fail;
    }
    MPII_GPUDT_COUNT(copies, 1);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
