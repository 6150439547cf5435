/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Writes the records of a type as text, for bug reports and tests. Read only; does not know how
 * records are made or used. */

#include "mpiimpl.h"
#include "gpudt_debug.h"
#include "gpudt_error.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* Growing text. After a failed allocation nothing more is added. */
struct text {
    char *buf;
    size_t used;                /* without the terminating zero */
    size_t room;
    bool failed;
};

static void text_add(struct text *text, const char *format, ...) ATTRIBUTE((format(printf, 2, 3)));
static void text_add_list(struct text *text, const char *name, const int64_t * list, int64_t n,
                          int64_t max_list);
static void text_add_ints(struct text *text, const char *name, const int32_t * list, int64_t n,
                          int64_t max_list);
static int text_done(struct text *text, char **out);

static void text_add(struct text *text, const char *format, ...)
{
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (text->failed || len < 0)
        return;

    if (text->used + len + 1 > text->room) {
        size_t room = 2 * text->room + len + 256;
        char *grown = MPL_realloc(text->buf, room, MPL_MEM_OTHER);

        if (grown == NULL) {
            text->failed = true;
            return;
        }
        text->buf = grown;
        text->room = room;
    }
    va_start(args, format);
    vsnprintf(text->buf + text->used, len + 1, format, args);
    va_end(args);
    text->used += len;
}

static void text_add_list(struct text *text, const char *name, const int64_t * list, int64_t n,
                          int64_t max_list)
{
    text_add(text, "      %s:", name);
    for (int64_t i = 0; i < n && i < max_list; i++)
        text_add(text, " %" PRId64, list[i]);
    if (n > max_list)
        text_add(text, " ... (%" PRId64 " in all)", n);
    text_add(text, "\n");
}

static void text_add_ints(struct text *text, const char *name, const int32_t * list, int64_t n,
                          int64_t max_list)
{
    text_add(text, "      %s:", name);
    for (int64_t i = 0; i < n && i < max_list; i++)
        text_add(text, " %" PRId32, list[i]);
    if (n > max_list)
        text_add(text, " ... (%" PRId64 " in all)", n);
    text_add(text, "\n");
}

static int text_done(struct text *text, char **out)
{
    int mpi_errno = MPI_SUCCESS;

    *out = NULL;
    MPII_GPUDT_ERR_NOMEM(text->failed, mpi_errno, "text of a datatype");
    *out = text->buf;

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPL_free(text->buf);
    goto fn_exit;
}

static void serial_add_record(struct text *text, const struct MPII_Gpudt_serial *serial, int i,
                              int64_t max_list)
{
    static const char *const names[] = { "BLOCK", "VECTOR", "BLKINDEXED", "INDEXED", "STRUCT" };
    const struct MPII_Gpudt_record *rec = &serial->records[i];

    text_add(text, "  %3d %-10s size %" PRId64 " count %" PRId64, i, names[rec->kind], rec->size,
             rec->count);
    if (rec->kind == MPII_GPUDT_KIND__VECTOR)
        text_add(text, " stride %" PRId64, rec->stride);
    if (rec->kind == MPII_GPUDT_KIND__INDEXED)
        text_add(text, " extent %" PRId64, rec->extent);
    if (rec->child >= 0)
        text_add(text, " child %d of %" PRId64, rec->child, rec->child_size);
    text_add(text, " elements %" PRId64 "\n", rec->elements);

    if (rec->kind == MPII_GPUDT_KIND__INDEXED || rec->kind == MPII_GPUDT_KIND__STRUCT)
        text_add_list(text, "prefix", MPII_Gpudt_record_prefix(rec, serial->lookaside),
                      rec->count + 1, max_list);
    if (MPII_Gpudt_lookaside_bytes(rec->kind, rec->count) > 0)
        text_add_list(text, "displ", MPII_Gpudt_record_displ(rec, serial->lookaside), rec->count,
                      max_list);
    if (rec->kind == MPII_GPUDT_KIND__STRUCT)
        text_add_ints(text, "child", MPII_Gpudt_record_members(rec, serial->lookaside), rec->count,
                      max_list);
}

