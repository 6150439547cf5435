/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests more than 2^32 elements and more than 4 GiB: every byte packed, then unpacked, is checked,
 * and so are all gaps. Needs 13 GB of GPU memory and some minutes; for real GPUs. */

#include "gpu.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT (((MPI_Count) 1 << 32) + 12345)
#define PERIOD ((size_t) 16777259)      /* bytes, a prime: the contents do not repeat at round
                                         * offsets */
#define GAP 0x3c

static unsigned char pattern[2 * PERIOD], chunk[PERIOD];
static struct mem user, packed;

static void memory_fill(const struct mem *mem)
{
    for (size_t off = 0; off < mem->sz; off += PERIOD)
        mem_write(mem, off, pattern, mem->sz - off < PERIOD ? mem->sz - off : PERIOD);
}

static void memory_set(const struct mem *mem, unsigned char value)
{
    memset(chunk, value, PERIOD);
    for (size_t off = 0; off < mem->sz; off += PERIOD)
        mem_write(mem, off, chunk, mem->sz - off < PERIOD ? mem->sz - off : PERIOD);
}

/* Byte i of the memory must be byte `step * i` of the pattern, for n bytes. */
static void packed_check(const char *what, size_t n, size_t step)
{
    size_t at = 0, nwrong = 0, first_wrong = 0;

    for (size_t off = 0; off < n; off += PERIOD) {
        size_t part = n - off < PERIOD ? n - off : PERIOD;

        mem_read(&packed, off, chunk, part);
        for (size_t i = 0; i < part; i++) {
            if (chunk[i] != pattern[at] && nwrong++ == 0)
                first_wrong = off + i;
            at += step;
            at -= at >= PERIOD ? PERIOD : 0;
        }
    }
    if (nwrong)
        report_fail("%s: %zu bytes are wrong, the first is %zu", what, nwrong, first_wrong);
}

/* Bytes 0, 2, 4 ... must be the pattern's 0, 1, 2 ...; the others GAP, or anything at the end. */
static void unpacked_check(const char *what)
{
    size_t at = 0, nwrong = 0, first_wrong = 0, n = 2 * (size_t) COUNT - 1;
    const size_t part_max = PERIOD - 1; /* even */

    for (size_t off = 0; off < n; off += part_max) {
        size_t part = n - off < part_max ? n - off : part_max;

        mem_read(&user, off, chunk, part);
        for (size_t i = 0; i < part; i++) {
            unsigned char want = i % 2 ? GAP : pattern[at];

            if (chunk[i] != want && nwrong++ == 0)
                first_wrong = off + i;
            at += i % 2 == 0;
            at -= at >= PERIOD ? PERIOD : 0;
        }
    }
    if (nwrong)
        report_fail("%s: %zu bytes are wrong, the first is %zu", what, nwrong, first_wrong);
}

int main(void)
{
    MPI_Datatype type;
    MPI_Count position = 0;

    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    srand(5);
    for (size_t i = 0; i < PERIOD; i++)
        pattern[i] = pattern[i + PERIOD] = (unsigned char) (rand() >> 7);
    mem_alloc(&user, MEM__DEVICE, 2 * (size_t) COUNT);
    mem_alloc(&packed, MEM__DEVICE, (size_t) COUNT);
    MPI_Type_create_hvector_c(COUNT, 1, 2, MPI_BYTE, &type);
    MPI_Type_commit(&type);

    memory_fill(&user);
    CHECK_MPI(MPI_Pack_c(user.addr, 1, type, packed.addr, COUNT, &position, MPI_COMM_SELF));
    CHECK(position == COUNT);
    packed_check("packed vector", (size_t) COUNT, 2);

    memory_set(&user, GAP);
    memory_fill(&packed);
    position = 0;
    CHECK_MPI(MPI_Unpack_c(packed.addr, COUNT, &position, user.addr, 1, type, MPI_COMM_SELF));
    CHECK(position == COUNT);
    unpacked_check("unpacked vector");

    /* the same bytes as single elements of a type with a gap */
    MPI_Type_free(&type);
    MPI_Type_create_resized(MPI_BYTE, 0, 2, &type);
    MPI_Type_commit(&type);
    memory_fill(&user);
    memory_set(&packed, 0);
    position = 0;
    CHECK_MPI(MPI_Pack_c(user.addr, COUNT, type, packed.addr, COUNT, &position, MPI_COMM_SELF));
    packed_check("packed elements", (size_t) COUNT, 2);

    MPI_Type_free(&type);
    mem_free(&user);
    mem_free(&packed);
    MPI_Finalize();
    return report_done();
}
