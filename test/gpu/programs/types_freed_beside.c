/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that MPI_Type_free of datatypes with lists in GPU memory, which are not kept for later ones, does
 * not wait for work in a stream of the program that continues only afterwards, and that their memory is
 * given back later: when there is none for another datatype, and when another one is freed. */

#include "gpu.h"
#include "report.h"
#include "strided.h"

#define TYPES 4
#define BLOCKS 500

/* There is no memory for the list of another datatype until some is given back; without, it is done another
 * way. */
static void memory_ends(struct strided *other)
{
    if (!gpu.is_emulated)
        return;
    gpu.emu_fail_set("cuMemAlloc", 1, CUDA_ERROR_OUT_OF_MEMORY, 0);
    CHECK_MPI(strided_pack(other));
    gpu.emu_fail_set(NULL, 0, 0, 0);
    strided_check_packed(other);
}

int main(void)
{
    struct strided s[TYPES], other;
    unsigned long long before, used;
    CUstream stream;
    int provided;

    report_time_limit(60);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    for (int i = 0; i < TYPES; i++) {
        strided_make(&s[i], MEM__DEVICE, MEM__DEVICE, BLOCKS - i, 1);
        strided_both_ways(&s[i]);
    }
    strided_make(&other, MEM__DEVICE, MEM__DEVICE, 2 * BLOCKS, 1);
    strided_fill_user(&other);
    used = report_variable("gpudt_device_bytes");
    CHECK(report_variable("gpudt_cached_types") == TYPES);

    stream = gpu_stream_hold();
    for (int i = 1; i < TYPES; i++)
        MPI_Type_free(&s[i].type);
    /* The stream is still held: otherwise the driver has waited */
    CHECK(report_variable("gpudt_cached_types") == 1);
    memory_ends(&other);
    CHECK(report_variable("gpudt_device_bytes") == used);
    gpu_stream_release(stream);

    memory_ends(&other);
    CHECK(!gpu.is_emulated || report_variable("gpudt_device_bytes") < used);

    before = report_variable("gpudt_device_bytes");
    MPI_Type_free(&s[0].type);
    CHECK(report_variable("gpudt_cached_types") == 0);
    CHECK(before >= report_variable("gpudt_device_bytes") + BLOCKS / 2);
    strided_free(&other);
    for (int i = 0; i < TYPES; i++) {
        mem_free(&s[i].user);
        mem_free(&s[i].packed);
    }
    MPI_Finalize();
    MPI_T_finalize();
    return report_done();
}