int MPII_Gpudt_debug_serial(const struct MPII_Gpudt_serial *serial, int64_t max_list, char **text)
{
    struct text out = { NULL, 0, 0, false };

    text_add(&out, "  size %" PRId64 " extent %" PRId64 " true_lb %" PRId64 " true_extent %" PRId64
             " base_displ %" PRId64 "\n", serial->size, serial->extent, serial->true_lb,
             serial->true_extent, serial->base_displ);
    text_add(&out, "  displ_gcd %" PRId64 " block_gcd %" PRId64 " nblocks %" PRId64
             " depth %d lookaside %" PRId64 "\n", serial->displ_gcd, serial->block_gcd,
             serial->nblocks, serial->depth, serial->lookaside_sz);
    for (int i = 0; i < serial->nrecords; i++)
        serial_add_record(&out, serial, i, max_list);
    return text_done(&out, text);
}

static void raw_add_record(struct text *text, const struct MPII_Gpudt_raw *raw, int i,
                           int64_t max_list)
{
    static const char *const names[] = {
        "BLOCK", "CONTIG", "VECTOR", "BLKINDEXED", "INDEXED", "STRUCT", "SUBARRAY"
    };
    const struct MPII_Gpudt_raw_record *rec = &raw->records[i];
    const int64_t *list = NULL;
    int64_t n = rec->count;

    text_add(text, "  %3d %-10s size %" PRId64 " count %" PRId64, i, names[rec->kind], rec->size,
             n);
    if (rec->kind == MPII_GPUDT_RAW_KIND__VECTOR || rec->kind == MPII_GPUDT_RAW_KIND__BLKINDEXED)
        text_add(text, " blocklength %" PRId64, rec->blocklength);
    if (rec->kind == MPII_GPUDT_RAW_KIND__VECTOR)
        text_add(text, " stride %" PRId64, rec->stride);
    if (rec->child >= 0)
        text_add(text, " child %d of %" PRId64 " extent %" PRId64, rec->child, rec->child_size,
                 rec->extent);
    text_add(text, " elements %" PRId64 "\n", rec->elements);

    if (raw->lookaside)
        list = (const int64_t *) (const void *) (raw->lookaside + rec->lookaside);
    switch (rec->kind) {
        case MPII_GPUDT_RAW_KIND__BLKINDEXED:
            text_add_list(text, "displ", list, n, max_list);
            break;
        case MPII_GPUDT_RAW_KIND__INDEXED:
            text_add_list(text, "prefix", list, n + 1, max_list);
            text_add_list(text, "displ", list + n + 1, n, max_list);
            break;
        case MPII_GPUDT_RAW_KIND__STRUCT:
            text_add_list(text, "prefix", list, n + 1, max_list);
            text_add_list(text, "displ", list + n + 1, n, max_list);
            text_add_list(text, "extent", list + 2 * n + 1, n, max_list);
            text_add_ints(text, "child", (const int32_t *) (const void *) (list + 3 * n + 1), n,
                          max_list);
            break;
        case MPII_GPUDT_RAW_KIND__SUBARRAY:
            text_add_list(text, "sizes", list, n, max_list);
            text_add_list(text, "subsizes", list + n, n, max_list);
            text_add_list(text, "starts", list + 2 * n, n, max_list);
            break;
    }
}

int MPII_Gpudt_debug_raw(const struct MPII_Gpudt_raw *raw, int64_t max_list, char **text)
{
    struct text out = { NULL, 0, 0, false };

    text_add(&out, "  extent %" PRId64 " lookaside %" PRId64 "\n", raw->extent, raw->lookaside_sz);
    for (int i = 0; i < raw->nrecords; i++)
        raw_add_record(&out, raw, i, max_list);
    return text_done(&out, text);
}
