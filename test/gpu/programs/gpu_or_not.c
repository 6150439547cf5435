/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that MPI works with any driver and number of devices: initialisation succeeds, transfers
 * between host buffers are right, and so are those with memory of each device that the program can
 * use. MPIX_Query_cuda_support is true if there is one. For use with the settings of the emulated
 * driver (no device, hidden devices, an old or broken driver).
 *
 *   gpu_or_not N     fail unless the program sees N devices
 *   gpu_or_not off   with MPIR_CVAR_ENABLE_GPU=0: MPI says that it takes no GPU memory */

#include "gpu.h"
#include "report.h"
#include "strided.h"

#include <stdlib.h>
#include <string.h>

static void host_works(void)
{
    int user[30], packed[10], position = 0;
    MPI_Datatype type;

    for (int i = 0; i < 30; i++)
        user[i] = 77 * i;
    CHECK_MPI(MPI_Type_vector(10, 1, 3, MPI_INT, &type));
    CHECK_MPI(MPI_Type_commit(&type));
    CHECK_MPI(MPI_Pack(user, 1, type, packed, sizeof(packed), &position, MPI_COMM_SELF));
    for (int i = 0; i < 10; i++)
        CHECK(packed[i] == 77 * 3 * i);
    CHECK_MPI(MPI_Type_free(&type));
}

/* What MPI says about GPUs. It need not have seen the driver before. */
static void check_support(int expected)
{
    int is_supported = -1, err, class;

    CHECK(MPIX_Query_cuda_support() == expected);
    CHECK_MPI(MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &is_supported));
    CHECK(is_supported == expected);
    CHECK(MPIX_Query_ze_support() == 0 && MPIX_Query_hip_support() == 0);
    is_supported = -1;
    CHECK_MPI(MPIX_GPU_query_support(MPIX_GPU_SUPPORT_ZE, &is_supported));
    CHECK(is_supported == 0);
    is_supported = -1;
    CHECK_MPI(MPIX_GPU_query_support(MPIX_GPU_SUPPORT_HIP, &is_supported));
    CHECK(is_supported == 0);
    err = MPIX_GPU_query_support(77, &is_supported);
    MPI_Error_class(err, &class);
    CHECK(class == MPI_ERR_ARG);
}

int main(int argc, char **argv)
{
    int expected = argc > 1 ? atoi(argv[1]) : 1, ndevices;

    report_time_limit(60);
    CHECK_MPI(MPI_Init(NULL, NULL));
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    host_works();
    if (argc > 1 && strcmp(argv[1], "off") == 0) {
        CHECK(MPIX_Query_cuda_support() == 0);
        CHECK_MPI(MPI_Finalize());
        return report_done();
    }
    check_support(expected > 0);
    ndevices = gpu_open();
    CHECK(ndevices == expected);
    check_support(expected > 0);
    host_works();
    for (int kind = 0; ndevices > 0 && kind < MEM__NKINDS; kind++) {
        struct strided s;

        if (!mem_is_gpu(kind) || !mem_exists(kind))
            continue;
        for (int packed = MEM__PAGEABLE; packed <= MEM__DEVICE; packed++) {
            strided_make(&s, kind, packed, 50, packed % 2);
            strided_both_ways(&s);
            strided_free(&s);
        }
    }
    host_works();
    CHECK_MPI(MPI_Finalize());
    return report_done();
}
