/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Reductions of mapped virtual ranges, which other processes map by file descriptors. The library keeps
 * one descriptor open of the ranges whose numbers are equal modulo NKEPT. When it closes one, the system
 * gives its number to the next, and other processes have learned that number in an earlier call. */

#include "collectives.h"
#include "report.h"

#include <stdlib.h>

#define NKEPT 256
#define NSHORT 32               /* integers of a reduction that one process does for all */
#define NLONG 100000            /* of one in which each does a part */

static int rank, nprocs;

/* Allocate a range, on the process's own GPU: those with a GPU of their own do parts. */
static void range_alloc(struct mem *m)
{
    CUmemAllocationProp prop = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE,.id = rank % 2}
    };
    CUmemAccessDesc access = {
        .location = prop.location,.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    };
    CUdeviceptr addr;
    size_t step;

    *m = (struct mem) {.kind = MEM__SHAREABLE,.ctx = gpu_primary(rank % 2) };
    CU(MemGetAllocationGranularity(&step, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    m->sz = (NLONG * sizeof(int) + step - 1) / step * step;
    CU(MemAddressReserve(&addr, m->sz, 0, 0, 0));
    CU(MemCreate(&m->handle, m->sz, &prop, 0));
    CU(MemMap(addr, m->sz, 0, m->handle, 0));
    CU(MemSetAccess(addr, m->sz, &access, 1));
    m->addr = (char *) addr;
}

static unsigned long long id_of(const struct mem *m)
{
    unsigned long long id = 0;

    CU(PointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, (CUdeviceptr) m->addr));
    return id;
}

/* Allocate a range whose number is that of another one modulo NKEPT. */
static void rival_alloc(struct mem *m, const struct mem *of)
{
    CUdeviceptr unused;

    for (int i = 0; i < 4 * NKEPT; i++) {
        range_alloc(m);
        if (id_of(m) % NKEPT == id_of(of) % NKEPT)
            return;
        mem_free(m);
        CU(MemAlloc(&unused, 1));
        CU(MemFree(unused));
    }
    report_fail("no range has a number that is %llu modulo %d", id_of(of) % NKEPT, NKEPT);
    range_alloc(m);
}

/* Sum n integers of each process. */
static void sum(const struct mem *from, const struct mem *to, int n, int seed)
{
    int *host = malloc((size_t) n * sizeof(int));

    for (int i = 0; i < n; i++)
        host[i] = (rank + 1) * (i + seed);
    mem_write(from, 0, host, (size_t) n * sizeof(int));
    CHECK_MPI(MPI_Allreduce(from->addr, to->addr, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    mem_read(to, 0, host, (size_t) n * sizeof(int));
    for (int i = 0; i < n; i++) {
        if (host[i] != nprocs * (nprocs + 1) / 2 * (i + seed)) {
            report_fail("element %d of %d is %d, seed %d", i, n, host[i], seed);
            break;
        }
    }
    free(host);
}

void descriptors_run(void)
{
    struct mem a, rival, other;
    int seed = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    gpu_set_current(rank % 2);
    range_alloc(&a);
    range_alloc(&other);
    rival_alloc(&rival, &a);
    for (int i = 0; i < 4; i++) {
        sum(&a, &rival, NSHORT, ++seed);
        sum(&a, &rival, NSHORT, ++seed);
        sum(&a, &rival, NLONG, ++seed);
        sum(&a, &other, NSHORT, ++seed);
        sum(&rival, &other, NSHORT, ++seed);
        sum(&a, &other, NLONG, ++seed);
        sum(&other, &rival, NLONG, ++seed);
    }
    mem_free(&rival);
    mem_free(&other);
    mem_free(&a);
}
