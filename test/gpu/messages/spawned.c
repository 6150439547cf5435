/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests messages with GPU buffers between processes that were not started together. One process,
 * which spawns others, one after another.
 *
 * Usage: spawned [direct|dies|connected|far COMMAND...]
 *   direct     with MPIR_CVAR_GPUDT_DIRECT=always: messages are copied from the memory of the other
 *              process, and nothing of it is mapped after it is disconnected
 *   dies       likewise, and the first one dies; to be run as peer_dies is
 *   connected  with MPIR_CVAR_GPUDT_DIRECT=always: two spawned processes connect to each other and
 *              disconnect, several times. Memory that stays allocated is mapped again each time
 *   far        with MPIR_CVAR_GPUDT_DIRECT=always: the others run under a command that makes the processes'
 *              memory inaccessible to each other, as by another user or name space. All messages go over
 *              the network */

#include "report.h"
#include "side.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NROUNDS 3
#define NKEPT 100000           /* ints */
#define POOL "memfd:mpich-gpudt"
#define MAX_ARGS 16

static enum mem_kind device_kind = MEM__DEVICE; /* memory of the process's own GPU */

static void exchange(MPI_Comm inter, int is_parent, int n, enum mem_kind kind, MPI_Datatype type)
{
    struct side out, in;
    unsigned mine = is_parent ? 1 : 2, theirs = is_parent ? 2 : 1;

    side_make(&out, kind, type, n, 0);
    side_make(&in, device_kind, type, n, 0);
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
        exchange(inter, is_parent, n, device_kind, MPI_INT);
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

/* Messages that this process has copied from the other one's memory, or to it. */
static unsigned long long copies(void)
{
    return report_variable("gpudt_direct_pulls") + report_variable("gpudt_direct_pushes");
}

/* Of the process that this one is not connected to any more. */
static void check_unmapped(void)
{
    CHECK(report_variable("gpudt_ipc_mapped") == 0);
    CHECK(report_variable("gpudt_ipc_bytes") == 0);
    CHECK(pools() == 1);
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
        unsigned long long before = copies();
        MPI_Comm inter;
        int failures = 0, ends_well = !dies || i > 0;

        CHECK_MPI(MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter,
                                 MPI_ERRCODES_IGNORE));
        exchanges(inter, 1);
        CHECK_MPI(MPI_Recv(&failures, 1, MPI_INT, 0, 2, inter, MPI_STATUS_IGNORE));
        CHECK(failures == 0);
        CHECK(!is_direct || copies() > before + 2);
        CHECK(!is_direct || pools() == 2);
        CHECK_MPI(MPI_Send(&ends_well, 1, MPI_INT, 0, 3, inter));
        if (!ends_well) {
            parent_survives(inter);
            continue;
        }
        CHECK_MPI(MPI_Comm_disconnect(&inter));
        check_unmapped();
    }
}

/* The words of a command, and then the program, which spawns nothing. */
static void parent_of_far(char *program, char *const *command)
{
    char *args[MAX_ARGS] = { NULL };
    int n = 0, failures = 0;
    MPI_Comm inter;

    while (command[n + 1] && n < MAX_ARGS - 2) {
        args[n] = command[n + 1];
        n++;
    }
    args[n] = program;
    CHECK_MPI(MPI_Comm_spawn(command[0], args, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter,
                             MPI_ERRCODES_IGNORE));
    exchanges(inter, 1);
    CHECK_MPI(MPI_Recv(&failures, 1, MPI_INT, 0, 2, inter, MPI_STATUS_IGNORE));
    CHECK(failures == 0);
    CHECK_MPI(MPI_Send(&(int) {1}, 1, MPI_INT, 0, 3, inter));
    CHECK(copies() == 0);
    CHECK_MPI(MPI_Comm_disconnect(&inter));
    check_unmapped();
}

