/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Views, datatypes, counts and calls that are not common, with host buffers: places far in a view,
 * data before a buffer's address, parts of an element, views that are refused, split calls that cannot
 * begin, files that are open for reading only. */

#include "files.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define N 100

static const char *const drivers[] = { "", "nfs:" };

#define NDRIVERS (int) (sizeof(drivers) / sizeof(drivers[0]))

static int error_class(int err)
{
    int class = MPI_SUCCESS;

    if (err != MPI_SUCCESS)
        MPI_Error_class(err, &class);
    return class;
}

static void file_set(const char *bytes, size_t n, MPI_Offset off)
{
    int fd = open(file_path(), O_RDWR);

    CHECK(pwrite(fd, bytes, n, off) == (ssize_t) n);
    close(fd);
}

static void file_compare(const char *expected, size_t n, MPI_Offset off, const char *what)
{
    char seen[1000] = "";
    int fd = open(file_path(), O_RDONLY);

    CHECK(pread(fd, seen, n, off) == (ssize_t) n);
    report_compare(what, seen, expected, n);
    close(fd);
}

/* Positions in a view of more than 2^31 etypes: the filetype has a block of 3 GiB, and one after that. */
static void far_places(void)
{
    const MPI_Aint block = (MPI_Aint) 3 << 30, gap = 1 << 20, extent = 2 * block;
    MPI_Datatype kib, types[2], filetype, view;
    int lens[2] = { 3 << 20, N };
    MPI_Aint disps[2] = { 0, block + gap };
    char expected[N], buf[2 * N];
    MPI_Info info;

    memset(expected, 'x', N);
    MPI_Type_contiguous(1024, MPI_BYTE, &kib);
    types[0] = kib;
    types[1] = MPI_BYTE;
    MPI_Type_create_struct(2, lens, disps, types, &filetype);
    MPI_Type_create_resized(filetype, 0, extent, &view);
    MPI_Type_commit(&view);
    for (int i = 0; i < 2 * NDRIVERS; i++) {
        file_cut(0);
        file_cut(extent + 1);
        if (rank == 0)
            file_set(expected, N, block + gap);
        MPI_Info_create(&info);
        MPI_Info_set(info, "romio_ds_read", i % 2 ? "disable" : "enable");
        file_open_with(drivers[i / 2], MPI_MODE_RDWR, info);
        CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, view, "native", MPI_INFO_NULL));
        memset(buf, 0, sizeof(buf));
        CHECK_MPI(MPI_File_read_at(file, block, buf, N, MPI_BYTE, MPI_STATUS_IGNORE));
        report_compare("a place far in the view", buf, expected, N);
        memset(buf, 1, sizeof(buf));
        CHECK_MPI(MPI_File_read_at(file, block - 10, buf, N, MPI_BYTE, MPI_STATUS_IGNORE));
        CHECK(buf[0] == 0 && buf[9] == 0);
        report_compare("a place before it", buf + 10, expected, N - 10);
        CHECK_MPI(MPI_File_close(&file));
        MPI_Info_free(&info);
    }
    file_cut(0);
    MPI_Type_free(&view);
    MPI_Type_free(&filetype);
    MPI_Type_free(&kib);
}

/* Data that begins before the address of the buffer. */
static void data_before(void)
{
    static const MPI_Aint before[1] = { -40 };
    static const int len[1] = { 10 };
    MPI_Datatype type[3], ints = MPI_INT;
    int data[20], seen[20];

    MPI_Type_create_hindexed(1, len, before, MPI_INT, &type[0]);
    MPI_Type_create_struct(1, len, before, &ints, &type[1]);
    MPI_Type_create_hindexed_block(1, 10, before, MPI_INT, &type[2]);
    for (int i = 0; i < 20; i++)
        data[i] = 100 * rank + i;
    for (int i = 0; i < 3; i++) {
        MPI_Type_commit(&type[i]);
        file_fill(1000);
        file_open(MPI_MODE_RDWR, MPI_INFO_NULL);
        CHECK_MPI(MPI_File_write_at_all(file, 40 * rank, data + 10, 1, type[i], MPI_STATUS_IGNORE));
        MPI_Barrier(MPI_COMM_WORLD);
        file_compare((char *) data, 40, 40 * rank, "data before the buffer");
        memset(seen, 0, sizeof(seen));
        CHECK_MPI(MPI_File_read_at(file, 40 * rank, seen + 10, 1, type[i], MPI_STATUS_IGNORE));
        report_compare("data before the buffer", seen, data, 40);
        CHECK(seen[10] == 0);
        CHECK_MPI(MPI_File_close(&file));
        MPI_Type_free(&type[i]);
    }
}

