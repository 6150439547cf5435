/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that messages stay intact when the program sets MPIR_CVAR_GPUDT_DEVICE_CHUNK anew while the
 * library has staging memory already: several messages at a time, each of many segments. Two processes,
 * with MPIR_CVAR_GPUDT_DIRECT=staged. */

#include "gpu.h"
#include "report.h"
#include "side.h"

#define MESSAGES 4              /* at a time */
#define BLOCKS 5000             /* of a message, of 16 bytes */

static int rank;

static void chunk_scale(int by)
{
    int index, chunk, count;
    MPI_T_cvar_handle handle;

    CHECK_MPI(MPI_T_cvar_get_index("MPIR_CVAR_GPUDT_DEVICE_CHUNK", &index));
    CHECK_MPI(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
    CHECK_MPI(MPI_T_cvar_read(handle, &chunk));
    chunk = by > 0 ? chunk * by : chunk / -by;
    CHECK_MPI(MPI_T_cvar_write(handle, &chunk));
    CHECK_MPI(MPI_T_cvar_handle_free(&handle));
}

static void messages_pass(struct side *s)
{
    const unsigned long long before = report_variable("gpudt_direct_staged");
    MPI_Request req[MESSAGES];

    for (int i = 0; i < MESSAGES; i++) {
        if (rank == 0)
            side_fill(&s[i], i);
        else
            side_clear(&s[i], i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < MESSAGES; i++) {
        if (rank == 0)
            CHECK_MPI(MPI_Isend(s[i].buf, 1, s[i].type, 1, i, MPI_COMM_WORLD, &req[i]));
        else
            CHECK_MPI(MPI_Irecv(s[i].buf, 1, s[i].type, 0, i, MPI_COMM_WORLD, &req[i]));
    }
    CHECK_MPI(MPI_Waitall(MESSAGES, req, MPI_STATUSES_IGNORE));
    for (int i = 0; i < MESSAGES; i++)
        side_check(&s[i], "a buffer", i, s[i].size);
    CHECK(report_variable("gpudt_direct_staged") - before == (rank == 1 ? MESSAGES : 0));
}

int main(void)
{
    struct side s[MESSAGES];
    enum mem_kind kind = MEM__DEVICE;
    MPI_Datatype type;
    int provided;

    report_time_limit(60);
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (gpu_open() == 0)
        return 1;
    if (rank == 1 && mem_exists(MEM__OTHER_DEVICE))
        kind = MEM__OTHER_DEVICE;
    gpu_set_current(kind == MEM__OTHER_DEVICE);
    MPI_Type_vector(BLOCKS, 2, 3, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < MESSAGES; i++)
        side_make(&s[i], kind, type, 1, 0);

    messages_pass(s);
    for (int i = 0; i < 3; i++) {
        chunk_scale(4);
        messages_pass(s);
    }
    chunk_scale(-1024);
    messages_pass(s);

    for (int i = 0; i < MESSAGES; i++)
        side_free(&s[i]);
    MPI_Type_free(&type);
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
