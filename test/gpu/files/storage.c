/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* GPUDirect Storage, with MPIR_CVAR_GPUDT_STORAGE_MIN=8192: what goes directly and what does not, and that
 * the data is right wherever an operation begins and ends, whether it works or not. */

#include "files.h"

#include <string.h>

#define UNIT 4096
#define SZ (40 * UNIT)          /* bytes that each process has in the file */

static int share;               /* 1: all goes directly that can; 2: half of it; 0: nothing */

/* Bytes of a range that are to go directly: in whole units. */
static MPI_Offset direct_of(MPI_Offset at, MPI_Offset n)
{
    const MPI_Offset first = (at + UNIT - 1) / UNIT * UNIT, end = (at + n) / UNIT * UNIT;

    return share && n >= 2 * UNIT && end > first ? (end - first) / share / UNIT * UNIT : 0;
}

/* One operation of n bytes.
 *   direct  (IN)  bytes that GPUDirect Storage is to move */
static void access_check(enum form form, bool is_read, MPI_Offset at, MPI_Aint n, enum mem_kind kind,
                         MPI_Offset direct)
{
    const struct view v = WHOLE_FILE(0);
    const unsigned long long before = report_variable("gpudt_storage_bytes");
    unsigned long long moved;
    MPI_Count got;
    struct side s;

    side_make(&s, kind, MPI_BYTE, n, 0);
    if (is_read) {
        file_put(&v, at, 5, n);
        side_clear(&s, 5);
    } else {
        side_fill(&s, 5);
    }
    seek(form, at);
    CHECK_MPI(call(form, is_read, at, s.buf, (int) n, MPI_BYTE, &got));
    moved = report_variable("gpudt_storage_bytes") - before;
    if (got != n || moved != direct)
        report_fail("%s, %s of %ld bytes at %lld, %s memory: %lld bytes, %llu directly, expected %lld",
                    forms[form], is_read ? "read" : "write", (long) n, (long long) at, mem_name(kind),
                    (long long) got, moved, (long long) direct);
    if (is_read)
        side_check(&s, forms[form], 5, n);
    else
        file_check(&v, at, 5, n, forms[form]);
    side_free(&s);
}

/* Ranges that begin and end anywhere in a unit. */
static void ranges(enum form form)
{
    static const MPI_Offset begins[] = { 0, 1, UNIT - 1 };
    static const MPI_Aint sizes[] = { 1, UNIT, 2 * UNIT - 1, 2 * UNIT, 3 * UNIT + 7, 30 * UNIT + 1 };

    for (int i = 0; i < 3 * 6 * 2; i++) {
        const MPI_Offset at = (MPI_Offset) rank * SZ + begins[i / 12];
        const MPI_Aint n = sizes[i / 2 % 6];

        file_fill(nranks * SZ);
        access_check(form, i % 2, at, n, MEM__DEVICE, direct_of(at, n));
        gap_check((MPI_Offset) rank * SZ, at);
        gap_check(at + n, (MPI_Offset) (rank + 1) * SZ);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* A read beyond the end of the file. */
static void end_check(MPI_Offset sz)
{
    const struct view v = WHOLE_FILE(0);
    struct side s;
    MPI_Count got;

    file_fill(sz);
    file_cut(sz);
    if (rank == 0)
        file_put(&v, 0, 6, sz);
    MPI_Barrier(MPI_COMM_WORLD);
    side_make(&s, MEM__DEVICE, MPI_BYTE, 5 * UNIT, 0);
    side_clear(&s, 6);
    CHECK_MPI(call(AT, true, 0, s.buf, 5 * UNIT, MPI_BYTE, &got));
    CHECK(got == sz);
    side_check(&s, "a read beyond the end", 6, sz);
    side_free(&s);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* What does not go directly. */
static void others(void)
{
    const MPI_Offset at = (MPI_Offset) rank * SZ;
    const struct view v = WHOLE_FILE(0);
    const unsigned long long before = report_variable("gpudt_storage_bytes");
    MPI_Datatype vector;
    struct side s;
    MPI_Count got;

    file_fill(nranks * SZ);
    for (int is_read = 0; is_read < 2; is_read++) {
        access_check(AT, is_read, at, 3 * UNIT, MEM__PAGEABLE, 0);
        access_check(AT, is_read, at, 3 * UNIT, MEM__PINNED, 0);
        access_check(AT, is_read, at, 3 * UNIT, MEM__MANAGED, 0);
    }
    MPI_Type_vector(UNIT, 1, 2, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    side_make(&s, MEM__DEVICE, vector, 2, 0);
    side_fill(&s, 9);
    CHECK_MPI(call(AT, false, at, s.buf, 2, vector, &got));
    file_check(&v, at, 9, s.size, "noncontiguous memory");
    side_free(&s);
    MPI_Type_free(&vector);
    CHECK(report_variable("gpudt_storage_bytes") == before);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A write of which the operating system accepts a part only. */
static void limit_check(void)
{
    const MPI_Offset at = (MPI_Offset) rank * SZ;
    int err, class = MPI_SUCCESS;
    struct side s;
    MPI_Count got;

    file_fill(0);
    side_make(&s, MEM__DEVICE, MPI_BYTE, 9 * UNIT, 0);
    side_fill(&s, 8);
    limit_set(at + 4 * UNIT + 100);
    err = call(AT, false, at, s.buf, 9 * UNIT, MPI_BYTE, &got);
    limit_set(0);
    MPI_Error_class(err, &class);
    if (class != MPI_ERR_IO)
        report_fail("a write beyond the limit: error class %d: %s", class, report_mpi_text(err));
    side_free(&s);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* In an atomic file ROMIO locks what it accesses. */
static void atomic_check(void)
{
    CHECK_MPI(MPI_File_set_atomicity(file, 1));
    file_fill(nranks * SZ);
    access_check(AT, false, (MPI_Offset) rank * SZ, 9 * UNIT, MEM__DEVICE, 0);
    CHECK_MPI(MPI_File_set_atomicity(file, 0));
}

void storage(const char *what)
{
    int provided;

    share = what[0] == 's' ? 1 : what[0] == 'h' ? 2 : 0;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    file_open(MPI_MODE_RDWR, MPI_INFO_NULL);
    ranges(AT);
    ranges(INDIVIDUAL);
    ranges(I_AT);
    end_check(3 * UNIT);
    end_check(3 * UNIT + 5);
    end_check(0);
    others();
    limit_check();
    atomic_check();
    CHECK_MPI(MPI_File_close(&file));
    MPI_T_finalize();
}
