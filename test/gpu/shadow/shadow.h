/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Operations on buffers that are moved to device memory (shadow.c), for the calls of MPI that are
 * replaced (shadow_calls.c). */

#ifndef SHADOW_H_INCLUDED
#define SHADOW_H_INCLUDED

#include <mpi.h>

#include <stdbool.h>
#include <stddef.h>

/* The programs that it is loaded into have names of their own */
#pragma GCC visibility push(hidden)

/* A buffer and its copy in device memory. */
struct shadow {
    char *host;                 /* lowest byte of the buffer; NULL: there is no copy */
    size_t sz;
    char *mem;
    char *before;               /* what was in it at the start; NULL: the call only reads it */
    void *addr;                 /* stands for the address that the program gave */
};

/* A call, or a request and what it stands for. */
struct operation {
    struct shadow in, out;      /* a buffer that is read and written is "out" */
    bool active;                /* started, and not yet copied back */
    bool persistent;
    MPI_Request request;
    struct operation *next;
};

/* An operation that reads one buffer and writes another; either may be NO_BUFFER. */
struct operation *operation_make(const void *inbuf, MPI_Count incount, MPI_Datatype intype,
                                 void *outbuf, MPI_Count outcount, MPI_Datatype outtype);

#define NO_BUFFER NULL, 0, MPI_DATATYPE_NULL

/* An operation that reads and writes one buffer. */
struct operation *operation_make_replace(void *buf, MPI_Count count, MPI_Datatype type);

/* Before the call: the device buffers get what the program's hold. */
void operation_start(struct operation *op);

/* Copy back what a complete operation has written. */
void operation_fetch(struct operation *op);

/* Free it; if it is under way, its device memory stays. */
void operation_free(struct operation *op);

/* After a call that has done all, with the value that it returned. */
int operation_end(struct operation *op, int err);

/* After a call that has made a request. */
int operation_pending(struct operation *op, const MPI_Request * request, int err);

/* A request's operation or NULL, which is also what MPI_REQUEST_NULL has. take: it is no longer
 * pending. */
struct operation *operation_find(MPI_Request request, bool take);

/* Before a call that starts requests. */
void requests_start(int n, const MPI_Request requests[]);

/* Before a call that completes requests: their handles, for requests_end. */
MPI_Request *requests_copy(int n, const MPI_Request requests[]);

/* After it: the program has asked for some requests, and what became MPI_REQUEST_NULL is complete. A
 * persistent one keeps its handle; one that is complete may be copied back before a call has named
 * it. Frees before and returns err. */
int requests_end(int n, MPI_Request * before, const MPI_Request after[], int err);

#pragma GCC visibility pop

#endif /* SHADOW_H_INCLUDED */
