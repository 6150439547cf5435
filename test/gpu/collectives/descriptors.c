/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Reductions of mapped virtual ranges, which other processes map by file descriptors. The library keeps
 * one descriptor open of the ranges whose numbers are equal modulo NKEPT. When it closes one, the system
 * gives its number to the next, and other processes have learned that number in an earlier call.
 *
 * With three processes or more, also calls that offer several such ranges, each of them twice if offers were
 * kept in an earlier call. */

#include "collectives.h"
#include "report.h"

#include <stdlib.h>

#define NKEPT 256
#define NSHORT 32               /* integers of a reduction that one process does for all */
#define NLONG 100000            /* of one in which each does a part */
#define NBLOCK 1000             /* of a block that is sent to one process */
#define NCALLS 6

static int rank, nprocs;

/* Memory of the process's own GPU: those with a GPU of their own do parts. */
static CUmemAllocationProp prop_get(void)
{
    return (CUmemAllocationProp) {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE,.id = rank % 2}
    };
}

/* The least multiple of the pages' size that is not less than sz. */
static size_t pages_sz(size_t sz)
{
    const CUmemAllocationProp prop = prop_get();
    size_t step;

    CU(MemGetAllocationGranularity(&step, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    return (sz + step - 1) / step * step;
}

/* Map new memory of sz bytes at reserved addresses. */
static void memory_map(struct mem *m, CUdeviceptr addr, size_t sz)
{
    const CUmemAllocationProp prop = prop_get();
    CUmemAccessDesc access = {
        .location = prop.location,.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    };

    *m = (struct mem) {
        .kind = MEM__SHAREABLE,.ctx = gpu_primary(rank % 2),.addr = (char *) addr,.sz = sz
    };
    CU(MemCreate(&m->handle, sz, &prop, 0));
    CU(MemMap(addr, sz, 0, m->handle, 0));
    CU(MemSetAccess(addr, sz, &access, 1));
}

static void memory_unmap(const struct mem *m)
{
    CU(MemUnmap((CUdeviceptr) m->addr, m->sz));
    CU(MemRelease(m->handle));
}

/* Allocate a range. */
static void range_alloc(struct mem *m)
{
    const size_t sz = pages_sz(NLONG * sizeof(int));
    CUdeviceptr addr;

    CU(MemAddressReserve(&addr, sz, 0, 0, 0));
    memory_map(m, addr, sz);
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

/* Parts that all processes have done directly. */
static long direct_parts(void)
{
    long own = (long) report_variable("gpudt_reductions_direct"), sum;

    CHECK_MPI(MPI_Allreduce(&own, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    return sum;
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

/* Adjacent pieces of memory, one for each process. */
struct arena {
    CUdeviceptr addr;
    struct mem piece[MAX_PROCS];
};

/* Make one in which the pieces for the next two processes have numbers that are equal modulo NKEPT. */
static void arena_make(struct arena *a)
{
    const size_t sz = pages_sz(NBLOCK * sizeof(int));
    const int next = (rank + 1) % nprocs, rival = (rank + 2) % nprocs;
    CUdeviceptr unused;
    int i = 0;

    CU(MemAddressReserve(&a->addr, nprocs * sz, 0, 0, 0));
    for (int k = 0; k < nprocs; k++)
        memory_map(&a->piece[k], a->addr + k * sz, sz);
    while (id_of(&a->piece[rival]) % NKEPT != id_of(&a->piece[next]) % NKEPT && ++i < 4 * NKEPT) {
        memory_unmap(&a->piece[rival]);
        CU(MemAlloc(&unused, 1));
        CU(MemFree(unused));
        memory_map(&a->piece[rival], a->addr + rival * sz, sz);
    }
    CHECK(i < 4 * NKEPT);
}

static void arena_free(struct arena *a)
{
    const size_t sz = a->piece[0].sz;

    for (int k = 0; k < nprocs; k++)
        memory_unmap(&a->piece[k]);
    CU(MemAddressFree(a->addr, nprocs * sz));
}

static int block_value(int from, int to, int i, int seed)
{
    return (seed * MAX_PROCS + from) * MAX_PROCS + to + i * 7919;
}

/* Send a block of each piece of memory to a process. */
static void blocks_exchange(const struct arena *a, const struct mem *to, int seed)
{
    int *host = malloc((size_t) nprocs * NBLOCK * sizeof(int));
    MPI_Datatype block, piece;

    MPI_Type_contiguous(NBLOCK, MPI_INT, &block);
    MPI_Type_create_resized(block, 0, (MPI_Aint) a->piece[0].sz, &piece);
    MPI_Type_commit(&piece);
    for (int k = 0; k < nprocs; k++) {
        for (int i = 0; i < NBLOCK; i++)
            host[i] = block_value(rank, k, i, seed);
        mem_write(&a->piece[k], 0, host, NBLOCK * sizeof(int));
    }
    CHECK_MPI(MPI_Alltoall((void *) a->addr, 1, piece, to->addr, NBLOCK, MPI_INT, MPI_COMM_WORLD));
    mem_read(to, 0, host, (size_t) nprocs * NBLOCK * sizeof(int));
    for (int i = 0; i < nprocs * NBLOCK; i++) {
        const int expected = block_value(i / NBLOCK, rank, i % NBLOCK, seed);
        if (host[i] != expected) {
            report_fail("element %d from process %d is %d instead of %d, call %d", i % NBLOCK,
                        i / NBLOCK, host[i], expected, seed);
            break;
        }
    }
    MPI_Type_free(&piece);
    MPI_Type_free(&block);
    free(host);
}

/* Calls that offer two ranges whose numbers are equal modulo NKEPT, other ones in each call. */
static void blocks_run(const struct mem *to)
{
    const unsigned long long before = report_variable("gpudt_collective_pulls");
    struct arena arenas[NCALLS];

    for (int i = 0; i < NCALLS; i++) {
        arena_make(&arenas[i]);
        blocks_exchange(&arenas[i], to, i);
    }
    CHECK(report_variable("gpudt_collective_pulls") - before == NCALLS * (nprocs - 1ull));
    for (int i = 0; i < NCALLS; i++)
        arena_free(&arenas[i]);
}

void descriptors_run(void)
{
    struct mem a, rival, other;
    int seed = 0;
    long before;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    gpu_set_current(rank % 2);
    range_alloc(&a);
    range_alloc(&other);
    rival_alloc(&rival, &a);
    before = direct_parts();
    for (int i = 0; i < 4; i++) {
        sum(&a, &rival, NSHORT, ++seed);
        sum(&a, &rival, NSHORT, ++seed);
        sum(&a, &rival, NLONG, ++seed);
        sum(&a, &other, NSHORT, ++seed);
        sum(&rival, &other, NSHORT, ++seed);
        sum(&a, &other, NLONG, ++seed);
        sum(&other, &rival, NLONG, ++seed);
    }
    CHECK(direct_parts() - before >= seed / 2);
    if (nprocs > 2)
        blocks_run(&other);
    mem_free(&rival);
    mem_free(&other);
    mem_free(&a);
}
