/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Collective operations within which the system cannot read, or a message of ROMIO's own fails: all
 * processes return, none that has lost data returns success, and the next operation works. Independent
 * reads that fail leave no lock, and those of which the system returns a part are complete. The functions
 * that ROMIO calls are replaced, which takes a shared library. */

#define _GNU_SOURCE             /* RTLD_NEXT */

#include "files.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BLOCK 512               /* bytes of a block of the view */
#define BLOCKS 8                /* of a process */
#define MAX_CALLS 40            /* of an operation that fail */

/* A function whose calls are counted while a file operation runs, and of which one fails. */
enum fault { NO_FAULT, SEND, RECEIVE, READ, NFAULTS, HALF_READ, CLOSE };
static const char *const faults_names[] = { "none", "send", "receive", "read" };

static enum fault fault;
static long calls_left;

#ifndef __SANITIZE_ADDRESS__    /* which takes a static library */

static bool fails(enum fault which)
{
    return fault == which && --calls_left == 0;
}

/* Nothing is sent. */
int PMPI_Isend(const void *buf, int n, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
               MPI_Request * request)
{
    int (*next) (const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

    if (fails(SEND))
        return MPI_ERR_OTHER;
    *(void **) &next = dlsym(RTLD_NEXT, "PMPI_Isend");
    return next(buf, n, type, dest, tag, comm, request);
}

/* The message is longer than the buffer: an error here if it has arrived, else when it is waited for. */
int PMPI_Irecv(void *buf, int n, MPI_Datatype type, int source, int tag, MPI_Comm comm,
               MPI_Request * request)
{
    int (*next) (void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

    *(void **) &next = dlsym(RTLD_NEXT, "PMPI_Irecv");
    return next(buf, fails(RECEIVE) ? 0 : n, type, source, tag, comm, request);
}

/* ... and of atomic writes. */
int PMPI_Recv(void *buf, int n, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Status * status)
{
    int (*next) (void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);

    *(void **) &next = dlsym(RTLD_NEXT, "PMPI_Recv");
    return next(buf, fails(RECEIVE) ? 0 : n, type, source, tag, comm, status);
}

ssize_t pread(int fd, void *buf, size_t n, off_t off)
{
    ssize_t(*next) (int, void *, size_t, off_t);

    if (fails(READ)) {
        errno = EIO;
        return -1;
    }
    *(void **) &next = dlsym(RTLD_NEXT, "pread");
    return next(fd, buf, fails(HALF_READ) ? n / 2 : n, off);
}

ssize_t read(int fd, void *buf, size_t n)
{
    ssize_t(*next) (int, void *, size_t);

    if (fails(READ)) {
        errno = EIO;
        return -1;
    }
    *(void **) &next = dlsym(RTLD_NEXT, "read");
    return next(fd, buf, fails(HALF_READ) ? n / 2 : n);
}

int close(int fd)
{
    int (*next) (int);
    const bool is_failure = fails(CLOSE);
    int err;

    *(void **) &next = dlsym(RTLD_NEXT, "close");
    err = next(fd);
    if (!is_failure)
        return err;
    errno = EIO;
    return -1;
}

#endif

/* ---- operations ---- */

/* What an operation is on. */
struct what {
    enum form form;
    bool is_read;
    struct side *s;
    const struct view *v;
    const char *how;
};

static int do_call(const struct what *w, MPI_Count * got)
{
    side_fill(w->s, w->form);
    if (w->is_read)
        file_put(w->v, 0, w->form, w->s->size);
    MPI_Barrier(MPI_COMM_WORLD);
    if (w->is_read)
        side_clear(w->s, w->form);
    seek(w->form, 0);
    return call(w->form, w->is_read, 0, w->s->buf, (int) w->s->count, w->s->type, got);
}

/* The data of a process in which there was no error. */
static void check_data(const struct what *w)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (w->is_read)
        side_check(w->s, forms[w->form], w->form, w->s->size);
    else
        file_check(w->v, 0, w->form, w->s->size, forms[w->form]);
}

/* One call while the at-th call of a function fails in the last process. Returns whether there are
 * that many. */
static bool fault_check(const struct what *w, enum fault which, long at)
{
    const int victim = nranks - 1;
    int err, failed, fired = 0;
    MPI_Count got;

    file_fill((MPI_Offset) nranks * BLOCKS * BLOCK);
    MPI_Barrier(MPI_COMM_WORLD);
    calls_left = at;
    if (rank == victim)
        fault = which;
    err = do_call(w, &got);
    fault = NO_FAULT;
    if (rank == victim)
        fired = calls_left <= 0;
    MPI_Bcast(&fired, 1, MPI_INT, victim, MPI_COMM_WORLD);
    failed = err != MPI_SUCCESS;
    if (failed && !fired)
        report_fail("%s, %s: an error without a fault: %s", forms[w->form], w->how,
                    report_mpi_text(err));
    /* all hear of data that was not written */
    if (!failed && fired && (rank == victim || !w->is_read))
        report_fail("%s %s, %s, failing %s %ld: no error", w->is_read ? "read" : "write",
                    forms[w->form], w->how, faults_names[which], at);
    if (failed)
        MPI_Barrier(MPI_COMM_WORLD);
    else
        check_data(w);
    return fired;
}

static void what_check(const struct what *w)
{
    MPI_Count got;

    for (enum fault which = SEND; which < NFAULTS; which++) {
        long at = 1;

        while (at <= MAX_CALLS && fault_check(w, which, at))
            at++;
        /* a write reads what is between the data, of which there is nothing */
        if (at == 1 && (which != READ || w->is_read))
            report_fail("%s, %s: there is no %s", forms[w->form], w->how, faults_names[which]);
        CHECK_MPI(do_call(w, &got));
        check_data(w);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void forms_check(const struct view *v, enum mem_kind kind, bool is_contig, bool is_atomic)
{
    char how[80];
    struct side s;
    MPI_Datatype type;
    MPI_Info info;

    snprintf(how, sizeof(how), "%s%s memory%s", is_contig ? "contiguous " : "", mem_name(kind),
             is_atomic ? ", atomic" : "");
    MPI_Type_vector(BLOCK / 4, 1, is_contig ? 1 : 3, MPI_INT, &type);
    MPI_Type_commit(&type);
    side_make(&s, kind, type, BLOCKS, 0);
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "2048");
    MPI_Info_set(info, "romio_cb_write", "enable");
    MPI_Info_set(info, "romio_cb_read", "enable");
    MPI_Info_set(info, "cb_config_list", "*:*");
    file_open(MPI_MODE_RDWR, info);
    CHECK_MPI(MPI_File_set_atomicity(file, is_atomic));
    CHECK_MPI(MPI_File_set_view(file, v->disp, v->etype, v->filetype, "native", MPI_INFO_NULL));
    for (enum form form = AT_ALL; form < NFORMS; form++) {
        if (is_shared(form) || (form >= I_AT && form < I_AT_ALL))
            continue;
        for (int is_read = 0; is_read < 2; is_read++) {
            const struct what w = { form, is_read, &s, v, how };
            what_check(&w);
        }
    }
    CHECK_MPI(MPI_File_close(&file));
    MPI_Info_free(&info);
    side_free(&s);
    MPI_Type_free(&type);
}

/* ---- independent reads ---- */

/* A way to read. */
struct way {
    const char *driver, *sieving;
    bool is_atomic;
};

static const struct way ways[] = {
    {"", "automatic", false},
    {"", "automatic", true},
    {"", "disable", true},
    {"nfs:", "automatic", false},
    {"nfs:", "automatic", true}
};

#define NWAYS (int) (sizeof(ways) / sizeof(ways[0]))

/* A process other than the one that reads. */
static void unlocked_check(const char *what)
{
    struct flock lock = {.l_type = F_WRLCK,.l_whence = SEEK_SET };
    int fd = open(file_path(), O_RDWR);

    CHECK(fcntl(fd, F_GETLK, &lock) == 0);
    if (lock.l_type != F_UNLCK)
        report_fail("%s: a lock is left after a read that failed", what);
    close(fd);
}

/* One read of the last process while its at-th call of a function fails. Returns whether there are that
 * many. */
static bool read_check(const struct what *w, enum fault which, long at)
{
    const int victim = nranks - 1;
    int fired = 0, err;
    MPI_Count got;

    if (rank == victim) {
        side_clear(w->s, w->form);
        seek(w->form, 0);
        calls_left = at;
        fault = which;
        err = call(w->form, true, 0, w->s->buf, (int) w->s->count, w->s->type, &got);
        fault = NO_FAULT;
        fired = calls_left <= 0;
        if ((err != MPI_SUCCESS) != (fired && which == READ))
            report_fail("%s, %s: call %ld of the system %s, and the result is %s", forms[w->form], w->how,
                        at, !fired ? "is none" : which == READ ? "fails" : "is short",
                        err ? report_mpi_text(err) : "success");
        if (err == MPI_SUCCESS)
            side_check(w->s, w->how, w->form, w->s->size);
    }
    MPI_Bcast(&fired, 1, MPI_INT, victim, MPI_COMM_WORLD);
    if (rank == 0 && rank != victim)
        unlocked_check(w->how);
    MPI_Barrier(MPI_COMM_WORLD);
    return fired;
}

static void reads_check(const struct view *v, const struct way *way, bool is_contig_mem,
                        bool is_contig_file)
{
    const struct view whole = WHOLE_FILE(0);
    char how[120];
    struct side s;
    MPI_Datatype type;
    MPI_Info info;

    snprintf(how, sizeof(how), "%sromio_ds_read %s, %s memory, %s file%s", way->driver, way->sieving,
             is_contig_mem ? "contiguous" : "strided", is_contig_file ? "contiguous" : "strided",
             way->is_atomic ? ", atomic" : "");
    MPI_Type_vector(BLOCK / 4, 1, is_contig_mem ? 1 : 3, MPI_INT, &type);
    MPI_Type_commit(&type);
    side_make(&s, MEM__PAGEABLE, type, BLOCKS, 0);
    MPI_Info_create(&info);
    MPI_Info_set(info, "ind_rd_buffer_size", "2000");
    MPI_Info_set(info, "romio_ds_read", way->sieving);
    file_fill((MPI_Offset) nranks * BLOCKS * BLOCK);
    file_open_with(way->driver, MPI_MODE_RDWR, info);
    CHECK_MPI(MPI_File_set_atomicity(file, way->is_atomic));
    if (!is_contig_file)
        CHECK_MPI(MPI_File_set_view(file, v->disp, v->etype, v->filetype, "native", MPI_INFO_NULL));
    for (enum form form = AT; form <= INDIVIDUAL; form++) {
        const struct what w = { form, true, &s, is_contig_file ? &whole : v, how };

        if (rank == nranks - 1)
            file_put(w.v, 0, form, s.size);
        for (int which = READ; which <= HALF_READ; which += HALF_READ - READ) {
            long at = 1;

            while (at <= MAX_CALLS && read_check(&w, which, at))
                at++;
            CHECK(at > 1);
        }
    }
    CHECK_MPI(MPI_File_close(&file));
    MPI_Info_free(&info);
    side_free(&s);
    MPI_Type_free(&type);
}

/* ---- messages ---- */

/* Accesses that are interleaved take messages, also if a process between them has no data. */
static void interleaved_check(const struct view *v)
{
    static const enum form collective[] = { AT_ALL, I_AT_ALL };
    char buf[BLOCKS * BLOCK] = "";
    MPI_Count got;
    long sends;

    file_open(MPI_MODE_RDWR, MPI_INFO_NULL);
    CHECK_MPI(MPI_File_set_view(file, v->disp, v->etype, v->filetype, "native", MPI_INFO_NULL));
    for (int i = 0; i < 4; i++) {
        fault = SEND;
        calls_left = 1 << 30;
        CHECK_MPI(call(collective[i / 2], i % 2, 0, buf, rank == 1 ? 0 : (int) sizeof(buf), MPI_BYTE, &got));
        fault = NO_FAULT;
        sends = (1 << 30) - calls_left;
        MPI_Allreduce(MPI_IN_PLACE, &sends, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        if (sends == 0)
            report_fail("%s: no messages, but the accesses are interleaved", forms[collective[i / 2]]);
    }
    CHECK_MPI(MPI_File_close(&file));
}

/* ---- close ---- */

static int errors_of_close;

static void close_handler(MPI_File * fh, int *err, ...)
{
    int class;

    MPI_Error_class(*err, &class);
    CHECK(class == MPI_ERR_IO);
    errors_of_close++;
}

/* The last process's call fails; the file is closed nevertheless. */
static void close_check(void)
{
    MPI_Errhandler handler;
    int err;

    MPI_File_create_errhandler(close_handler, &handler);
    file_open(MPI_MODE_RDWR, MPI_INFO_NULL);
    MPI_File_set_errhandler(file, handler);
    MPI_Errhandler_free(&handler);
    calls_left = 1;
    if (rank == nranks - 1)
        fault = CLOSE;
    err = MPI_File_close(&file);
    fault = NO_FAULT;
    CHECK((err != MPI_SUCCESS) == (rank == nranks - 1));
    CHECK(errors_of_close == (rank == nranks - 1));
    CHECK(file == MPI_FILE_NULL);
}

void broken(void)
{
    struct view v = {.etype = MPI_BYTE,.disp = (MPI_Offset) rank * BLOCK,.esize = 1,.block = BLOCK,
        .stride = (MPI_Aint) nranks * BLOCK
    };
    MPI_Datatype block;

    MPI_Type_contiguous(BLOCK, MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, v.stride, &v.filetype);
    MPI_Type_commit(&v.filetype);
    MPI_Type_free(&block);
    forms_check(&v, MEM__DEVICE, false, false);
    forms_check(&v, MEM__PAGEABLE, true, false);
    forms_check(&v, MEM__PAGEABLE, false, false);
    forms_check(&v, MEM__PAGEABLE, false, true);
    for (int i = 0; i < NWAYS; i++)
        for (int kind = 0; kind < 4; kind++)
            reads_check(&v, &ways[i], kind & 1, kind & 2);
    if (nranks > 2)
        interleaved_check(&v);
    close_check();
    MPI_Type_free(&v.filetype);
}
