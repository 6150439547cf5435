/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests the info key mpi_memory_alloc_kinds with any build of the library, on any node: the answers
 * agree with MPIX_Query_cuda_support, and so does whether GPU memory can be allocated. */

#include "mpi.h"
#include <stdio.h>
#include <string.h>

#define KEY "mpi_memory_alloc_kinds"

static int errs = 0, has_cuda;

static void fail(const char *what, int err)
{
    char text[MPI_MAX_ERROR_STRING] = "no error";
    int n;

    if (err)
        MPI_Error_string(err, text, &n);
    fprintf(stderr, "%s, with%s a GPU: %s\n", what, has_cuda ? "" : "out", text);
    errs++;
}

/* Check an answer and free it.
 *   more  (IN)  what it must have, beside that; NULL: nothing */
static void check(const char *whose, MPI_Info info, const char *more)
{
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int flag;

    MPI_Info_get(info, KEY, MPI_MAX_INFO_VAL, value, &flag);
    if (!flag || strncmp(value, "mpi,system", 10) != 0 ||
        (strstr(value, "cuda:device") != NULL) != has_cuda || (more && !strstr(value, more))) {
        fprintf(stderr, "%s: %s\n", whose, value);
        errs++;
    }
    MPI_Info_free(&info);
}

/* Memory of a kind, and a window of it. */
static void allocate(const char *kinds, int must_work)
{
    int *mem = NULL, err;
    MPI_Info info;
    MPI_Win win;

    MPI_Info_create(&info);
    MPI_Info_set(info, KEY, kinds);
    err = MPI_Alloc_mem(100, info, &mem);
    if ((err == MPI_SUCCESS) != must_work)
        fail("MPI_Alloc_mem", err);
    if (err == MPI_SUCCESS)
        MPI_Free_mem(mem);
    err = MPI_Win_allocate(100, 1, info, MPI_COMM_WORLD, &mem, &win);
    if ((err == MPI_SUCCESS) != must_work)
        fail("MPI_Win_allocate", err);
    if (err == MPI_SUCCESS)
        MPI_Win_free(&win);
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    MPI_Info info, answer;
    MPI_Session session;
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    has_cuda = MPIX_Query_cuda_support();
    MPI_Comm_get_info(MPI_COMM_WORLD, &answer);
    check("MPI_COMM_WORLD", answer, NULL);
    MPI_Info_create(&info);
    MPI_Info_set(info, KEY, "cuda:device, mpi:win_allocate");
    MPI_Session_init(info, MPI_ERRORS_RETURN, &session);
    MPI_Session_get_info(session, &answer);
    check("a session", answer, ",mpi:win_allocate");
    MPI_Session_finalize(&session);
    MPI_Info_free(&info);
    allocate("system,cuda:device", 1);
    allocate("rocm:device", 1);
    allocate("cuda:device", has_cuda);
    allocate("cuda:host,system", has_cuda);
    MPI_Finalize();
    if (rank == 0 && errs == 0)
        printf(" No Errors\n");
    return errs != 0;
}