static void parts_of_elements(void)
{
    MPI_Request request;
    MPI_Status status;
    MPI_Count got;
    int buf[10], n;

    for (int d = 0; d < NDRIVERS; d++) {
        file_fill(10);
        file_open_with(drivers[d], MPI_MODE_RDWR, MPI_INFO_NULL);
        CHECK_MPI(MPI_File_iread_at(file, 0, buf, 10, MPI_INT, &request));
        CHECK_MPI(MPI_Wait(&request, &status));
        MPI_Get_elements_x(&status, MPI_BYTE, &got);
        if (got != 10)
            report_fail("%siread of a part of an element: %ld bytes", drivers[d], (long) got);
        CHECK_MPI(MPI_File_iread_at(file, 2, buf, 10, MPI_INT, &request));
        CHECK_MPI(MPI_Wait(&request, &status));
        MPI_Get_count(&status, MPI_INT, &n);
        CHECK(n == 2);
        CHECK_MPI(MPI_File_close(&file));
    }
}

/* The file keeps its view. */
static void refused_views(void)
{
    static const MPI_Aint negative[2] = { -100, 0 };
    static const int lens[2] = { 10, 10 }, overlapping[2] = { 0, 5 };
    MPI_Datatype bad[2], pair, view, none = MPI_DATATYPE_NULL;
    char buf[N], expected[3 * N];
    MPI_Datatype etype, filetype;
    MPI_Offset disp;
    char rep[MPI_MAX_DATAREP_STRING];

    MPI_Type_create_hindexed(2, lens, negative, MPI_BYTE, &bad[0]);
    MPI_Type_indexed(2, lens, overlapping, MPI_BYTE, &bad[1]);
    MPI_Type_contiguous(2, MPI_BYTE, &pair);
    MPI_Type_create_resized(pair, 0, 4, &view);
    MPI_Type_commit(&pair);
    MPI_Type_commit(&view);
    for (int i = 0; i < 2; i++) {
        MPI_Type_commit(&bad[i]);
        file_fill(3 * N);
        memset(expected, GAP, sizeof(expected));
        file_open(MPI_MODE_RDWR, MPI_INFO_NULL);
        CHECK_MPI(MPI_File_set_view(file, 10, pair, view, "native", MPI_INFO_NULL));
        for (int turn = 0; turn < 3; turn++) {
            CHECK(MPI_File_set_view(file, 0, MPI_BYTE, bad[i], "native", MPI_INFO_NULL));
            CHECK(MPI_File_set_view(file, 0, bad[i], bad[i], "native", MPI_INFO_NULL));
        }
        CHECK_MPI(MPI_File_get_view(file, &disp, &etype, &filetype, rep));
        CHECK(disp == 10 && etype != none && filetype != none);
        MPI_Type_free(&etype);
        MPI_Type_free(&filetype);
        memset(buf, 7, N);
        for (int k = 0; k < N; k += 2)
            memset(expected + 10 + 2 * k, 7, 2);
        CHECK_MPI(MPI_File_write_at(file, 0, buf, N / 2, pair, MPI_STATUS_IGNORE));
        MPI_Barrier(MPI_COMM_WORLD);
        file_compare(expected, sizeof(expected), 0, "a file that has refused a view");
        CHECK_MPI(MPI_File_close(&file));
        MPI_Type_free(&bad[i]);
    }
    MPI_Type_free(&view);
    MPI_Type_free(&pair);
}

/* A split call with a count that is no number of etypes; then others. */
static void split_calls(void)
{
    char buf[N];

    memset(buf, 3, N);
    file_fill(1000);
    file_open(MPI_MODE_RDWR, MPI_INFO_NULL);
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    CHECK(MPI_File_write_all_begin(file, buf, 3, MPI_BYTE));
    CHECK_MPI(MPI_File_write_all_begin(file, buf, N, MPI_BYTE));
    CHECK_MPI(MPI_File_write_all_end(file, buf, MPI_STATUS_IGNORE));
    CHECK(MPI_File_write_ordered_begin(file, buf, 3, MPI_BYTE));
    CHECK_MPI(MPI_File_write_ordered_begin(file, buf, N, MPI_BYTE));
    CHECK_MPI(MPI_File_write_ordered_end(file, buf, MPI_STATUS_IGNORE));
    CHECK(MPI_File_write_ordered_end(file, buf, MPI_STATUS_IGNORE));
    CHECK(MPI_File_read_ordered_begin(file, buf, 3, MPI_BYTE));
    CHECK_MPI(MPI_File_read_ordered_begin(file, buf, N, MPI_BYTE));
    CHECK_MPI(MPI_File_read_ordered_end(file, buf, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_File_close(&file));
}

static void files_for_reading(void)
{
    char byte = 0;

    file_fill(N);
    for (int d = 0; d < NDRIVERS; d++) {
        file_open_with(drivers[d], MPI_MODE_RDONLY, MPI_INFO_NULL);
        CHECK_MPI(MPI_File_sync(file));
        CHECK(error_class(MPI_File_write_at(file, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE)) ==
              MPI_ERR_READ_ONLY);
        CHECK_MPI(MPI_File_close(&file));
    }
}

void rules(void)
{
    far_places();
    data_before();
    parts_of_elements();
    refused_views();
    split_calls();
    files_for_reading();
}