/* Exchange buffers that stay allocated. */
static void exchange_kept(MPI_Comm inter, struct side *out, struct side *in, int accepts, int round)
{
    unsigned mine = 2 * round + accepts, theirs = 2 * round + !accepts;

    side_fill(out, mine);
    side_clear(in, theirs);
    CHECK_MPI(MPI_Sendrecv(out->buf, NKEPT, MPI_INT, 0, 1, in->buf, NKEPT, MPI_INT, 0, 1, inter,
                           MPI_STATUS_IGNORE));
    side_check(in, "a kept buffer", theirs, in->size);
}

/* One of two processes that connect to each other. */
static void connected(MPI_Comm inter, int accepts)
{
    char port[MPI_MAX_PORT_NAME];
    struct side out, in;

    if (!accepts && mem_exists(MEM__OTHER_DEVICE))
        device_kind = MEM__OTHER_DEVICE;
    gpu_set_current(device_kind == MEM__OTHER_DEVICE);
    side_make(&out, device_kind, MPI_INT, NKEPT, 0);
    side_make(&in, device_kind, MPI_INT, NKEPT, 0);
    if (accepts) {
        CHECK_MPI(MPI_Open_port(MPI_INFO_NULL, port));
        CHECK_MPI(MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 1, inter));
    } else {
        CHECK_MPI(MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 1, inter, MPI_STATUS_IGNORE));
    }
    for (int i = 0; i < NROUNDS; i++) {
        unsigned long long done = copies();
        unsigned long long opens = report_variable("gpudt_ipc_opens");
        MPI_Comm peer;

        if (accepts)
            CHECK_MPI(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &peer));
        else
            CHECK_MPI(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &peer));
        exchange_kept(peer, &out, &in, accepts, i);
        CHECK(copies() == done + 1);
        CHECK(report_variable("gpudt_ipc_opens") == opens + 1);
        CHECK(report_variable("gpudt_ipc_bytes") > 0);
        exchanges(peer, accepts);
        CHECK(copies() > done + 3);
        CHECK(pools() == 2);
        CHECK_MPI(MPI_Comm_disconnect(&peer));
        check_unmapped();
    }
    if (accepts)
        CHECK_MPI(MPI_Close_port(port));
    side_free(&out);
    side_free(&in);
}

static void parent_of_connected(const char *program)
{
    char *accepts[] = { "accepts", NULL }, *connects[] = { "connects", NULL };
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm inter[2];

    CHECK_MPI(MPI_Comm_spawn(program, accepts, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter[0],
                             MPI_ERRCODES_IGNORE));
    CHECK_MPI(MPI_Comm_spawn(program, connects, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter[1],
                             MPI_ERRCODES_IGNORE));
    CHECK_MPI(MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 1, inter[0], MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 1, inter[1]));
    for (int i = 0; i < 2; i++) {
        int failures = 0;
        CHECK_MPI(MPI_Recv(&failures, 1, MPI_INT, 0, 2, inter[i], MPI_STATUS_IGNORE));
        CHECK(failures == 0);
        CHECK_MPI(MPI_Comm_disconnect(&inter[i]));
    }
}

/* A process that parent_of_connected has spawned. */
static void child_connected(MPI_Comm inter, int accepts)
{
    connected(inter, accepts);
    CHECK_MPI(MPI_Send(&report_failures, 1, MPI_INT, 0, 2, inter));
    MPI_Comm_disconnect(&inter);
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
    if (is_parent && what[0] == 'c')
        parent_of_connected(argv[0]);
    else if (is_parent && what[0] == 'f')
        parent_of_far(argv[0], argv + 2);
    else if (is_parent)
        parent(argv[0], is_direct, dies);
    else if (what[0])
        child_connected(inter, what[0] == 'a');
    else
        child(inter);
    if (is_parent && dies)
        _exit(report_done());
    MPI_T_finalize();
    MPI_Finalize();
    return is_parent ? report_done() : 0;
}
