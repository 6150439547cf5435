/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests a program that does not use GPUs: MPI loads no CUDA library in it, even if one is
 * installed. If something else loads the library, MPI initialises nothing; if a GPU is in use,
 * transfers between host buffers are right. */

#include "gpu.h"
#include "report.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 1000

static int user[3 * N], packed[N];

static int library_is_loaded(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    int found = 0;

    while (maps && fgets(line, sizeof(line), maps))
        found |= strstr(line, "libcuda") != NULL;
    if (maps)
        fclose(maps);
    return found;
}

static void transfers_run(void)
{
    MPI_Datatype type;
    MPI_Request request;
    int position = 0;

    MPI_Type_vector(N, 1, 3, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < 3 * N; i++)
        user[i] = rand();
    CHECK_MPI(MPI_Pack(user, 1, type, packed, sizeof(packed), &position, MPI_COMM_SELF));
    for (int i = 0; i < N; i++)
        CHECK(packed[i] == user[3 * i]);
    for (int i = 0; i < N; i++)
        packed[i] = ~packed[i];
    CHECK_MPI(MPI_Irecv(user, 1, type, 0, 0, MPI_COMM_SELF, &request));
    CHECK_MPI(MPI_Send(packed, N, MPI_INT, 0, 0, MPI_COMM_SELF));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int i = 0; i < N; i++)
        CHECK(user[3 * i] == packed[i]);
    MPI_Type_free(&type);
}

int main(void)
{
    void *library;
    CUcontext ctx;

    /* hwloc's OpenCL component would load an installed driver */
    setenv("HWLOC_COMPONENTS", "-opencl,-cuda,-nvml,-gl", 1);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    transfers_run();
    CHECK(!library_is_loaded());

    library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library) {
        PFN_cuCtxGetCurrent_v4000 get_current;

        transfers_run();
        *(void **) &get_current = dlsym(library, "cuCtxGetCurrent");
        CHECK(get_current && get_current(&ctx) == CUDA_ERROR_NOT_INITIALIZED);
        if (gpu_open() > 0) {
            gpu_set_current(0);
            transfers_run();
            if (gpu.emu_live)
                CHECK(gpu.emu_live(NULL) == 0);
        }
    }
    transfers_run();
    MPI_Finalize();
    return report_done();
}
