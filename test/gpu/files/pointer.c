/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* A shared file pointer that one process cannot use, as the system has no descriptor for its file:
 * all processes return, that one with an error, and no data goes to a wrong place. */

#include "files.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define N 100                   /* bytes of a process */
#define MANY 2500               /* calls, more than there are communicators */

/* Let this process open so many files more; -1: as many as before. */
static void descriptors_limit(int n)
{
    static rlim_t all;
    struct rlimit limit;
    int fd = dup(0);

    close(fd);
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    if (all == 0)
        all = limit.rlim_cur;
    limit.rlim_cur = n < 0 ? all : (rlim_t) (fd + n);
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

static void io_error_check(int err, const char *what, const char *driver)
{
    int class;

    MPI_Error_class(err, &class);
    if (class != MPI_ERR_IO)
        report_fail("%s%s: error class %d", driver, what, class);
}

/* The bytes of the file that a process has written, or none. */
static void written_check(const char *buf, bool is_written, int at, const char *what)
{
    char seen[N], expected[N];
    int fd = open(file_path(), O_RDONLY);

    memset(expected, GAP, N);
    CHECK(pread(fd, seen, N, at * N) == N);
    report_compare(what, seen, is_written ? buf : expected, N);
    close(fd);
}

/* One call, while the last process cannot open the pointer's file. */
static void form_check(const char *driver, enum form form, bool is_read)
{
    const int victim = nranks - 1;
    char buf[N];
    MPI_Count got;
    int err;

    memset(buf, 1 + rank, N);
    file_fill(2 * nranks * N);
    file_open_with(driver, MPI_MODE_RDWR, MPI_INFO_NULL);
    if (rank == victim)
        descriptors_limit(0);
    err = call(form, is_read, 0, buf, N, MPI_BYTE, &got);
    if (rank == victim) {
        descriptors_limit(-1);
        io_error_check(err, forms[form], driver);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (!is_read && rank == 0)
        written_check(buf, err == MPI_SUCCESS, 0, forms[form]);
    if (!is_read && rank == victim)
        written_check(buf, false, rank, forms[form]);
    /* the next one works */
    CHECK_MPI(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    CHECK_MPI(call(form, is_read, 0, buf, N, MPI_BYTE, &got));
    CHECK(got == N);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!is_read)
        written_check(buf, true, rank, forms[form]);
    CHECK_MPI(MPI_File_close(&file));
}

/* All processes hear of it. */
static void seek_check(const char *driver, int whence)
{
    MPI_Offset at = -1;

    file_fill(nranks * N);
    file_open_with(driver, MPI_MODE_RDWR, MPI_INFO_NULL);
    if (rank == 0)
        descriptors_limit(0);
    io_error_check(MPI_File_seek_shared(file, 7, whence), "seek_shared", driver);
    if (rank == 0)
        descriptors_limit(-1);
    CHECK(MPI_File_seek_shared(file, -7, whence == MPI_SEEK_END ? MPI_SEEK_SET : whence));
    CHECK_MPI(MPI_File_seek_shared(file, 7, MPI_SEEK_SET));
    CHECK_MPI(MPI_File_get_position_shared(file, &at));
    CHECK(at == 7);
    CHECK_MPI(MPI_File_close(&file));
}

static void append_check(const char *driver)
{
    char name[400];
    int err;

    snprintf(name, sizeof(name), "%s%s", driver, file_path());
    file_fill(N);
    if (rank == 0)
        descriptors_limit(1);
    err = MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_APPEND, MPI_INFO_NULL,
                        &file);
    if (rank == 0)
        descriptors_limit(-1);
    io_error_check(err, "open to append", driver);
    file_open_with(driver, MPI_MODE_RDWR | MPI_MODE_APPEND, MPI_INFO_NULL);
    CHECK_MPI(MPI_File_close(&file));
}

/* Each of them has had a communicator. */
static void many_check(const char *driver)
{
    MPI_Offset at;
    char byte;
    int err = MPI_SUCCESS;

    file_open_with(driver, MPI_MODE_RDWR, MPI_INFO_NULL);
    descriptors_limit(0);
    for (int i = 0; i < MANY; i++)
        err = MPI_File_read_shared(file, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE);
    descriptors_limit(-1);
    io_error_check(err, "read_shared again and again", driver);
    CHECK_MPI(MPI_File_get_position_shared(file, &at));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_MPI(MPI_File_close(&file));
}

void pointer(void)
{
    static const enum form shared[] = { SHARED, I_SHARED, ORDERED, SPLIT_ORDERED };
    static const int whences[] = { MPI_SEEK_SET, MPI_SEEK_CUR, MPI_SEEK_END };
    static const char *const drivers[] = { "", "nfs:" };

    for (int d = 0; d < 2; d++) {
        for (int i = 0; i < 4; i++)
            for (int is_read = 0; is_read < 2; is_read++)
                form_check(drivers[d], shared[i], is_read);
        for (int i = 0; i < 3; i++)
            seek_check(drivers[d], whences[i]);
        append_check(drivers[d]);
        many_check(drivers[d]);
    }
}
