/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Requests of nonblocking operations that the system does beside the program: tests that find only
 * some of several complete, MPI_Request_get_status, operations that fail, and those of which the system
 * moves a part at a time. Host buffers; each process has a part of the file. The functions that ROMIO
 * calls are replaced, which takes a shared library. */

#define _GNU_SOURCE             /* RTLD_NEXT */

#include "files.h"

#include <aio.h>
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define N 1000                  /* bytes of an operation */
#define NREQUESTS 3

static size_t part;             /* bytes that the system moves at a time; 0: any number */
static int refusals;            /* starts that the system refuses, from the second on */
static bool is_refused;         /* the system refuses all */
static int lates;               /* operations in progress look so for so many calls */

#ifndef __SANITIZE_ADDRESS__    /* which takes a static library */

/* Start the operation on a copy that has less to move: the program's has to stay as it is. */
static int start(struct aiocb *cb, const char *name)
{
    int (*next) (struct aiocb *);
    const size_t n = cb->aio_nbytes;
    int err;

    if (is_refused || (n < N && refusals > 0)) {
        refusals -= !is_refused;
        errno = EAGAIN;
        return -1;
    }
    *(void **) &next = dlsym(RTLD_NEXT, name);
    if (part && n > part)
        cb->aio_nbytes = part;
    err = next(cb);
    /* it is read by then */
    if (part && n > part) {
        const struct aiocb *const list[] = { cb };

        while (aio_suspend(list, 1, NULL)) ;
    }
    cb->aio_nbytes = n;
    return err;
}

int aio_read(struct aiocb *cb)
{
    return start(cb, "aio_read");
}

int aio_write(struct aiocb *cb)
{
    return start(cb, "aio_write");
}

int aio_error(const struct aiocb *cb)
{
    int (*next) (const struct aiocb *);

    if (lates > 0) {
        lates--;
        return EINPROGRESS;
    }
    *(void **) &next = dlsym(RTLD_NEXT, "aio_error");
    return next(cb);
}

#endif

static char bufs[NREQUESTS][N];
static MPI_Request requests[NREQUESTS];
static MPI_Status statuses[NREQUESTS];

static MPI_Offset at(int i)
{
    return ((MPI_Offset) rank * NREQUESTS + i) * N;
}

static void start_all(bool is_read)
{
    for (int i = 0; i < NREQUESTS; i++) {
        memset(bufs[i], is_read ? 0 : 1 + i, N);
        if (is_read)
            CHECK_MPI(MPI_File_iread_at(file, at(i), bufs[i], N, MPI_BYTE, &requests[i]));
        else
            CHECK_MPI(MPI_File_iwrite_at(file, at(i), bufs[i], N, MPI_BYTE, &requests[i]));
    }
}

/* After all were waited for; statuses has theirs. */
static void all_check(const char *what)
{
    char expected[N];
    int got;

    for (int i = 0; i < NREQUESTS; i++) {
        memset(expected, 1 + i, N);
        report_compare(what, bufs[i], expected, N);
        MPI_Get_count(&statuses[i], MPI_BYTE, &got);
        if (got != N)
            report_fail("%s: %d bytes", what, got);
        CHECK(requests[i] == MPI_REQUEST_NULL);
    }
}

/* Some are complete when others are not. */
static void tests_check(bool is_read)
{
    int flag = 0, n, indices[NREQUESTS];

    start_all(is_read);
    usleep(20000);
    for (lates = 2; !flag;)
        CHECK_MPI(MPI_Testall(NREQUESTS, requests, &flag, statuses));
    all_check("Testall");

    start_all(is_read);
    usleep(20000);
    lates = 2;
    CHECK_MPI(MPI_Testall(NREQUESTS, requests, &flag, statuses));
    CHECK_MPI(MPI_Testall(NREQUESTS, requests, &flag, MPI_STATUSES_IGNORE));
    lates = 0;
    for (int i = 0; i < NREQUESTS; i++)
        for (flag = requests[i] == MPI_REQUEST_NULL; !flag;)
            CHECK_MPI(MPI_Test(&requests[i], &flag, &statuses[i]));

    start_all(is_read);
    for (n = 0; n < NREQUESTS; n += flag) {
        MPI_Status status;
        int i;

        CHECK_MPI(MPI_Testany(NREQUESTS, requests, &i, &flag, &status));
        if (flag)
            statuses[i] = status;
    }
    all_check("Testany");

    start_all(is_read);
    for (n = 0; n < NREQUESTS; n += flag) {
        MPI_Status some[NREQUESTS];

        CHECK_MPI(MPI_Testsome(NREQUESTS, requests, &flag, indices, some));
        for (int i = 0; i < flag; i++)
            statuses[indices[i]] = some[i];
    }
    all_check("Testsome");
}

