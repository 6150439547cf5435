/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests calls that look synchronous, such as cudaMemcpy and cudaMemset: their effect on GPU memory
 * is complete when MPI reads the memory, and never happens after MPI has written it. These calls
 * may return early: copies from pageable memory, copies within a device, fills. With "off",
 * MPIR_CVAR_GPUDT_SYNC_MEMOPS is 0: MPI does not wait and does not mark memory. */

#include "gpu.h"
#include "report.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* MPI gets the last part of a memory that is filled completely, so that the fill takes longer. */
#define PART 24576
#define MANY 160                /* allocations */

static int is_off;
static const char *kind_name;
static size_t size;             /* of a memory */
static unsigned char bytes[PART], packed[PART];

static const enum mem_kind kinds[] = {
    MEM__DEVICE, MEM__OTHER_DEVICE, MEM__OTHER_CTX, MEM__MANAGED, MEM__POOL, MEM__MAPPED
};

static void bytes_draw(unsigned seed)
{
    for (size_t i = 0; i < PART; i++)
        bytes[i] = (unsigned char) (i * 13 + i / 253 + seed * 101);
}

/* Pairs of bytes with as many between them; then the same, contiguous. */
static MPI_Datatype type_make(int is_contig)
{
    MPI_Datatype type;

    if (is_contig)
        MPI_Type_contiguous(PART, MPI_BYTE, &type);
    else
        MPI_Type_vector(PART / 4, 2, 4, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

/* The expected result of packing the part, if it has these bytes. */
static int expected_make(unsigned char *expected, int is_contig)
{
    int n = 0;

    for (int i = 0; i < PART; i++) {
        if (is_contig || i % 4 < 2)
            expected[n++] = bytes[i];
    }
    return n;
}

/* Compare, unless any result is allowed. */
static void compare(const char *what, const unsigned char *seen, const unsigned char *expected,
                    size_t n)
{
    char text[100];

    snprintf(text, sizeof(text), "%s memory, %s", kind_name, what);
    if (!is_off)
        report_compare(text, seen, expected, n);
}

static void pack_check(const char *what, const struct mem *mem, int is_contig)
{
    static unsigned char expected[PART];
    MPI_Datatype type = type_make(is_contig);
    int position = 0, n = expected_make(expected, is_contig);

    memset(packed, 0, PART);
    CHECK_MPI(MPI_Pack(mem->addr + size - PART, 1, type, packed, PART, &position, MPI_COMM_SELF));
    CHECK(position == n);
    compare(what, packed, expected, (size_t) n);
    MPI_Type_free(&type);
}

static void unpack_check(const char *what, const struct mem *mem)
{
    static unsigned char seen[PART];
    int position = 0;

    CHECK_MPI(MPI_Unpack(bytes, PART, &position, mem->addr + size - PART, PART, MPI_BYTE,
                         MPI_COMM_SELF));
    CU(CtxSynchronize());
    mem_read(mem, size - PART, seen, PART);
    compare(what, seen, bytes, PART);
}

enum { COPY_IN, COPY_WITHIN, FILL, FILL_UNDER, NCALLS };

/* One of the calls, then MPI. */
static void call_run(int call, const struct mem *mem, const struct mem *source, unsigned seed,
                     int is_contig)
{
    CUdeviceptr all = (CUdeviceptr) mem->addr, part = all + size - PART;

    bytes_draw(seed);
    switch (call) {
        case COPY_IN:
            CU(Memcpy(part, (CUdeviceptr) bytes, PART));
            pack_check("copied from pageable memory", mem, is_contig);
            break;
        case COPY_WITHIN:
            mem_write(source, size - PART, bytes, PART);
            CU(Memcpy(all, (CUdeviceptr) source->addr, size));
            pack_check("copied within the device", mem, is_contig);
            break;
        case FILL:
            memset(bytes, (int) seed, PART);
            CU(MemsetD8(all, (unsigned char) seed, size));
            pack_check("filled", mem, is_contig);
            break;
        default:
            CU(MemsetD8(all, 0xee, size));
            unpack_check("received after a fill", mem);
    }
}

/* Each of the calls on memory that MPI has not seen. */
static void first_calls_run(enum mem_kind kind, const struct mem *source)
{
    for (int i = 0; i < 2 * NCALLS; i++) {
        struct mem mem;

        mem_alloc(&mem, kind, size);
        CU(CtxSetCurrent(mem.ctx));
        call_run(i / 2, &mem, source, 70 + i, i % 2);
        CU(CtxSynchronize());
        mem_free(&mem);
    }
}

/* MPI waits once for new memory, and not at all for memory that the driver keeps in order. */
static void waits_count(enum mem_kind kind, struct mem *mem)
{
    unsigned long long before = report_variable("gpudt_memops_waits"), waits;

    bytes_draw(3);
    mem_write(mem, size - PART, bytes, PART);
    for (int i = 0; i < 3; i++)
        pack_check("at rest", mem, i % 2);
    waits = report_variable("gpudt_memops_waits") - before;
    if (is_off || kind == MEM__MANAGED)
        CHECK(waits == 0);
    else if (kind == MEM__MAPPED || kind == MEM__POOL)
        CHECK(waits <= 1);      /* if mem_write was still running */
    else
        CHECK(waits == 1);
}

static int stop;

/* Packs repeatedly from memory that the driver cannot mark. */
static void *packs_run(void *arg)
{
    const struct mem *mem = arg;

    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        int there, position = 0;

        CHECK_MPI(MPI_Pack(mem->addr, 1, MPI_INT, &there, sizeof(there), &position, MPI_COMM_SELF));
    }
    return NULL;
}

/* MPI does not wait for memory it knows while other threads use other known memory. */
static void waits_beside_pool_count(void)
{
    unsigned long long before;
    struct mem plain, pool;
    pthread_t thread;

    kind_name = mem_name(MEM__DEVICE);
    size = PART;
    mem_alloc(&plain, MEM__DEVICE, size);
    mem_alloc(&pool, MEM__POOL, size);
    bytes_draw(9);
    mem_write(&plain, 0, bytes, PART);
    mem_write(&pool, 0, bytes, PART);
    pack_check("before", &plain, 0);
    pack_check("before", &pool, 0);
    before = report_variable("gpudt_memops_waits");
    pthread_create(&thread, NULL, packs_run, &pool);
    for (int i = 0; i < 300; i++)
        pack_check("beside", &plain, 0);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    CHECK(report_variable("gpudt_memops_waits") == before);
    mem_free(&plain);
    mem_free(&pool);
}

/* Datatypes over all allocations: in a list, from the last to the first, or, if they are at equal distances, by
 * pairs of two blocks, or by the count of a call. */
enum shape { LIST, BACKWARDS, PAIRS, REPEATED, NSHAPES };

static MPI_Datatype shape_make(enum shape shape, const MPI_Aint * at, int n)
{
    const MPI_Aint distance = at[1] - at[0], two[] = { at[0], at[1] };
    const int lengths[] = { PART, PART - 8 };   /* or it would be a vector of blocks */
    MPI_Datatype type, inner;
    MPI_Aint turned[MANY];

    switch (shape) {
        case LIST:
            MPI_Type_create_hindexed_block(n, PART, at, MPI_BYTE, &type);
            break;
        case BACKWARDS:
            for (int i = 0; i < n; i++)
                turned[i] = at[n - 1 - i];
            MPI_Type_create_hindexed_block(n, PART, turned, MPI_BYTE, &type);
            break;
        case PAIRS:
            MPI_Type_create_hindexed(2, lengths, two, MPI_BYTE, &inner);
            MPI_Type_create_hvector(n / 2, 1, 2 * distance, inner, &type);
            MPI_Type_free(&inner);
            break;
        default:
            MPI_Type_create_hindexed_block(1, PART, at, MPI_BYTE, &inner);
            MPI_Type_create_resized(inner, 0, distance, &type);
            MPI_Type_free(&inner);
    }
    MPI_Type_commit(&type);
    return type;
}

/* All allocations of a buffer with absolute addresses are marked. */
static void lists_check(enum shape shape, int first_is_host, int n)
{
    static unsigned char all[MANY * PART];
    struct mem mem[MANY];
    MPI_Datatype type;
    MPI_Aint at[MANY];
    int position = 0, is_even = 1;

    for (int i = 0; i < n; i++) {
        mem_alloc(&mem[i], i == 0 && first_is_host ? MEM__PAGEABLE : MEM__DEVICE, PART);
        MPI_Get_address(mem[i].addr, &at[i]);
        is_even = is_even && (i < 2 || at[i] - at[i - 1] == at[1] - at[0]);
    }
    if (!is_even && shape > BACKWARDS)
        shape = LIST;
    type = shape_make(shape, at, n);
    CHECK_MPI(MPI_Pack(MPI_BOTTOM, shape == REPEATED ? n : 1, type, all, sizeof(all), &position,
                       MPI_COMM_SELF));
    for (int i = first_is_host; i < n; i++) {
        unsigned is_marked = 0;

        CU(PointerGetAttribute(&is_marked, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, (CUdeviceptr) mem[i].addr));
        if (is_marked == (unsigned) is_off)
            report_fail("shape %d: allocation %d of %d is%s marked", shape, i, n, is_off ? "" : " not");
    }
    MPI_Type_free(&type);
    for (int i = 0; i < n; i++)
        mem_free(&mem[i]);
}

/* The calls with a context current that is not MPI's: memory of these kinds belongs to none. */
static void own_context_run(enum mem_kind kind)
{
    struct mem mem, source;
    CUcontext own;
    CUdevice device;

    kind_name = mem_name(kind);
    size = gpu.is_emulated ? (size_t) 1 << 20 : (size_t) 1 << 28;
    mem_alloc(&mem, kind, size);
    mem_alloc(&source, kind, size);
    CU(DeviceGet(&device, 0));
    CU(CtxCreate(&own, NULL, 0, device));
    for (int i = 0; i < 2 * NCALLS; i++)
        call_run(i % NCALLS, &mem, &source, 170 + i, i / NCALLS);
    CHECK(gpu_get_current() == own);
    CU(CtxSynchronize());
    CU(CtxDestroy(own));
    gpu_set_current(0);
    mem_free(&mem);
    mem_free(&source);
}

static void kind_run(enum mem_kind kind)
{
    struct mem mem, source;

    kind_name = mem_name(kind);
    /* long enough to be observed on a real GPU; emulated operations are delayed */
    size = gpu.is_emulated || kind == MEM__MANAGED ? (size_t) 1 << 20 : (size_t) 1 << 28;
    mem_alloc(&source, kind == MEM__MANAGED ? MEM__DEVICE : kind, size);
    CU(CtxSetCurrent(source.ctx));
    first_calls_run(kind, &source);
    mem_alloc(&mem, kind, size);
    CU(CtxSetCurrent(mem.ctx));
    waits_count(kind, &mem);
    for (int i = 0; i < 4 * NCALLS; i++)
        call_run(i % NCALLS, &mem, &source, i, i / NCALLS % 2);
    CU(CtxSynchronize());
    mem_free(&mem);
    mem_free(&source);
}

int main(int argc, char **argv)
{
    int provided;

    is_off = argc > 1 && strcmp(argv[1], "off") == 0;
    if (is_off)
        setenv("MPIR_CVAR_GPUDT_SYNC_MEMOPS", "0", 1);
    /* The machine may be busy, and emulated operations are delayed */
    setenv("MPIR_CVAR_GPUDT_SYNC_MEMOPS_WAIT", "1000000", 1);
    report_time_limit(120);
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    /* first, as new allocations are at equal distances */
    for (enum shape shape = LIST; shape < NSHAPES; shape++)
        lists_check(shape, 0, MANY);
    lists_check(LIST, 1, MANY);
    lists_check(LIST, 1, 3);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (mem_exists(kinds[i]))
            kind_run(kinds[i]);
    }
    gpu_set_current(0);
    own_context_run(MEM__POOL);
    own_context_run(MEM__MAPPED);
    if (report_may_thread("packing in another thread"))
        waits_beside_pool_count();
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
