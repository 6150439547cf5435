/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests mapped virtual ranges and memory of pools, which belong to a device and not to a context. A
 * program that works in a context of its own, not the primary one, can pass them to MPI, together
 * with memory of that context, which stays current. Its earlier operations on them are complete
 * then. */

#include "gpu.h"
#include "report.h"

#include <string.h>

#define N 100000

static unsigned char out[N], in[N];

static MPI_Datatype type_make(void)
{
    MPI_Datatype type;

    MPI_Type_vector(N / 4, 2, 4, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

/* Pack from one and unpack to the other; compare with the CPU's results. */
static void ways_check(CUcontext own, const struct mem *from, const struct mem *to)
{
    static unsigned char expected[N], packed[N];
    MPI_Datatype type = type_make();
    int position = 0;

    for (int i = 0; i < N; i++)
        out[i] = (unsigned char) (i * 7 + i / 251);
    memset(in, 0x55, N);
    CU(Memcpy((CUdeviceptr) from->addr, (CUdeviceptr) out, N));
    CU(MemsetD8((CUdeviceptr) to->addr, 0x55, N));
    CU(CtxSynchronize());
    CHECK_MPI(MPI_Pack(from->addr, 1, type, packed, N, &position, MPI_COMM_SELF));
    CHECK(gpu_get_current() == own);
    for (int i = 0; i < N / 2; i++)
        expected[i] = out[i / 2 * 4 + i % 2];
    report_compare("packed", packed, expected, N / 2);

    CHECK_MPI(MPI_Sendrecv(from->addr, 1, type, 0, 0, to->addr, 1, type, 0, 0, MPI_COMM_SELF,
                           MPI_STATUS_IGNORE));
    CHECK(gpu_get_current() == own);
    for (int i = 0; i < N; i++)
        expected[i] = i % 4 < 2 ? out[i] : 0x55;
    CU(Memcpy((CUdeviceptr) in, (CUdeviceptr) to->addr, N));
    report_compare("received", in, expected, N);
    MPI_Type_free(&type);
}

int main(void)
{
    static const enum mem_kind kinds[] = { MEM__MAPPED, MEM__POOL, MEM__OTHER_CTX };
    struct mem from, to, own;

    report_time_limit(60);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (gpu_open() == 0)
        return 1;
    mem_alloc(&own, MEM__OTHER_CTX, 4096);
    CU(CtxSetCurrent(own.ctx));
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            mem_alloc(&from, kinds[i], N);
            mem_alloc(&to, kinds[j], N);
            CU(CtxSetCurrent(own.ctx));
            ways_check(own.ctx, &from, &to);
            mem_free(&from);
            mem_free(&to);
        }
    }
    mem_free(&own);
    MPI_Finalize();
    return report_done();
}
