/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests a program that does not use GPUs: MPI loads no CUDA library in it, even if one is
 * installed, also when the program asks what kinds of memory MPI supports. If something else loads the
 * library, MPI initialises nothing; if a GPU is in use, transfers between host buffers are right. */

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

/* Queries that answer with the kinds of memory. */
static void infos_get(void)
{
    char name[] = "/tmp/host_program_XXXXXX", value[MPI_MAX_INFO_VAL + 1];
    MPI_Session session;
    MPI_File file;
    MPI_Info info[4];
    MPI_Win win;
    int flag;

    CHECK(mkstemp(name) >= 0);
    CHECK_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    CHECK_MPI(MPI_Win_create(user, sizeof(user), 1, MPI_INFO_NULL, MPI_COMM_SELF, &win));
    CHECK_MPI(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    CHECK_MPI(MPI_Session_get_info(session, &info[0]));
    CHECK_MPI(MPI_Comm_get_info(MPI_COMM_SELF, &info[1]));
    CHECK_MPI(MPI_Win_get_info(win, &info[2]));
    CHECK_MPI(MPI_File_get_info(file, &info[3]));
    for (int i = 0; i < 4; i++) {
        CHECK_MPI(MPI_Info_get(info[i], "mpi_memory_alloc_kinds", MPI_MAX_INFO_VAL, value, &flag));
        CHECK(flag && strncmp(value, "mpi,system", 10) == 0);
        MPI_Info_free(&info[i]);
    }
    CHECK_MPI(MPI_File_close(&file));
    CHECK_MPI(MPI_Win_free(&win));
    CHECK_MPI(MPI_Session_finalize(&session));
    remove(name);
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
    infos_get();
    CHECK(!library_is_loaded());

    library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library) {
        PFN_cuCtxGetCurrent_v4000 get_current;

        transfers_run();
        infos_get();
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
