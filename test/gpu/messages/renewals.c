/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that nothing leaks while allocations come and go between messages: each process allocates and
 * frees, and all messages go from and to allocations of now. Allocations of the other process are mapped up
 * to the bounds, in number and in bytes, and no more; the memory in use on the GPU, which a mapping keeps
 * after it was freed, and the library's own memory do not grow. The first message from each allocation is
 * compared. Two processes.
 *
 *     renewals [ALLOCATIONS [MESSAGES]]    of each process, and from each allocation */

#include "gpu.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NLIVE 8                 /* allocations at a time */
#define WINDOW 16               /* messages at a time each way */
#define SZ 4096                 /* bytes of a message */
#define ROOM (2 * SZ)           /* of a message with gaps */
#define HALF (WINDOW * ROOM)    /* of an allocation: sent from; the rest is received into */
#define MAX_SZ (4 << 20)        /* of an allocation */
#define LOOK_EVERY 50           /* allocations */
#define SLACK (64 << 20)        /* bytes of the GPU's memory that may be in use for something else */

static int rank, other;
static enum mem_kind kind = MEM__DEVICE;
static struct mem live[NLIVE];
static MPI_Datatype gaps;
static char sent[SZ], seen[SZ];

/* What must not grow. */
struct use {
    size_t gpu;                 /* bytes, of all processes */
    unsigned long long pinned, device;  /* of the library */
};

static long bound(const char *name, long otherwise)
{
    const char *text = getenv(name);

    return text ? atol(text) : otherwise;
}

static struct use use_now(void)
{
    struct use use = {.pinned = report_variable("gpudt_pinned_bytes"),
        .device = report_variable("gpudt_device_bytes")
    };
    size_t left = 0, all = 0;

    CU(MemGetInfo(&left, &all));
    use.gpu = all - left;
    return use;
}

/* What is in use may exceed the bounds: do not set them lower than that. */
static void mapped_check(void)
{
    CHECK(report_variable("gpudt_ipc_mapped") <=
          (unsigned long long) bound("MPIR_CVAR_GPUDT_IPC_MAX", 512));
    CHECK(report_variable("gpudt_ipc_bytes") <=
          (unsigned long long) bound("MPIR_CVAR_GPUDT_IPC_MIB", 32768) << 20);
}

static size_t size_of(int i)
{
    const size_t sz = (size_t) 2 * HALF << (i * 7 + rank) % 5;

    return sz < MAX_SZ ? sz : MAX_SZ;
}

/* Replace allocation i - NLIVE by allocation i. */
static void renew(int i)
{
    struct mem *mem = &live[i % NLIVE];

    if (i >= NLIVE)
        mem_free(mem);
    mem_alloc(mem, kind, size_of(i));
    for (int k = 0; k < SZ; k++)
        sent[k] = (char) (i * 31 + k * 7 + rank);
    mem_write(mem, 0, sent, SZ);
}

static char *place(const struct mem *mem, int m, int is_received)
{
    return (char *) mem->addr + (is_received ? HALF : 0) + m % WINDOW * ROOM;
}

/* Messages each way, the first one from the newest allocation to the newest one. */
static void exchange(int i, int messages)
{
    const int nlive = i < NLIVE ? i + 1 : NLIVE;
    MPI_Request req[2 * WINDOW];

    for (int first = 0; first < messages; first += WINDOW) {
        int n = 0;

        for (int m = first; m < messages && m < first + WINDOW; m++) {
            const struct mem *mem = &live[(i + NLIVE - m % nlive) % NLIVE];
            const int count = m % 2 ? 1 : SZ;
            const MPI_Datatype type = m % 2 ? gaps : MPI_BYTE;

            CHECK_MPI(MPI_Irecv(place(mem, m, 1), count, type, other, m, MPI_COMM_WORLD, &req[n++]));
            CHECK_MPI(MPI_Isend(place(mem, m, 0), count, type, other, m, MPI_COMM_WORLD, &req[n++]));
        }
        CHECK_MPI(MPI_Waitall(n, req, MPI_STATUSES_IGNORE));
        if (first == 0) {
            mem_read(&live[i % NLIVE], HALF, seen, SZ);
            for (int k = 0; k < SZ; k++)
                sent[k] = (char) (i * 31 + k * 7 + other);
            report_compare("the first message from an allocation", seen, sent, SZ);
        }
    }
}

int main(int argc, char **argv)
{
    const int allocations = argc > 1 ? atoi(argv[1]) : 300, messages = argc > 2 ? atoi(argv[2]) : 20;
    const size_t kept = 2 * ((size_t) bound("MPIR_CVAR_GPUDT_IPC_MIB", 32768) << 20);
    struct use before = { 0 }, after;
    int provided, ngpus;

    report_time_limit(600);
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    ngpus = gpu_open();
    if (ngpus == 0 || allocations < 5 * NLIVE)
        return 1;
    gpu_set_current(rank % ngpus);
    if (rank == 1 && mem_exists(MEM__OTHER_DEVICE))
        kind = MEM__OTHER_DEVICE;
    MPI_Type_vector(SZ / 8, 1, 2, MPI_DOUBLE, &gaps);
    MPI_Type_commit(&gaps);
    for (int i = 0; i < allocations; i++) {
        renew(i);
        exchange(i, messages);
        if (i % LOOK_EVERY == 0)
            mapped_check();
        if (i == allocations / 5) {
            MPI_Barrier(MPI_COMM_WORLD);
            before = use_now();
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    after = use_now();
    mapped_check();
    if (after.gpu > before.gpu + kept + SLACK)
        report_fail("%zu bytes of the GPU are in use, after %zu before", after.gpu, before.gpu);
    CHECK(after.pinned <= before.pinned && after.device <= before.device);
    CHECK(report_variable("gpudt_ipc_opens") > 0);
    if (rank == 0)
        printf("%d allocations of each process, %ld messages, %llu mapped, %llu unmapped again\n",
               allocations, 2L * allocations * messages, report_variable("gpudt_ipc_opens"),
               report_variable("gpudt_ipc_evictions"));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < NLIVE; i++)
        mem_free(&live[i]);
    MPI_Type_free(&gaps);
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
