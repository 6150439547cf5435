/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Counts and reports failures of the test programs. Uses MPI only. */

#ifndef REPORT_H_INCLUDED
#define REPORT_H_INCLUDED

#include "mpi.h"

#include <stddef.h>

extern int report_failures;

/* Count a failure and print it (the first ten), after `FAILURE: `: check-gpu looks for that where
 * the exit status says nothing. */
void report_fail(const char *format, ...) __attribute__ ((format(printf, 1, 2)));

#define CHECK(cond_)                                                            \
    do {                                                                        \
        if (!(cond_))                                                           \
            report_fail("%s:%d: not so: %s", __FILE__, __LINE__, #cond_);       \
    } while (0)

/* Make an MPI call that must succeed; a failure is counted and printed with MPI's text. */
#define CHECK_MPI(call_)                                                        \
    do {                                                                        \
        int err_ = (call_);                                                     \
        if (err_ != MPI_SUCCESS)                                                \
            report_fail("%s:%d: %s: %s", __FILE__, __LINE__, #call_,            \
                        report_mpi_text(err_));                                 \
    } while (0)

/* The text of an MPI error; overwritten by the next call in the same thread. */
const char *report_mpi_text(int err);

/* Compare n bytes; the first difference is counted as a failure. Returns 1 if they are equal. */
int report_compare(const char *what, const void *seen, const void *expected, size_t n);

/* The value of a performance variable of this process, by name; counts a failure if there is
 * none. */
unsigned long long report_variable(const char *name);

struct report_case {
    const char *name;
    void (*run) (void);
};

/* Whether several threads may call MPI at a time, which the test has asked for. Not in a build with
 * another level of threads (--enable-threads): then it prints what is not run, after `NOT RUN: `, which
 * check-gpu repeats.
 *   part  (IN)  what the test leaves out then; NULL if nothing else is left of it, so that report_done
 *               does not say that there were no errors */
int report_may_thread(const char *part);

/* Run those of n cases that have a name; a failure is counted if there is none. name may be NULL. */
void report_case_run(const struct report_case *cases, size_t n, const char *name);

/* Abort the program by SIGALRM unless it ends within that many seconds. */
void report_time_limit(unsigned seconds);

/* Print the result in the form of MPICH's tests. Returns the exit status. */
int report_done(void);

#endif /* REPORT_H_INCLUDED */
