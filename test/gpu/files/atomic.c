/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Atomic mode: operations of several processes on the same part of a file, from and to GPU buffers
 * of many chunks. Each write is of bytes of one value: whoever reads, within one operation, must
 * not find two of them. Two processes or more: one of three reads. */

#include "files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES (64 << 10)
#define TURNS 6
#define UNREAD 0xEE             /* what a buffer has before a read */

/* How the data is laid out in memory and in the file. */
struct layout {
    const char *name;
    bool is_strided_mem, is_strided_file;
};

static const struct layout layouts[] = {
    {"contiguous", false, false},
    {"strided memory", true, false},
    {"strided file", false, true},
    {"strided memory and file", true, true}
};

/* Whether bytes are all of one value, which some process writes; counts a failure. */
static bool uniform(const unsigned char *data, MPI_Aint n, const char *who, enum form form,
                    const char *layout)
{
    if (data[0] < 1 || data[0] > nranks) {
        report_fail("%s, %s: %s has bytes 0x%02x, which nobody writes", forms[form], layout, who,
                    data[0]);
        return false;
    }
    for (MPI_Aint i = 1; i < n; i++) {
        if (data[i] != data[0]) {
            report_fail("%s, %s: %s has byte %ld of one operation, and byte 0 of another",
                        forms[form], layout, who, (long) i);
            return false;
        }
    }
    return true;
}

/* The packed data of a buffer. */
static unsigned char *packed_get(const struct side *s)
{
    unsigned char *data = malloc(s->size);
    int position = 0;

    CHECK_MPI(MPI_Pack(s->buf, (int) s->count, s->type, data, (int) s->size, &position,
                       MPI_COMM_WORLD));
    return data;
}

static void packed_set(struct side *s, int value)
{
    unsigned char *data = malloc(s->size);
    int position = 0;

    memset(data, value, s->size);
    CHECK_MPI(MPI_Unpack(data, (int) s->size, &position, s->buf, (int) s->count, s->type,
                         MPI_COMM_WORLD));
    free(data);
}

/* All processes access the same bytes at once; then one reads them. */
static void form_check(enum form form, const struct layout *l, struct side *s)
{
    const bool is_reader = nranks > 2 && rank % 3 == 2 && (form < ORDERED || form == I_AT);
    unsigned char *data;
    MPI_Count got;

    packed_set(s, is_reader ? UNREAD : 1 + rank);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_MPI(call(form, is_reader, 0, s->buf, (int) s->count, s->type, &got));
    if (is_reader) {
        data = packed_get(s);
        uniform(data, s->size, "a reader", form, l->name);
        free(data);
    }
    packed_set(s, UNREAD);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_MPI(MPI_File_read_at(file, 0, s->buf, (int) s->count, s->type, MPI_STATUS_IGNORE));
    data = packed_get(s);
    uniform(data, s->size, "the file", form, l->name);
    free(data);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void layout_check(const struct layout *l, const char *driver)
{
    static const enum form tested[] = { AT, AT_ALL, I_AT, I_AT_ALL };
    MPI_Datatype filetype, type;
    struct side s;

    MPI_Type_vector(BYTES / 64, 16, l->is_strided_mem ? 20 : 16, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Type_vector(BYTES / 64, 16, l->is_strided_file ? 24 : 16, MPI_INT, &filetype);
    MPI_Type_commit(&filetype);
    side_make(&s, MEM__DEVICE, type, 1, 0);
    file_open_with(driver, MPI_MODE_RDWR, MPI_INFO_NULL);
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_INT, filetype, "native", MPI_INFO_NULL));
    CHECK_MPI(MPI_File_set_atomicity(file, 1));
    file_fill(2 * BYTES);
    /* what the first reader may get */
    packed_set(&s, 1);
    CHECK_MPI(MPI_File_write_at_all(file, 0, s.buf, 1, type, MPI_STATUS_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < TURNS * 4 && report_failures == 0; i++)
        form_check(tested[i % 4], l, &s);
    CHECK_MPI(MPI_File_close(&file));
    side_free(&s);
    MPI_Type_free(&filetype);
    MPI_Type_free(&type);
}

void atomic_mode(void)
{
    for (int i = 0; i < 4; i++) {
        layout_check(&layouts[i], "");
        layout_check(&layouts[i], "nfs:");
    }
}
