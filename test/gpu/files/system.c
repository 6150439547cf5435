/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The file as the operating system shows it: what tests expect of it, and give it to read. Must not
 * use MPI-IO. */

#include "files.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fd;
static char folder[256], path[300];

void folder_make(void)
{
    const char *tmp = getenv("TMPDIR");

    if (rank == 0) {
        snprintf(folder, sizeof(folder), "%s/gpudt-file-XXXXXX", tmp ? tmp : "/tmp");
        if (mkdtemp(folder) == NULL)
            perror(folder), exit(1);
    }
    MPI_Bcast(folder, sizeof(folder), MPI_CHAR, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof(path), "%s/file", folder);
    if (rank == 0)
        close(open(path, O_RDWR | O_CREAT, 0600));
    MPI_Barrier(MPI_COMM_WORLD);
    fd = open(path, O_RDWR);
    if (fd < 0)
        perror(path), exit(1);
}

void folder_remove(void)
{
    close(fd);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        unlink(path);
        if (rmdir(folder))
            perror(folder), report_failures++;
    }
}

const char *file_path(void)
{
    return path;
}

MPI_Offset place(const struct view *v, MPI_Offset i)
{
    const MPI_Offset e = i / v->esize;

    return v->disp + (e / v->block * v->stride + e % v->block) * v->esize + i % v->esize;
}

/* Position i of the stream has this byte of the message: ints have the opposite order of bytes in
 * an external32 file. */
static MPI_Aint turned(const struct view *v, MPI_Aint i)
{
    return v->is_external ? i / 4 * 4 + 3 - i % 4 : i;
}

void file_fill(MPI_Offset sz)
{
    char *gap = malloc(sz);

    memset(gap, GAP, sz);
    if (rank == 0) {
        CHECK(ftruncate(fd, 0) == 0);
        CHECK(pwrite(fd, gap, sz, 0) == sz);
    }
    free(gap);
    MPI_Barrier(MPI_COMM_WORLD);
}

void file_cut(MPI_Offset sz)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        CHECK(ftruncate(fd, sz) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
}

void file_put(const struct view *v, MPI_Offset begin, unsigned seed, MPI_Aint n)
{
    for (MPI_Aint i = 0; i < n; i++) {
        unsigned char byte = side_byte(seed, turned(v, i));
        CHECK(pwrite(fd, &byte, 1, place(v, begin + i)) == 1);
    }
}

void file_check(const struct view *v, MPI_Offset begin, unsigned seed, MPI_Aint n,
                const char *what)
{
    MPI_Offset sz = place(v, begin + n - 1) + 1, low = place(v, begin);
    unsigned char *seen = malloc(sz - low), *expected = malloc(sz - low);

    CHECK(pread(fd, seen, sz - low, low) == sz - low);
    memcpy(expected, seen, sz - low);
    for (MPI_Aint i = 0; i < n; i++)
        expected[place(v, begin + i) - low] = side_byte(seed, turned(v, i));
    report_compare(what, seen, expected, sz - low);
    free(seen);
    free(expected);
}

void gap_check(MPI_Offset from, MPI_Offset to)
{
    unsigned char *seen = malloc(to - from + 1), *expected = malloc(to - from + 1);

    CHECK(pread(fd, seen, to - from, from) == to - from);
    memset(expected, GAP, to - from);
    report_compare("what nobody writes", seen, expected, to - from);
    free(seen);
    free(expected);
}

void gaps_check(MPI_Offset sz, const struct view *v, MPI_Aint period)
{
    unsigned char *seen = malloc(sz);

    if (period * v->esize > 0 && rank == 0) {
        CHECK(pread(fd, seen, sz, 0) == sz);
        for (MPI_Offset i = v->disp; i < sz; i++) {
            if ((i - v->disp) / v->esize % v->stride >= period && seen[i] != GAP) {
                report_fail("byte %lld of the file, which is in no view, was written",
                            (long long) i);
                break;
            }
        }
    }
    free(seen);
}
