/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that MPI_Pack_external and MPI_Unpack_external with GPU memory on either side or both have
 * the same results as with host memory. */

#include "gpu.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 100
#define USER_SZ (3 * N * 4)
#define PACKED_SZ (N * 4)

static unsigned char user_image[USER_SZ], packed_image[PACKED_SZ], seen[USER_SZ];
static MPI_Datatype type;

static void transfers_run(const struct mem *user, const struct mem *packed)
{
    MPI_Aint position = 0;

    for (int i = 0; i < USER_SZ; i++)
        user_image[i] = (unsigned char) rand();
    mem_write(user, 0, user_image, USER_SZ);
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 4; k++)
            packed_image[4 * i + k] = user_image[12 * i + 3 - k];       /* big-endian */
    }
    CHECK_MPI(MPI_Pack_external("external32", user->addr, 1, type, packed->addr, PACKED_SZ,
                                &position));
    mem_read(packed, 0, seen, PACKED_SZ);
    report_compare("packed data", seen, packed_image, PACKED_SZ);

    for (int i = 0; i < PACKED_SZ; i++)
        packed_image[i] = (unsigned char) rand();
    mem_write(packed, 0, packed_image, PACKED_SZ);
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 4; k++)
            user_image[12 * i + 3 - k] = packed_image[4 * i + k];
    }
    position = 0;
    CHECK_MPI(MPI_Unpack_external("external32", packed->addr, PACKED_SZ, &position, user->addr, 1,
                                  type));
    mem_read(user, 0, seen, USER_SZ);
    report_compare("unpacked data", seen, user_image, USER_SZ);
}

int main(void)
{
    const unsigned one = 1;
    static const enum mem_kind kinds[] = { MEM__PAGEABLE, MEM__PINNED, MEM__DEVICE, MEM__MANAGED };

    if (*(const unsigned char *) &one != 1) {
        fprintf(stderr, "written for little-endian machines\n");
        return 1;
    }
    report_time_limit(60);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    MPI_Type_vector(N, 1, 3, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int a = 0; a < 4; a++) {
        for (int b = 0; b < 4; b++) {
            struct mem user, packed;

            mem_alloc(&user, kinds[a], USER_SZ);
            mem_alloc(&packed, kinds[b], PACKED_SZ);
            transfers_run(&user, &packed);
            mem_free(&user);
            mem_free(&packed);
        }
    }
    MPI_Type_free(&type);
    MPI_Finalize();
    return report_done();
}
