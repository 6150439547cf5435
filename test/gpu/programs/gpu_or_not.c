/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that MPI works with any driver and number of devices: initialisation succeeds, transfers
 * between host buffers are right, and so are those with memory of each device that the program can
 * use. For use with the settings of the emulated driver (no device, hidden devices, an old or
 * broken driver).
 *
 *   gpu_or_not N   fail unless the program sees N devices */

#include "gpu.h"
#include "report.h"
#include "strided.h"

#include <stdlib.h>

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

int main(int argc, char **argv)
{
    int expected = argc > 1 ? atoi(argv[1]) : 1, ndevices;

    report_time_limit(60);
    CHECK_MPI(MPI_Init(NULL, NULL));
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    host_works();
    ndevices = gpu_open();
    CHECK(ndevices == expected);
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