static void get_status_check(bool is_read)
{
    MPI_Status status;
    int flag = 0, got;

    start_all(is_read);
    for (int i = 0; i < NREQUESTS; i++) {
        for (int turn = 0; turn < 10000 && !flag; turn++) {
            CHECK_MPI(MPI_Request_get_status(requests[i], &flag, &status));
            usleep(100);
        }
        CHECK(flag);
        MPI_Get_count(&status, MPI_BYTE, &got);
        CHECK(got == N);
        flag = 0;
    }
    CHECK_MPI(MPI_Waitall(NREQUESTS, requests, statuses));
    all_check("get_status");
}

/* The system moves a part at a time, and may have no place for the next one. */
static void parts_check(bool is_read)
{
    char expected[N];
    int got;

    part = 300;
    for (int i = 0; i < 3; i++) {
        refusals = 5 * i;
        start_all(is_read);
        CHECK_MPI(MPI_Waitall(NREQUESTS, requests, statuses));
        all_check("parts");
    }
    refusals = 5;
    tests_check(is_read);
    refusals = 0;
    if (is_read && rank == nranks - 1) {
        /* to the end of the file */
        memset(expected, NREQUESTS, N);
        CHECK_MPI(MPI_File_iread_at(file, at(NREQUESTS) - 700, bufs[0], N, MPI_BYTE, requests));
        CHECK_MPI(MPI_Wait(requests, statuses));
        MPI_Get_count(statuses, MPI_BYTE, &got);
        CHECK(got == 700);
        report_compare("the end of the file", bufs[0], expected, 700);
    }
    part = 0;
}

/* The first one is within the limit of the file's size, the next one in part, and the last one beyond it. */
static void failures_check(void)
{
    int err, class, flag;

    for (int form = 0; form < 6; form++) {
        MPI_Barrier(MPI_COMM_WORLD);
        is_refused = form >= 3;
        limit_set(at(1) + N / 2);
        start_all(false);
        for (int i = 0; i < NREQUESTS; i++) {
            if (form % 3 == 0)
                err = MPI_Wait(&requests[i], &statuses[i]);
            else if (form % 3 == 1)
                err = MPI_Waitall(1, &requests[i], &statuses[i]);
            else
                do {
                    err = MPI_Test(&requests[i], &flag, &statuses[i]);
                } while (err == MPI_SUCCESS && !flag);
            if (form % 3 == 1 && err != MPI_SUCCESS)
                err = statuses[i].MPI_ERROR;
            MPI_Error_class(err, &class);
            if (class != (i == 0 ? MPI_SUCCESS : MPI_ERR_IO))
                report_fail("write %d beyond the limit, form %d: error class %d", i, form, class);
            CHECK(requests[i] == MPI_REQUEST_NULL);
        }
        limit_set(0);
    }
    /* done at once */
    for (int is_read = 0; is_read < 2; is_read++) {
        tests_check(is_read);
        get_status_check(is_read);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    is_refused = false;
    start_all(false);
    CHECK_MPI(MPI_Waitall(NREQUESTS, requests, statuses));
    all_check("after a failure");
}

void requests_of_system(void)
{
    file_fill((MPI_Offset) nranks * NREQUESTS * N);
    file_open(MPI_MODE_RDWR, MPI_INFO_NULL);
    for (int is_read = 0; is_read < 2; is_read++) {
        tests_check(is_read);
        get_status_check(is_read);
        parts_check(is_read);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    failures_check();
    CHECK_MPI(MPI_File_close(&file));
}
