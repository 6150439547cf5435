/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Writes of which the operating system accepts a part only, as on a file system without space: here
 * beyond the limit of a file's size. All processes return, the error is reported, and the next
 * operation works. */

#include "files.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define BLOCK 512               /* bytes of a block of the view */
#define BLOCKS 64               /* of a process */

void limit_set(MPI_Offset sz)
{
    struct rlimit limit;

    signal(SIGXFSZ, SIG_IGN);
    CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = sz ? (rlim_t) sz : limit.rlim_max;
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

static void form_check(enum form form, const struct view *v, struct side *s, const char *how)
{
    const MPI_Offset sz = (MPI_Offset) nranks * BLOCKS * BLOCK;
    int err, class = MPI_SUCCESS, is_error, n;
    MPI_Count got;

    file_fill(sz / 4);
    side_fill(s, form);
    seek(form, 0);
    limit_set(sz / 2 + 100);
    MPI_Barrier(MPI_COMM_WORLD);
    err = call(form, false, 0, s->buf, (int) s->count, s->type, &got);
    MPI_Barrier(MPI_COMM_WORLD);
    limit_set(0);
    if (err)
        MPI_Error_class(err, &class);
    if (class != MPI_SUCCESS && class != MPI_ERR_IO)
        report_fail("%s, %s: error class %d: %s", forms[form], how, class, report_mpi_text(err));
    is_error = class != MPI_SUCCESS;
    MPI_Allreduce(&is_error, &n, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (n == 0)
        report_fail("%s, %s: a write beyond the limit is no error", forms[form], how);

    seek(form, 0);
    CHECK_MPI(call(form, false, 0, s->buf, (int) s->count, s->type, &got));
    CHECK(got == s->size);
    MPI_Barrier(MPI_COMM_WORLD);
    file_check(v, 0, form, s->size, forms[form]);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A way to write. */
struct way {
    const char *driver, *collective, *sieving;
    bool is_atomic;
};

static const struct way ways[] = {
    {"", "automatic", "automatic", false},
    {"", "enable", "automatic", false},
    {"", "disable", "automatic", false},
    {"", "enable", "automatic", true},
    {"", "disable", "automatic", true},
    {"", "disable", "disable", false},
    {"", "disable", "disable", true},
    {"nfs:", "automatic", "automatic", false},
    {"nfs:", "disable", "automatic", true}
};

#define NWAYS (int) (sizeof(ways) / sizeof(ways[0]))

/* All forms but those that share a pointer, whose data is elsewhere after a write that failed. */
static void forms_check(const struct view *v, enum mem_kind kind, const struct way *way)
{
    char how[160];
    struct side s;
    MPI_Datatype type;
    MPI_Info info;

    snprintf(how, sizeof(how), "%sromio_cb_write %s, romio_ds_write %s, %s memory%s", way->driver,
             way->collective, way->sieving, mem_name(kind), way->is_atomic ? ", atomic" : "");
    MPI_Type_vector(BLOCK / 4, 1, 3, MPI_INT, &type);
    MPI_Type_commit(&type);
    side_make(&s, kind, type, BLOCKS, 0);
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "2048");
    MPI_Info_set(info, "ind_wr_buffer_size", "2048");
    MPI_Info_set(info, "romio_cb_write", way->collective);
    MPI_Info_set(info, "romio_ds_write", way->sieving);
    file_open_with(way->driver, MPI_MODE_RDWR, info);
    CHECK_MPI(MPI_File_set_atomicity(file, way->is_atomic));
    CHECK_MPI(MPI_File_set_view(file, v->disp, v->etype, v->filetype, "native", MPI_INFO_NULL));
    for (enum form form = 0; form < NFORMS; form++)
        if (!is_shared(form))
            form_check(form, v, &s, how);
    CHECK_MPI(MPI_File_close(&file));
    MPI_Info_free(&info);
    side_free(&s);
    MPI_Type_free(&type);
}

void full(void)
{
    static const enum mem_kind kinds[] = { MEM__DEVICE, MEM__PAGEABLE };
    struct view v = {.etype = MPI_BYTE,.disp = (MPI_Offset) rank * BLOCK,.esize = 1,.block = BLOCK,
        .stride = (MPI_Aint) nranks * BLOCK
    };
    MPI_Datatype block;

    MPI_Type_contiguous(BLOCK, MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, v.stride, &v.filetype);
    MPI_Type_commit(&v.filetype);
    MPI_Type_free(&block);
    for (int i = 0; i < 2 * NWAYS; i++)
        forms_check(&v, kinds[i / NWAYS], &ways[i % NWAYS]);
    MPI_Type_free(&v.filetype);
}
