/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* What a program does beside nonblocking collective operations: it moves the file pointer, which their
 * completion leaves; calls blocking operations of the file, also when processes have tested the pending
 * ones differently often; waits for one in a thread while another thread is in a blocking operation of
 * another file; and waits for those of two files, in different orders. Buffers in GPU memory take several rounds, with a small MPIR_CVAR_GPUDT_FILE_CHUNK. */

#include "files.h"

#include <pthread.h>
#include <unistd.h>

#define N 10000                 /* ints of an operation */
#define NOPS 3
#define BYTES ((MPI_Offset) N * 4)
#define PART (1 << 20)          /* bytes of a process's part of the file */
#define MS 1000                 /* for usleep */

static const enum mem_kind kinds[] = { MEM__PAGEABLE, MEM__DEVICE };

static struct side sides[NOPS];
static struct view view;

static void all_make(enum mem_kind kind, unsigned mark)
{
    view = (struct view) WHOLE_FILE((MPI_Offset) rank * PART);
    file_open(MPI_MODE_RDWR, MPI_INFO_NULL);
    CHECK_MPI(MPI_File_set_view(file, view.disp, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    for (int i = 0; i < NOPS; i++) {
        side_make(&sides[i], kind, MPI_INT, N, 0);
        side_fill(&sides[i], mark + i);
    }
}

static void all_check(unsigned mark, const char *what)
{
    CHECK_MPI(MPI_File_close(&file));
    for (int i = 0; i < NOPS; i++) {
        file_check(&view, i * BYTES, mark + i, BYTES, what);
        side_free(&sides[i]);
    }
}

static void position_check(MPI_Offset expected)
{
    MPI_Offset at;

    CHECK_MPI(MPI_File_get_position(file, &at));
    if (at != expected)
        report_fail("the file pointer is %ld, not %ld", (long) at, (long) expected);
}

static void pointer_moves(enum mem_kind kind)
{
    const unsigned mark = 10 * (unsigned) rank + 1;
    MPI_Request requests[2];

    all_make(kind, mark);
    for (int i = 0; i < 2; i++)
        CHECK_MPI(MPI_File_iwrite_all(file, sides[i].buf, N, MPI_INT, &requests[i]));
    CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    position_check(2 * N);
    CHECK_MPI(MPI_File_write_all(file, sides[2].buf, N, MPI_INT, MPI_STATUS_IGNORE));
    position_check(3 * N);

    CHECK_MPI(MPI_File_seek(file, N, MPI_SEEK_SET));
    side_clear(&sides[1], mark + 1);
    side_clear(&sides[0], mark);
    CHECK_MPI(MPI_File_iread_all(file, sides[1].buf, N, MPI_INT, &requests[1]));
    CHECK_MPI(MPI_File_iread_at_all(file, 0, sides[0].buf, N, MPI_INT, &requests[0]));
    CHECK_MPI(MPI_File_seek(file, 5, MPI_SEEK_SET));
    CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    position_check(5);
    for (int i = 0; i < 2; i++)
        side_check(&sides[i], "a read beside another", mark + i, BYTES);
    all_check(mark, "a write at the file pointer");
}

static void blocking_calls(enum mem_kind kind)
{
    const unsigned mark = 10 * (unsigned) rank + 4;
    MPI_Request requests[2];
    int flag;

    all_make(kind, mark);
    for (int i = 0; i < 2; i++)
        CHECK_MPI(MPI_File_iwrite_at_all(file, i * N, sides[i].buf, N, MPI_INT, &requests[i]));
    if (rank == 0) {
        for (int i = 0; i < 1000; i++)
            CHECK_MPI(MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE));
    } else {
        usleep(100 * MS);
    }
    CHECK_MPI(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    CHECK_MPI(MPI_File_write_at_all(file, 2 * N, sides[2].buf, N, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    all_check(mark, "a write beside a blocking one");
}

/* A process calls one before it waits, another one after that. */
static void calls_crossed(enum mem_kind kind)
{
    const unsigned mark = 10 * (unsigned) rank + 7;
    MPI_Request request;

    all_make(kind, mark);
    for (int i = 0; i < 2; i++) {
        CHECK_MPI(MPI_File_iwrite_at_all(file, i * N, sides[i].buf, N, MPI_INT, &request));
        if (rank == 0)
            CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (i == 0)
            CHECK_MPI(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
        else
            CHECK_MPI(MPI_File_write_ordered(file, sides[2].buf, 0, MPI_INT, MPI_STATUS_IGNORE));
        if (rank != 0)
            CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    CHECK_MPI(MPI_File_write_at_all(file, 2 * N, sides[2].buf, N, MPI_INT, MPI_STATUS_IGNORE));
    all_check(mark, "a write across a blocking call");
}

/* Calls that wait for other processes, after these have tested the pending operation differently often. */
static void settings(enum mem_kind kind)
{
    const unsigned mark = 10 * (unsigned) rank + 1;
    MPI_Request request;

    all_make(kind, mark);
    for (int i = 0; i < NOPS; i++) {
        CHECK_MPI(MPI_File_iwrite_at_all(file, i * N, sides[i].buf, N, MPI_INT, &request));
        if (rank == 0)
            CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (i == 0)
            CHECK_MPI(MPI_File_set_atomicity(file, 1));
        else if (i == 1)
            CHECK_MPI(MPI_File_preallocate(file, 1));
        else
            CHECK_MPI(MPI_File_set_info(file, MPI_INFO_NULL));
        if (rank != 0)
            CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_MPI(MPI_File_set_atomicity(file, 0));
    }
    all_check(mark, "a write before a setting");
}

/* Processes wait for the operations of two files in different orders. */
static void two_files(enum mem_kind kind)
{
    const unsigned mark = 10 * (unsigned) rank + 1;
    MPI_Request requests[2];
    MPI_File other;

    all_make(kind, mark);
    CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, file_path(), MPI_MODE_RDWR, MPI_INFO_NULL, &other));
    CHECK_MPI(MPI_File_set_view(other, view.disp, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    for (int i = 0; i < 2; i++) {
        const int first = rank % 2;

        CHECK_MPI(MPI_File_iwrite_at_all(file, 0, sides[0].buf, N, MPI_INT, &requests[first]));
        CHECK_MPI(MPI_File_iwrite_at_all(other, N, sides[1].buf, N, MPI_INT, &requests[1 - first]));
        if (i == 0)
            CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        for (int k = 0; k < 2; k++)
            CHECK_MPI(MPI_Wait(&requests[k], MPI_STATUS_IGNORE));
    }
    CHECK_MPI(MPI_File_write_at_all(other, 2 * N, sides[2].buf, N, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_File_close(&other));
    all_check(mark, "writes to two files");
}

static void *other_file_write(void *other)
{
    CHECK_MPI(MPI_File_write_at_all(*(MPI_File *) other, 2 * N, sides[2].buf, N, MPI_INT, MPI_STATUS_IGNORE));
    return NULL;
}

static void other_file(enum mem_kind kind)
{
    const unsigned mark = 10 * (unsigned) rank + 1;
    MPI_Request request;
    MPI_File other;
    pthread_t thread;

    all_make(kind, mark);
    CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, file_path(), MPI_MODE_RDWR, MPI_INFO_NULL, &other));
    CHECK_MPI(MPI_File_set_view(other, view.disp, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    CHECK_MPI(MPI_File_write_at_all(other, N, sides[1].buf, N, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_File_iwrite_at_all(file, 0, sides[0].buf, N, MPI_INT, &request));
    if (rank == 0) {
        pthread_create(&thread, NULL, other_file_write, &other);
        usleep(100 * MS);
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        pthread_join(thread, NULL);
    } else {
        usleep(200 * MS);
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        other_file_write(&other);
    }
    CHECK_MPI(MPI_File_close(&other));
    all_check(mark, "a write beside another file");
}

void beside(void)
{
    const int may_thread = report_may_thread("two files in two threads");

    for (int i = 0; i < (int) (sizeof(kinds) / sizeof(kinds[0])); i++) {
        pointer_moves(kinds[i]);
        blocking_calls(kinds[i]);
        calls_crossed(kinds[i]);
        if (may_thread)
            other_file(kinds[i]);
        settings(kinds[i]);
        two_files(kinds[i]);
    }
}
