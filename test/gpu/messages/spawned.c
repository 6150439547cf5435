/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests messages with GPU buffers between processes that were not started together. One process,
 * which spawns others, one after another.
 *
 * Usage: spawned [direct|dies]
 *   direct  with MPIR_CVAR_GPUDT_DIRECT=always: messages are copied from the memory of the other
 *           process, and nothing of it is mapped after it is disconnected
 *   dies    likewise, and the first one dies; to be run as peer_dies is */

#include "report.h"
#include "side.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NROUNDS 3
#define POOL "memfd:mpich-gpudt"

static void exchange(MPI_Comm inter, int is_parent, int n, enum mem_kind kind, MPI_Datatype type)
{
    struct side out, in;
    unsigned mine = is_parent ? 1 : 2, theirs = is_parent ? 2 : 1;

    side_make(&out, kind, type, n, 0);
    side_make(&in, MEM__DEVICE, type, n, 0);
    side_fill(&out, mine);
    side_clear(&in, theirs);
    CHECK_MPI(MPI_Sendrecv(out.buf, n, type, 0, 1, in.buf, n, type, 0, 1, inter,
                           MPI_STATUS_IGNORE));
    side_check(&in, "what came from the other group", theirs, in.size);
    side_free(&out);
    side_free(&in);
}

static void exchanges(MPI_Comm inter, int is_parent)
{
    MPI_Datatype pairs;

    MPI_Type_vector(2, 1, 2, MPI_INT, &pairs);
    MPI_Type_commit(&pairs);
    for (int n = 1; n < 1000000; n *= 30) {
        exchange(inter, is_parent, n, MEM__DEVICE, MPI_INT);
        exchange(inter, is_parent, n, MEM__SHAREABLE, pairs);
    }
    MPI_Type_free(&pairs);
}

/* Mappings of pools of this and other processes. */
static int pools(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned long inode, last = 0;
    char line[512];
    int n = 0;

    while (maps && fgets(line, sizeof(line), maps)) {
        if (strstr(line, POOL " ") && sscanf(line, "%*s %*s %*s %*s %lu", &inode) == 1) {
            n += inode != last;
            last = inode;
        }
    }
    if (maps)
        fclose(maps);
    return n;
}

/* Messages with a child, which then dies. */
static void parent_survives(MPI_Comm inter)
{
    MPI_Request requests[2];
    struct side out, in;

    side_make(&out, MEM__DEVICE, MPI_INT, 1000000, 0);
    side_make(&in, MEM__DEVICE, MPI_INT, 1000000, 0);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    CHECK_MPI(MPI_Isend(out.buf, 1000000, MPI_INT, 0, 5, inter, &requests[0]));
    CHECK_MPI(MPI_Irecv(in.buf, 1000000, MPI_INT, 0, 5, inter, &requests[1]));
    CHECK_MPI(MPI_Send(NULL, 0, MPI_BYTE, 0, 4, inter));
    for (int i = 0; i < 2; i++)
        CHECK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE) != MPI_SUCCESS);
    side_free(&out);
    side_free(&in);
}

static void parent(const char *program, int is_direct, int dies)
{
    for (int i = 0; i < NROUNDS; i++) {
        unsigned long long before = report_variable("gpudt_direct_pulls");
        MPI_Comm inter;
        int failures = 0, ends_well = !dies || i > 0;

        CHECK_MPI(MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter,
                                 MPI_ERRCODES_IGNORE));
        exchanges(inter, 1);
        CHECK_MPI(MPI_Recv(&failures, 1, MPI_INT, 0, 2, inter, MPI_STATUS_IGNORE));
        CHECK(failures == 0);
        CHECK(!is_direct || report_variable("gpudt_direct_pulls") > before + 2);
        CHECK(!is_direct || pools() == 2);
        CHECK_MPI(MPI_Send(&ends_well, 1, MPI_INT, 0, 3, inter));
        if (!ends_well) {
            parent_survives(inter);
            continue;
        }
        CHECK_MPI(MPI_Comm_disconnect(&inter));
        CHECK(report_variable("gpudt_ipc_mapped") == 0);
        CHECK(report_variable("gpudt_ipc_bytes") == 0);
        CHECK(pools() == 1);
    }
}

static void child(MPI_Comm inter)
{
    int ends_well;

    exchanges(inter, 0);
    CHECK_MPI(MPI_Send(&report_failures, 1, MPI_INT, 0, 2, inter));
    CHECK_MPI(MPI_Recv(&ends_well, 1, MPI_INT, 0, 3, inter, MPI_STATUS_IGNORE));
    if (!ends_well) {
        CHECK_MPI(MPI_Recv(NULL, 0, MPI_BYTE, 0, 4, inter, MPI_STATUS_IGNORE));
        raise(SIGKILL);
    }
    MPI_Comm_disconnect(&inter);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int is_direct = what[0] == 'd', dies = strcmp(what, "dies") == 0, is_parent, provided;
    MPI_Comm inter;

    report_time_limit(100);
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_get_parent(&inter);
    is_parent = inter == MPI_COMM_NULL;
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    if (is_parent)
        parent(argv[0], is_direct, dies);
    else
        child(inter);
    if (is_parent && dies)
        _exit(report_done());
    MPI_T_finalize();
    MPI_Finalize();
    return is_parent ? report_done() : 0;
}
