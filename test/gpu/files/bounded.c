/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Collective operations on GPU buffers that are much longer than a chunk. malloc is replaced, so that
 * the test sees what libmpi takes; the chunks that the buffers go through are from mmap. The
 * processes have buffers of different length, the last one has host memory. */

#define _GNU_SOURCE             /* dladdr */

#include "files.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES (2 << 20)         /* of the longest buffer */
#define MOST (BYTES / 4)        /* of an allocation */
#define BLOCK (16 << 10)        /* of the file */

static volatile size_t largest; /* of an operation */
static size_t seen;             /* of any */

#ifndef __SANITIZE_ADDRESS__     /* which replaces malloc, too; then there is nothing to see */

extern void *__libc_malloc(size_t sz);

void *malloc(size_t sz)
{
    Dl_info info;

    /* not what the driver takes */
    if (sz > largest && dladdr(__builtin_return_address(0), &info) && info.dli_fname &&
        strstr(info.dli_fname, "libmpi"))
        largest = sz;
    return __libc_malloc(sz);
}

#endif

/* The view of a process, with blocks of all processes in turn, or with a part of the file for each. */
static void view_make(struct view *v, bool is_strided)
{
    const struct view contig = WHOLE_FILE((MPI_Offset) rank * BYTES);
    const struct view strided = {.disp = (MPI_Offset) rank * BLOCK,.esize = 1,.block = BLOCK,
        .stride = (MPI_Aint) nranks * BLOCK
    };
    MPI_Datatype block;

    *v = is_strided ? strided : contig;
    v->etype = v->filetype = MPI_BYTE;
    if (is_strided) {
        MPI_Type_contiguous(BLOCK, MPI_BYTE, &block);
        MPI_Type_create_resized(block, 0, (MPI_Aint) nranks * BLOCK, &v->filetype);
        MPI_Type_commit(&v->filetype);
        MPI_Type_free(&block);
    }
}

static void largest_check(void)
{
    CHECK(largest < MOST);
    if (largest > seen)
        seen = largest;
}

static void form_check(enum form form, const struct view *v, struct side *s)
{
    MPI_Count got;

    MPI_Barrier(MPI_COMM_WORLD);
    side_fill(s, form);
    seek(form, 0);
    largest = 0;
    CHECK_MPI(call(form, false, 0, s->buf, (int) s->count, s->type, &got));
    largest_check();
    CHECK(got == s->size);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!is_shared(form))
        file_check(v, 0, form, s->size, forms[form]);
    side_clear(s, form);
    seek(form, 0);
    largest = 0;
    CHECK_MPI(call(form, true, 0, s->buf, (int) s->count, s->type, &got));
    largest_check();
    CHECK(got == s->size);
    side_check(s, forms[form], form, s->size);
}

void bounded(void)
{
    const bool is_host = nranks > 1 && rank == nranks - 1;
    MPI_Datatype type;
    MPI_Count got;
    MPI_Info info;
    struct side s;
    struct view v;

    if (is_host)
        MPI_Type_contiguous(BYTES / 4, MPI_CHAR, &type);
    else
        MPI_Type_vector(BYTES / 128 / (rank + 1), 16, 20, MPI_INT, &type);
    MPI_Type_commit(&type);
    side_make(&s, is_host ? MEM__PAGEABLE : MEM__DEVICE, type, 2, 0);
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "32768");
    MPI_Info_set(info, "ind_rd_buffer_size", "32768");
    MPI_Info_set(info, "ind_wr_buffer_size", "32768");
    file_open(MPI_MODE_RDWR, info);
    /* opens the file of the shared pointer, which takes a buffer of its own */
    CHECK_MPI(call(ORDERED, true, 0, s.buf, 0, s.type, &got));
    for (int is_strided = 0; is_strided < 2; is_strided++) {
        view_make(&v, is_strided);
        for (enum form form = ORDERED; form < NFORMS; form++) {
            if (form >= I_AT && form < I_AT_ALL)
                continue;
            /* all processes continue one stream there */
            CHECK_MPI(MPI_File_set_view(file, is_shared(form) ? 0 : v.disp, v.etype, v.filetype,
                                        "native", MPI_INFO_NULL));
            form_check(form, &v, &s);
        }
        if (is_strided)
            MPI_Type_free(&v.filetype);
    }
    CHECK_MPI(MPI_File_close(&file));
#ifndef __SANITIZE_ADDRESS__
    CHECK(seen > 0);
#endif
    MPI_Info_free(&info);
    side_free(&s);
    MPI_Type_free(&type);
}
