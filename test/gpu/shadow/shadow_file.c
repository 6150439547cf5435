/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The calls of MPI-IO whose buffers are moved to device memory; see shadow.c. */

#include "shadow.h"

#include <stdlib.h>

/* ---- blocking ---- */

#define WRITE(name_, count_t)                                                                     \
int name_(MPI_File file, const void *buf, count_t count, MPI_Datatype type, MPI_Status * status)  \
{                                                                                                 \
    struct operation *op = operation_make(buf, count, type, NO_BUFFER);                           \
                                                                                                  \
    operation_start(op);                                                                          \
    return operation_end(op, P##name_(file, op->in.addr, count, type, status));                   \
}

EACH(WRITE, MPI_File_write)
EACH(WRITE, MPI_File_write_all)
EACH(WRITE, MPI_File_write_shared)
EACH(WRITE, MPI_File_write_ordered)

#define WRITE_AT(name_, count_t)                                                                  \
int name_(MPI_File file, MPI_Offset at, const void *buf, count_t count, MPI_Datatype type,        \
          MPI_Status * status)                                                                    \
{                                                                                                 \
    struct operation *op = operation_make(buf, count, type, NO_BUFFER);                           \
                                                                                                  \
    operation_start(op);                                                                          \
    return operation_end(op, P##name_(file, at, op->in.addr, count, type, status));               \
}

EACH(WRITE_AT, MPI_File_write_at)
EACH(WRITE_AT, MPI_File_write_at_all)

#define READ(name_, count_t)                                                                      \
int name_(MPI_File file, void *buf, count_t count, MPI_Datatype type, MPI_Status * status)        \
{                                                                                                 \
    struct operation *op = operation_make(NO_BUFFER, buf, count, type);                           \
                                                                                                  \
    operation_start(op);                                                                          \
    return operation_end(op, P##name_(file, op->out.addr, count, type, status));                  \
}

EACH(READ, MPI_File_read)
EACH(READ, MPI_File_read_all)
EACH(READ, MPI_File_read_shared)
EACH(READ, MPI_File_read_ordered)

#define READ_AT(name_, count_t)                                                                   \
int name_(MPI_File file, MPI_Offset at, void *buf, count_t count, MPI_Datatype type,              \
          MPI_Status * status)                                                                    \
{                                                                                                 \
    struct operation *op = operation_make(NO_BUFFER, buf, count, type);                           \
                                                                                                  \
    operation_start(op);                                                                          \
    return operation_end(op, P##name_(file, at, op->out.addr, count, type, status));              \
}

EACH(READ_AT, MPI_File_read_at)
EACH(READ_AT, MPI_File_read_at_all)

/* ---- with a request ---- */

#define IWRITE(name_, count_t)                                                                    \
int name_(MPI_File file, const void *buf, count_t count, MPI_Datatype type,                       \
          MPI_Request * request)                                                                  \
{                                                                                                 \
    struct operation *op = operation_make(buf, count, type, NO_BUFFER);                           \
                                                                                                  \
    operation_start(op);                                                                          \
    return operation_pending(op, request, P##name_(file, op->in.addr, count, type, request));     \
}

EACH(IWRITE, MPI_File_iwrite)
EACH(IWRITE, MPI_File_iwrite_all)
EACH(IWRITE, MPI_File_iwrite_shared)

#define IWRITE_AT(name_, count_t)                                                                 \
int name_(MPI_File file, MPI_Offset at, const void *buf, count_t count, MPI_Datatype type,        \
          MPI_Request * request)                                                                  \
{                                                                                                 \
    struct operation *op = operation_make(buf, count, type, NO_BUFFER);                           \
                                                                                                  \
    operation_start(op);                                                                          \
    return operation_pending(op, request, P##name_(file, at, op->in.addr, count, type, request)); \
}

EACH(IWRITE_AT, MPI_File_iwrite_at)
EACH(IWRITE_AT, MPI_File_iwrite_at_all)

#define IREAD(name_, count_t)                                                                     \
int name_(MPI_File file, void *buf, count_t count, MPI_Datatype type, MPI_Request * request)      \
{                                                                                                 \
    struct operation *op = operation_make(NO_BUFFER, buf, count, type);                           \
                                                                                                  \
    operation_start(op);                                                                          \
    return operation_pending(op, request, P##name_(file, op->out.addr, count, type, request));    \
}

EACH(IREAD, MPI_File_iread)
EACH(IREAD, MPI_File_iread_all)
EACH(IREAD, MPI_File_iread_shared)

#define IREAD_AT(name_, count_t)                                                                  \
int name_(MPI_File file, MPI_Offset at, void *buf, count_t count, MPI_Datatype type,              \
          MPI_Request * request)                                                                  \
{                                                                                                 \
    struct operation *op = operation_make(NO_BUFFER, buf, count, type);                           \
                                                                                                  \
    operation_start(op);                                                                          \
    return operation_pending(op, request,                                                         \
                             P##name_(file, at, op->out.addr, count, type, request));             \
}

EACH(IREAD_AT, MPI_File_iread_at)
EACH(IREAD_AT, MPI_File_iread_at_all)

/* ---- split collectives: a file has at most one at a time ---- */

struct split {
    MPI_File file;
    struct operation *op;
    struct split *next;
};
static struct split *splits;

static int split_begin(MPI_File file, struct operation *op, int err)
{
    struct split *s;

    if (err)
        return operation_end(op, err);
    s = malloc(sizeof(*s));
    if (s == NULL)
        abort();
    *s = (struct split) {.file = file,.op = op,.next = splits };
    splits = s;
    return err;
}

static int split_end(MPI_File file, int err)
{
    struct split **at = &splits, *s;

    while (*at && (*at)->file != file)
        at = &(*at)->next;
    s = *at;
    if (s) {
        *at = s->next;
        operation_end(s->op, err);
        free(s);
    }
    return err;
}

/* the address that the begin was called with */
static void *split_addr(MPI_File file, void *buf)
{
    for (const struct split *s = splits; s; s = s->next) {
        if (s->file == file)
            return s->op->out.host ? s->op->out.addr : s->op->in.host ? s->op->in.addr : buf;
    }
    return buf;
}

#define WRITE_BEGIN(name_, count_t)                                                               \
int name_(MPI_File file, const void *buf, count_t count, MPI_Datatype type)                       \
{                                                                                                 \
    struct operation *op = operation_make(buf, count, type, NO_BUFFER);                           \
                                                                                                  \
    operation_start(op);                                                                          \
    return split_begin(file, op, P##name_(file, op->in.addr, count, type));                       \
}

EACH(WRITE_BEGIN, MPI_File_write_all_begin)
EACH(WRITE_BEGIN, MPI_File_write_ordered_begin)

#define WRITE_AT_BEGIN(name_, count_t)                                                            \
int name_(MPI_File file, MPI_Offset at, const void *buf, count_t count, MPI_Datatype type)        \
{                                                                                                 \
    struct operation *op = operation_make(buf, count, type, NO_BUFFER);                           \
                                                                                                  \
    operation_start(op);                                                                          \
    return split_begin(file, op, P##name_(file, at, op->in.addr, count, type));                   \
}

EACH(WRITE_AT_BEGIN, MPI_File_write_at_all_begin)

#define READ_BEGIN(name_, count_t)                                                                \
int name_(MPI_File file, void *buf, count_t count, MPI_Datatype type)                             \
{                                                                                                 \
    struct operation *op = operation_make(NO_BUFFER, buf, count, type);                           \
                                                                                                  \
    operation_start(op);                                                                          \
    return split_begin(file, op, P##name_(file, op->out.addr, count, type));                      \
}

EACH(READ_BEGIN, MPI_File_read_all_begin)
EACH(READ_BEGIN, MPI_File_read_ordered_begin)

#define READ_AT_BEGIN(name_, count_t)                                                             \
int name_(MPI_File file, MPI_Offset at, void *buf, count_t count, MPI_Datatype type)              \
{                                                                                                 \
    struct operation *op = operation_make(NO_BUFFER, buf, count, type);                           \
                                                                                                  \
    operation_start(op);                                                                          \
    return split_begin(file, op, P##name_(file, at, op->out.addr, count, type));                  \
}

EACH(READ_AT_BEGIN, MPI_File_read_at_all_begin)

#define END(name_, buf_t_)                                                                        \
int name_(MPI_File file, buf_t_ * buf, MPI_Status * status)                                       \
{                                                                                                 \
    return split_end(file, P##name_(file, split_addr(file, (void *) buf), status));               \
}

END(MPI_File_write_all_end, const void)
END(MPI_File_write_at_all_end, const void)
END(MPI_File_write_ordered_end, const void)
END(MPI_File_read_all_end, void)
END(MPI_File_read_at_all_end, void)
END(MPI_File_read_ordered_end, void)
