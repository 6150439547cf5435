/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests datatypes at absolute addresses whose blocks are in allocations that adjoin: the end of one
 * and the beginning of the next are one contiguous block of the datatype, but the driver refuses a
 * copy that is in both of them. */

#include "gpu.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

#define NBUFFERS 64
#define SZ (128 << 10)          /* bytes of an allocation */
#define BOTH (2 * SZ)
#define ROW 64
#define STRIDE 512

static struct mem buffers[NBUFFERS];
static struct mem *first, *second;      /* second begins where first ends */
static unsigned char before[BOTH], after[BOTH], stream[BOTH], seen[BOTH];

static int adjoining_find(void)
{
    for (int i = 0; i < NBUFFERS && first == NULL; i++) {
        for (int j = 0; j < NBUFFERS; j++) {
            if (buffers[j].addr == buffers[i].addr + SZ) {
                first = &buffers[i];
                second = &buffers[j];
                break;
            }
        }
    }
    return first != NULL;
}

/* ---- datatypes, relative to the first allocation ---- */

static MPI_Datatype at_first(MPI_Datatype type)
{
    int one = 1;
    MPI_Aint displ;
    MPI_Datatype absolute;

    MPI_Get_address(first->addr, &displ);
    MPI_Type_create_hindexed(1, &one, &displ, type, &absolute);
    MPI_Type_commit(&absolute);
    return absolute;
}

static MPI_Datatype whole_make(void)
{
    int lens[2] = { SZ, SZ };
    MPI_Aint displs[2] = { 0, SZ };
    MPI_Datatype type;

    MPI_Type_create_hindexed(2, lens, displs, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

static MPI_Datatype rows_make(void)
{
    MPI_Datatype type;

    MPI_Type_create_hvector(BOTH / STRIDE, ROW, STRIDE, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

/* Runs of different lengths, one of them across the border. */
static MPI_Datatype runs_make(void)
{
    int lens[3] = { 1000, 7000, 3000 };
    MPI_Aint displs[3] = { 8, SZ - 2400, BOTH - 3000 };
    MPI_Datatype type;

    MPI_Type_create_hindexed(3, lens, displs, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

/* ---- transfers ---- */

static void both_write(void)
{
    for (int i = 0; i < BOTH; i++)
        before[i] = (unsigned char) rand();
    mem_write(first, 0, before, SZ);
    mem_write(second, 0, before + SZ, SZ);
}

static void both_read(void)
{
    mem_read(first, 0, seen, SZ);
    mem_read(second, 0, seen + SZ, SZ);
}

/* The same on copies in host memory: `stream` is the packed data of `before`, and `after` is what
 * unpacking other data leaves. Returns the packed bytes. */
static int expect(MPI_Datatype type, const unsigned char *other)
{
    int size, position = 0;

    MPI_Type_size(type, &size);
    MPI_Pack(before, 1, type, stream, size, &position, MPI_COMM_SELF);
    memcpy(after, before, BOTH);
    position = 0;
    MPI_Unpack(other, size, &position, after, 1, type, MPI_COMM_SELF);
    return size;
}

/* Transfers by MPI_BOTTOM and a datatype at the address of the first allocation. */
static void transfers(MPI_Datatype relative, enum mem_kind kind)
{
    static unsigned char other[BOTH];
    MPI_Datatype type = at_first(relative);
    struct mem packed;
    int size, position = 0;

    mem_alloc(&packed, kind, BOTH);
    both_write();
    for (int i = 0; i < BOTH; i++)
        other[i] = (unsigned char) rand();
    size = expect(relative, other);

    CHECK_MPI(MPI_Pack(MPI_BOTTOM, 1, type, packed.addr, size, &position, MPI_COMM_SELF));
    mem_read(&packed, 0, seen, (size_t) size);
    report_compare("packed data", seen, stream, (size_t) size);
    mem_write(&packed, 0, other, (size_t) size);
    position = 0;
    CHECK_MPI(MPI_Unpack(packed.addr, size, &position, MPI_BOTTOM, 1, type, MPI_COMM_SELF));
    both_read();
    report_compare("what unpacking wrote", seen, after, BOTH);

    both_write();
    expect(relative, other);
    CHECK_MPI(MPI_Sendrecv(MPI_BOTTOM, 1, type, 0, 0, packed.addr, size, MPI_BYTE, 0, 0,
                           MPI_COMM_SELF, MPI_STATUS_IGNORE));
    mem_read(&packed, 0, seen, (size_t) size);
    report_compare("a message", seen, stream, (size_t) size);
    mem_write(&packed, 0, other, (size_t) size);
    CHECK_MPI(MPI_Sendrecv(packed.addr, size, MPI_BYTE, 0, 0, MPI_BOTTOM, 1, type, 0, 0,
                           MPI_COMM_SELF, MPI_STATUS_IGNORE));
    both_read();
    report_compare("what a message wrote", seen, after, BOTH);
    mem_free(&packed);
    MPI_Type_free(&type);
}

/* A fill of the second allocation alone, which MPI has to wait for, too. */
static void fill_in_flight(MPI_Datatype relative)
{
    MPI_Datatype type = at_first(relative);
    int position = 0;

    both_write();
    CU(MemsetD8((CUdeviceptr) (second->addr), 0x5a, SZ));
    CHECK_MPI(MPI_Pack(MPI_BOTTOM, 1, type, stream, BOTH, &position, MPI_COMM_SELF));
    memset(before + SZ, 0x5a, SZ);
    report_compare("data behind a fill", stream, before, BOTH);
    MPI_Type_free(&type);
}

int main(void)
{
    MPI_Datatype types[3];

    report_time_limit(120);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    for (int i = 0; i < NBUFFERS; i++)
        mem_alloc(&buffers[i], MEM__DEVICE, SZ);
    CHECK(adjoining_find());
    if (first) {
        types[0] = whole_make();
        types[1] = rows_make();
        types[2] = runs_make();
        fill_in_flight(types[0]);
        for (int kind = 0; kind < MEM__NKINDS; kind++) {
            for (int i = 0; i < 3 && mem_exists(kind); i++)
                transfers(types[i], kind);
        }
        for (int i = 0; i < 3; i++)
            MPI_Type_free(&types[i]);
    }
    for (int i = 0; i < NBUFFERS; i++)
        mem_free(&buffers[i]);
    MPI_Finalize();
    return report_done();
}
