/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Every form of MPI's calls that read and write. */

#include "files.h"

#include <stdio.h>
#include <string.h>

const char *const forms[] = {
    "at", "individual", "shared", "ordered", "at_all", "all", "at_all_begin", "all_begin",
    "ordered_begin", "iat", "iindividual", "ishared", "iat_all", "iall"
};

bool is_shared(enum form form)
{
    return form == SHARED || form == I_SHARED || form == ORDERED || form == SPLIT_ORDERED;
}

bool is_individual(enum form form)
{
    return form == INDIVIDUAL || form == ALL || form == SPLIT_ALL || form == I_INDIVIDUAL ||
        form == I_ALL;
}

/* The arguments of a call. */
struct args {
    enum form form;
    bool is_read;
    MPI_Offset off;
    void *buf;
    int n;
    MPI_Datatype type;
};

#define DO(read_, write_) return a->is_read ? read_ : write_

static int call_blocking(const struct args *a, MPI_Status * status)
{
    switch (a->form) {
        case AT:
            DO(MPI_File_read_at(file, a->off, a->buf, a->n, a->type, status),
               MPI_File_write_at(file, a->off, a->buf, a->n, a->type, status));
        case INDIVIDUAL:
            DO(MPI_File_read(file, a->buf, a->n, a->type, status),
               MPI_File_write(file, a->buf, a->n, a->type, status));
        case SHARED:
            DO(MPI_File_read_shared(file, a->buf, a->n, a->type, status),
               MPI_File_write_shared(file, a->buf, a->n, a->type, status));
        case ORDERED:
            DO(MPI_File_read_ordered(file, a->buf, a->n, a->type, status),
               MPI_File_write_ordered(file, a->buf, a->n, a->type, status));
        case AT_ALL:
            DO(MPI_File_read_at_all(file, a->off, a->buf, a->n, a->type, status),
               MPI_File_write_at_all(file, a->off, a->buf, a->n, a->type, status));
        default:
            DO(MPI_File_read_all(file, a->buf, a->n, a->type, status),
               MPI_File_write_all(file, a->buf, a->n, a->type, status));
    }
}

static int split_begin(const struct args *a)
{
    switch (a->form) {
        case SPLIT_AT_ALL:
            DO(MPI_File_read_at_all_begin(file, a->off, a->buf, a->n, a->type),
               MPI_File_write_at_all_begin(file, a->off, a->buf, a->n, a->type));
        case SPLIT_ALL:
            DO(MPI_File_read_all_begin(file, a->buf, a->n, a->type),
               MPI_File_write_all_begin(file, a->buf, a->n, a->type));
        default:
            DO(MPI_File_read_ordered_begin(file, a->buf, a->n, a->type),
               MPI_File_write_ordered_begin(file, a->buf, a->n, a->type));
    }
}

static int split_end(const struct args *a, MPI_Status * status)
{
    switch (a->form) {
        case SPLIT_AT_ALL:
            DO(MPI_File_read_at_all_end(file, a->buf, status),
               MPI_File_write_at_all_end(file, a->buf, status));
        case SPLIT_ALL:
            DO(MPI_File_read_all_end(file, a->buf, status),
               MPI_File_write_all_end(file, a->buf, status));
        default:
            DO(MPI_File_read_ordered_end(file, a->buf, status),
               MPI_File_write_ordered_end(file, a->buf, status));
    }
}

static int call_nonblocking(const struct args *a, MPI_Request * request)
{
    switch (a->form) {
        case I_AT:
            DO(MPI_File_iread_at(file, a->off, a->buf, a->n, a->type, request),
               MPI_File_iwrite_at(file, a->off, a->buf, a->n, a->type, request));
        case I_INDIVIDUAL:
            DO(MPI_File_iread(file, a->buf, a->n, a->type, request),
               MPI_File_iwrite(file, a->buf, a->n, a->type, request));
        case I_SHARED:
            DO(MPI_File_iread_shared(file, a->buf, a->n, a->type, request),
               MPI_File_iwrite_shared(file, a->buf, a->n, a->type, request));
        case I_AT_ALL:
            DO(MPI_File_iread_at_all(file, a->off, a->buf, a->n, a->type, request),
               MPI_File_iwrite_at_all(file, a->off, a->buf, a->n, a->type, request));
        default:
            DO(MPI_File_iread_all(file, a->buf, a->n, a->type, request),
               MPI_File_iwrite_all(file, a->buf, a->n, a->type, request));
    }
}

#undef DO

/* Begin, and complete all but a nonblocking operation. */
static int call_begin(const struct args *a, MPI_Status * status, MPI_Request * request)
{
    int err, end;

    if (a->form >= I_AT)
        return call_nonblocking(a, request);
    if (a->form < SPLIT_AT_ALL)
        return call_blocking(a, status);
    err = split_begin(a);
    end = split_end(a, status);
    return err ? err : end;
}

int call(enum form form, bool is_read, MPI_Offset off, void *buf, int n, MPI_Datatype type,
         MPI_Count * got)
{
    const struct args args = { form, is_read, off, buf, n, type };
    const bool in_turn = form == SHARED || form == I_SHARED;
    MPI_Status status;
    MPI_Request request = MPI_REQUEST_NULL;
    int err = MPI_SUCCESS, end;

    memset(&status, 0, sizeof(status));
    for (int turn = 0; turn < nranks; turn++) {
        if (in_turn)
            MPI_Barrier(MPI_COMM_WORLD);
        if (turn == (in_turn ? rank : 0))
            err = call_begin(&args, &status, &request);
    }
    /* a nonblocking collective may not keep its process from sending messages */
    if (form >= I_AT)
        MPI_Barrier(MPI_COMM_WORLD);
    if (request != MPI_REQUEST_NULL) {
        end = MPI_Wait(&request, &status);
        err = err ? err : end;
    }
    *got = -1;
    if (err == MPI_SUCCESS)
        MPI_Get_elements_x(&status, MPI_BYTE, got);
    return err;
}

void seek(enum form form, MPI_Offset off)
{
    if (is_individual(form))
        CHECK_MPI(MPI_File_seek(file, off, MPI_SEEK_SET));
    if (is_shared(form))
        CHECK_MPI(MPI_File_seek_shared(file, off, MPI_SEEK_SET));
}

void file_open_with(const char *driver, int amode, MPI_Info info)
{
    char name[400];

    snprintf(name, sizeof(name), "%s%s", driver, file_path());
    CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, name, amode, info, &file));
    MPI_File_set_errhandler(file, MPI_ERRORS_RETURN);
}

void file_open(int amode, MPI_Info info)
{
    file_open_with("", amode, info);
}
