/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* See report.h. Must not know the engine. */

#include "report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_PRINTED 10

int report_failures;
static int is_left_out;         /* all of the test */

void report_fail(const char *format, ...)
{
    int nth = __atomic_add_fetch(&report_failures, 1, __ATOMIC_RELAXED);
    va_list args;

    if (nth > MAX_PRINTED)
        return;
    fflush(stdout);
    va_start(args, format);
    fputs("FAILURE: ", stderr);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

const char *report_mpi_text(int err)
{
    static __thread char text[MPI_MAX_ERROR_STRING];
    int len;

    if (MPI_Error_string(err, text, &len) != MPI_SUCCESS)
        snprintf(text, sizeof(text), "MPI error %d, which has no text", err);
    return text;
}

int report_compare(const char *what, const void *seen, const void *expected, size_t n)
{
    const unsigned char *a = seen, *b = expected;
    size_t at = 0, nwrong = 0;

    if (memcmp(a, b, n) == 0)
        return 1;
    while (a[at] == b[at])
        at++;
    for (size_t i = at; i < n; i++)
        nwrong += a[i] != b[i];
    report_fail("%s: byte %zu of %zu is 0x%02x, expected 0x%02x; %zu bytes are wrong", what, at, n,
                a[at], b[at], nwrong);
    return 0;
}

unsigned long long report_variable(const char *name)
{
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    unsigned long long value = 0;
    int n, at;

    if (MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &at) != MPI_SUCCESS &&
        MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_LEVEL, &at) != MPI_SUCCESS) {
        report_fail("there is no variable %s", name);
        return 0;
    }
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_handle_alloc(session, at, NULL, &handle, &n);
    MPI_T_pvar_read(session, handle, &value);
    MPI_T_pvar_handle_free(session, &handle);
    MPI_T_pvar_session_free(&session);
    return value;
}

int report_may_thread(const char *part)
{
    int provided;

    MPI_Query_thread(&provided);
    if (provided == MPI_THREAD_MULTIPLE)
        return 1;
    is_left_out = is_left_out || part == NULL;
    printf("NOT RUN: %s%sthe library was built without MPI_THREAD_MULTIPLE\n", part ? part : "",
           part ? ": " : "");
    fflush(stdout);
    return 0;
}

void report_case_run(const struct report_case *cases, size_t n, const char *name)
{
    int found = 0;

    for (size_t i = 0; name && i < n; i++) {
        if (strcmp(name, cases[i].name) == 0) {
            cases[i].run();
            found = 1;
        }
    }
    if (!found)
        report_fail("there is no case %s", name ? name : "without a name");
}

void report_time_limit(unsigned seconds)
{
    alarm(seconds);
}

int report_done(void)
{
    if (report_failures)
        printf("Found %d errors\n", report_failures);
    else if (!is_left_out)
        printf(" No Errors\n");
    fflush(stdout);
    return report_failures ? 1 : 0;
}
