/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* What the program does to GPU memory by calls that look synchronous, as cudaMemcpy and cudaMemset do,
 * has happened when MPI reads the memory, and does not happen after MPI has written it. These calls
 * may return early: copies from pageable memory, copies within a device, fills. With "off",
 * MPIR_CVAR_GPUDT_SYNC_MEMOPS is 0: nothing waits and memory is left as it is. With "old", the
 * driver cannot mark contexts. */

#include "gpu.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* MPI gets the last part of a memory of which all is filled, so that the fill takes longer. */
#define PART 24576

static int is_off, is_old;
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

/* What packing the part gives. */
static int expected_make(unsigned char *expected, const unsigned char *from, int is_contig)
{
    int n = 0;

    for (int i = 0; i < PART; i++) {
        if (is_contig || i % 4 < 2)
            expected[n++] = from[i];
    }
    return n;
}

/* Compare, unless what is seen may be anything. */
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
    int position = 0, n = expected_make(expected, bytes, is_contig);

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

/* Each of the calls, then MPI, with memory that is new to MPI or is not any more. */
static void calls_run(struct mem *mem, struct mem *source, unsigned seed)
{
    CUdeviceptr at = (CUdeviceptr) (mem->addr + size - PART);

    bytes_draw(seed);
    CU(Memcpy(at, (CUdeviceptr) bytes, PART));
    pack_check("copied from pageable memory", mem, seed % 2);

    bytes_draw(seed + 1);
    mem_write(source, size - PART, bytes, PART);
    CU(Memcpy((CUdeviceptr) mem->addr, (CUdeviceptr) source->addr, size));
    pack_check("copied within the device", mem, seed % 2);

    memset(bytes, (int) seed, PART);
    CU(MemsetD8((CUdeviceptr) mem->addr, (unsigned char) seed, size));
    pack_check("filled", mem, seed % 2);

    bytes_draw(seed + 2);
    CU(MemsetD8((CUdeviceptr) mem->addr, 0xee, size));
    unpack_check("received after a fill", mem);
}

/* Start with each of the calls on memory that MPI has not seen. */
static void first_calls_run(enum mem_kind kind, struct mem *source)
{
    for (unsigned call = 0; call < 4; call++) {
        struct mem mem;

        mem_alloc(&mem, kind, size);
        CU(CtxSetCurrent(mem.ctx));
        bytes_draw(call);
        switch (call) {
            case 0:
                CU(Memcpy((CUdeviceptr) (mem.addr + size - PART), (CUdeviceptr) bytes, PART));
                pack_check("new, copied from pageable memory", &mem, 0);
                break;
            case 1:
                mem_write(source, size - PART, bytes, PART);
                CU(Memcpy((CUdeviceptr) mem.addr, (CUdeviceptr) source->addr, size));
                pack_check("new, copied within the device", &mem, 0);
                break;
            case 2:
                memset(bytes, 77, PART);
                CU(MemsetD8((CUdeviceptr) mem.addr, 77, size));
                pack_check("new, filled", &mem, 0);
                break;
            default:
                CU(MemsetD8((CUdeviceptr) mem.addr, 0xee, size));
                unpack_check("new, received after a fill", &mem);
        }
        CU(CtxSynchronize());
        mem_free(&mem);
    }
}

/* New memory is waited for once, and memory that the driver keeps in order anyway not at all. */
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
        CHECK(is_old ? waits == 3 : waits <= 1);        /* its context may be marked already */
    else
        CHECK(waits == 1);
}

static void kind_run(enum mem_kind kind)
{
    struct mem mem, source;

    kind_name = mem_name(kind);
    /* long enough on a real GPU to be seen; emulated operations are late */
    size = gpu.is_emulated || kind == MEM__MANAGED ? (size_t) 1 << 20 : (size_t) 1 << 28;
    mem_alloc(&source, kind == MEM__MANAGED ? MEM__DEVICE : kind, size);
    CU(CtxSetCurrent(source.ctx));
    first_calls_run(kind, &source);
    mem_alloc(&mem, kind, size);
    CU(CtxSetCurrent(mem.ctx));
    waits_count(kind, &mem);
    for (unsigned round = 0; round < 4; round++)
        calls_run(&mem, &source, round * 10);
    CU(CtxSynchronize());
    mem_free(&mem);
    mem_free(&source);
}

int main(int argc, char **argv)
{
    int provided;

    is_off = argc > 1 && strcmp(argv[1], "off") == 0;
    is_old = argc > 1 && strcmp(argv[1], "old") == 0;
    if (is_off)
        setenv("MPIR_CVAR_GPUDT_SYNC_MEMOPS", "0", 1);
    report_time_limit(120);
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (mem_exists(kinds[i]))
            kind_run(kinds[i]);
    }
    gpu_set_current(0);
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
