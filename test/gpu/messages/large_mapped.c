/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that an allocation larger than all mapped ones may be does not throw out others: it does not count,
 * and one of a process is kept mapped. Two processes, with a GPU each if the machine has two. To be run with
 * MPIR_CVAR_GPUDT_DIRECT=always MPIR_CVAR_GPUDT_IPC_MIB=1. */

#include "gpu.h"
#include "report.h"

#define NSMALL 8
#define SMALL_SZ ((size_t) 64 << 10)
#define LARGE_SZ ((size_t) 3 << 20)     /* exceeds the bound */
#define SZ 40000                /* bytes of a message */
#define NROUNDS 20
#define NTURNS 10               /* from one large allocation to the other */

static int rank, nmessages;
static struct mem small[NSMALL], large, other_large, received;
static unsigned char bytes[SZ], seen[SZ];

/* A message from an allocation, each from another place of a large one. */
static void message(const struct mem *from)
{
    const size_t at = (size_t) nmessages * 4096 % (from->sz - SZ);

    nmessages++;
    for (int i = 0; i < SZ; i++)
        bytes[i] = (unsigned char) (i * 13 + i / 253 + nmessages * 101);
    if (rank == 0) {
        mem_write(from, at, bytes, SZ);
        CHECK_MPI(MPI_Ssend(from->addr + at, SZ, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
    } else {
        CHECK_MPI(MPI_Recv(received.addr, SZ, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        mem_read(&received, 0, seen, SZ);
        report_compare("a message", seen, bytes, SZ);
    }
}

/* What the receiver has done, and has mapped. */
static void counts_check(unsigned long long opens, unsigned long long evictions)
{
    const unsigned long long opened = report_variable("gpudt_ipc_opens");
    const unsigned long long evicted = report_variable("gpudt_ipc_evictions");

    if (rank == 0)
        return;
    if (opened != opens || evicted != evictions)
        report_fail("after %d messages %llu allocations were mapped and %llu unmapped, not %llu and %llu",
                    nmessages, opened, evicted, opens, evictions);
    CHECK(report_variable("gpudt_ipc_mapped") == opens - evictions);
    CHECK(report_variable("gpudt_ipc_bytes") == LARGE_SZ + NSMALL * SMALL_SZ);
    CHECK(report_variable("gpudt_direct_pulls") == (unsigned long long) nmessages);
}

static void small_messages(void)
{
    for (int i = 0; i < NSMALL; i++)
        message(&small[i]);
}

int main(void)
{
    enum mem_kind kind = MEM__DEVICE;
    int provided;

    report_time_limit(120);
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (gpu_open() == 0)
        return 1;
    if (rank == 1 && mem_exists(MEM__OTHER_DEVICE))
        kind = MEM__OTHER_DEVICE;
    gpu_set_current(kind == MEM__OTHER_DEVICE);
    for (int i = 0; i < NSMALL; i++)
        mem_alloc(&small[i], kind, SMALL_SZ);
    mem_alloc(&large, kind, LARGE_SZ);
    mem_alloc(&other_large, kind, LARGE_SZ);
    mem_alloc(&received, kind, SZ);

    for (int round = 0; round < NROUNDS; round++) {
        for (int i = 0; i < NSMALL; i++) {
            message(&large);
            message(&small[i]);
        }
        counts_check(NSMALL + 1, 0);
    }
    /* each of the large ones takes the other's place */
    for (int turn = 1; turn <= NTURNS; turn++) {
        message(turn % 2 ? &other_large : &large);
        counts_check(NSMALL + 1 + turn, turn);
        small_messages();
        message(turn % 2 ? &other_large : &large);
        counts_check(NSMALL + 1 + turn, turn);
    }

    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < NSMALL; i++)
        mem_free(&small[i]);
    mem_free(&large);
    mem_free(&other_large);
    mem_free(&received);
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
