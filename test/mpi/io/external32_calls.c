/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Data in the external32 representation by all forms of the calls: the file has big-endian
 * numbers, one after the other, whatever the datatype, and a read of a file that ends before the
 * data does leaves the rest of the buffer alone. In the release the nonblocking independent calls
 * do not convert, the collective ones convert too early, the conversion writes beyond the memory
 * that it allocates for datatypes that do not begin at their address or have a longer extent, it
 * refuses MPI_BOTTOM, and it overwrites what was not read. */

#include "mpi.h"
#include "mpitest.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT 5
#define BYTES 13                /* of an element: a character, an int and a double */
#define TOTAL (COUNT * BYTES)

enum form { AT, AT_ALL, SPLIT, I_AT, I_ALL, I, I_SHARED, NFORMS };

static const char *const forms[] = {
    "at", "at_all", "at_all_begin", "iat", "iat_all", "iindividual", "ishared"
};

struct element {
    char gap[16];               /* in no datatype */
    int i;
    char c;
    double d;
};

static int rank, errs;
static MPI_File file;

static void fail(enum form form, const char *what)
{
    fprintf(stderr, "rank %d, %s: %s\n", rank, forms[form], what);
    errs++;
}

static void elements_set(struct element *e)
{
    memset(e, 0x55, COUNT * sizeof(*e));
    for (int k = 0; k < COUNT; k++) {
        e[k].c = 'a' + k;
        e[k].i = 0x01020304 * (rank + 1) + k;
        e[k].d = k / 3.0 - rank;
    }
}

static char *number_put(char *to, const void *number, int n)
{
    const int one = 1;
    const char *from = number;

    for (int i = 0; i < n; i++)
        to[i] = *(const char *) &one ? from[n - 1 - i] : from[i];
    return to + n;
}

/* The data as it is in the file. */
static void external_set(char *to, const struct element *e)
{
    for (int k = 0; k < COUNT; k++) {
        *to++ = e[k].c;
        to = number_put(to, &e[k].i, 4);
        to = number_put(to, &e[k].d, 8);
    }
}

/* Relative to base: the buffer, or NULL for MPI_BOTTOM. */
static MPI_Datatype type_make(const struct element *e, const void *base)
{
    int blocks[3] = { 1, 1, 1 };
    MPI_Datatype members[3] = { MPI_CHAR, MPI_INT, MPI_DOUBLE }, all, type;
    MPI_Aint displs[3], from = 0;

    MPI_Get_address(&e->c, &displs[0]);
    MPI_Get_address(&e->i, &displs[1]);
    MPI_Get_address(&e->d, &displs[2]);
    if (base)
        MPI_Get_address(base, &from);
    for (int i = 0; i < 3; i++)
        displs[i] -= from;
    MPI_Type_create_struct(3, blocks, displs, members, &all);
    MPI_Type_create_resized(all, 0, sizeof(*e), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&all);
    return type;
}

#define DO(read_, write_) do { if (is_read) { read_; } else { write_; } } while (0)

/* Returns the bytes by the status. */
static int call(enum form form, int is_read, void *buf, MPI_Datatype type)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int n = -1;

    switch (form) {
        case AT:
            DO(MPI_File_read_at(file, 0, buf, COUNT, type, &status),
               MPI_File_write_at(file, 0, buf, COUNT, type, &status));
            break;
        case AT_ALL:
            DO(MPI_File_read_at_all(file, 0, buf, COUNT, type, &status),
               MPI_File_write_at_all(file, 0, buf, COUNT, type, &status));
            break;
        case SPLIT:
            DO(MPI_File_read_at_all_begin(file, 0, buf, COUNT, type),
               MPI_File_write_at_all_begin(file, 0, buf, COUNT, type));
            DO(MPI_File_read_at_all_end(file, buf, &status),
               MPI_File_write_at_all_end(file, buf, &status));
            break;
        case I_AT:
            DO(MPI_File_iread_at(file, 0, buf, COUNT, type, &request),
               MPI_File_iwrite_at(file, 0, buf, COUNT, type, &request));
            break;
        case I_ALL:
            DO(MPI_File_iread_at_all(file, 0, buf, COUNT, type, &request),
               MPI_File_iwrite_at_all(file, 0, buf, COUNT, type, &request));
            break;
        case I:
            MPI_File_seek(file, 0, MPI_SEEK_SET);
            DO(MPI_File_iread(file, buf, COUNT, type, &request),
               MPI_File_iwrite(file, buf, COUNT, type, &request));
            break;
        default:
            MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
            DO(MPI_File_iread_shared(file, buf, COUNT, type, &request),
               MPI_File_iwrite_shared(file, buf, COUNT, type, &request));
    }
    if (request != MPI_REQUEST_NULL)
        MPI_Wait(&request, &status);
    MPI_Get_elements(&status, MPI_BYTE, &n);
    return n;
}

/* A file of this process, with n bytes of the data. */
static void file_make(const char *path, const char *data, int n)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

    if (fd < 0 || write(fd, data, n) != n) {
        perror(path);
        exit(1);
    }
    close(fd);
    if (MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file)) {
        fprintf(stderr, "cannot open %s\n", path);
        exit(1);
    }
    MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "external32", MPI_INFO_NULL);
}

static void form_check(enum form form, const char *path, int is_bottom)
{
    struct element sent[COUNT], seen[COUNT], expected[COUNT];
    char external[TOTAL], written[TOTAL + 1];
    MPI_Datatype out = type_make(sent, is_bottom ? NULL : sent);
    MPI_Datatype in = type_make(seen, is_bottom ? NULL : seen);
    const int whole = 2;        /* elements of the short file */
    int fd;

    elements_set(sent);
    external_set(external, sent);
    file_make(path, "", 0);
    if (call(form, 0, is_bottom ? MPI_BOTTOM : sent, out) != TOTAL)
        fail(form, "the status of a write is wrong");
    MPI_File_close(&file);
    fd = open(path, O_RDONLY);
    if (read(fd, written, TOTAL + 1) != TOTAL || memcmp(written, external, TOTAL))
        fail(form, "what was written is not external32");
    close(fd);

    for (int is_short = 0; is_short < 2; is_short++) {
        const int n = is_short ? whole : COUNT;

        memset(seen, 0x77, sizeof(seen));
        memset(expected, 0x77, sizeof(expected));
        for (int k = 0; k < n; k++) {
            expected[k].c = sent[k].c;
            expected[k].i = sent[k].i;
            expected[k].d = sent[k].d;
        }
        file_make(path, external, n * BYTES);
        if (call(form, 1, is_bottom ? MPI_BOTTOM : seen, in) != n * BYTES)
            fail(form, "the status of a read is wrong");
        if (memcmp(seen, expected, sizeof(seen)))
            fail(form, is_short ? "a read from a short file" : "what was read differs");
        MPI_File_close(&file);
    }
    unlink(path);
    MPI_Type_free(&out);
    MPI_Type_free(&in);
}

int main(int argc, char **argv)
{
    char path[64];

    MTest_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof(path), "external32_calls.%d", rank);
    for (enum form form = AT; form < NFORMS; form++) {
        form_check(form, path, 0);
        form_check(form, path, 1);
    }
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
