/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Operations on buffers that are moved to device memory (shadow.c), for the wrappers of MPI calls
 * (shadow_calls.c, shadow_coll.c, shadow_file.c, shadow_win.c). */

#ifndef SHADOW_H_INCLUDED
#define SHADOW_H_INCLUDED

#include <mpi.h>

#include <stdbool.h>
#include <stddef.h>

/* Programs that preload this library may use the same names */
#pragma GCC visibility push(hidden)

/* A buffer and its copy in device memory. */
struct shadow {
    char *host;                 /* lowest byte of the buffer; NULL: no copy */
    size_t sz;
    char *mem;
    char *before;               /* its contents at the start; NULL: the call only reads it */
    void *addr;                 /* to be passed instead of the program's address */
};

/* The bytes of a buffer that a call may access, as displacements from its address. */
struct range {
    MPI_Count lo, hi;           /* not hi > lo: none */
};

/* A call, or a request and its buffers. */
struct operation {
    struct shadow in, out;      /* a buffer that is both read and written is "out" */
    bool active;                /* started, and not yet copied back */
    bool persistent;
    MPI_Request request;
    struct operation *next;
};

/* An operation that reads one buffer and writes another; either may be NO_BUFFER. */
struct operation *operation_make(const void *inbuf, MPI_Count incount, MPI_Datatype intype,
                                 void *outbuf, MPI_Count outcount, MPI_Datatype outtype);

/* The same for buffers whose ranges are known. */
struct operation *operation_make_ranges(const void *inbuf, struct range in, void *outbuf,
                                        struct range out);

/* The range of a buffer; none if it is MPI_IN_PLACE or has absolute addresses, or if the call will
 * refuse it. */
struct range range_of(const void *buf, MPI_Count count, MPI_Datatype type);

#define NO_BUFFER NULL, 0, MPI_DATATYPE_NULL

/* Defines the wrapper of a kind of call, and of its large-count variant. */
#define EACH(define_, name_) define_(name_, int) define_(name_##_c, MPI_Count)

/* An operation that reads and writes one buffer. */
struct operation *operation_make_replace(void *buf, MPI_Count count, MPI_Datatype type);

/* Whether memory of windows is moved as well. */
bool windows_are_moved(void);

/* Programs in the unified memory model may synchronize by messages: copy what the program has stored
 * to windows before a message is sent, and what others have written to them after one has arrived.
 * Returns err. */
void windows_push(void);
int windows_pull(int err);

/* Make the device of this process current. */
void device_use(void);

/* Count a call with device buffers, or a window. */
void call_count(void);

/* Before the call: copy the program's buffers to the device. */
void operation_start(struct operation *op);

/* Copy back the bytes that a completed operation has written. */
void operation_fetch(struct operation *op);

/* Free it; if it is in flight, its device memory is kept. */
void operation_free(struct operation *op);

/* After a call that has completed the operation, with the call's return value. */
int operation_end(struct operation *op, int err);

/* After a call that has created a request. */
int operation_pending(struct operation *op, const MPI_Request * request, int err);

/* A request's operation, or NULL, also for MPI_REQUEST_NULL. take: removes it from the pending
 * ones. */
struct operation *operation_find(MPI_Request request, bool take);

/* Before a call that starts requests. */
void requests_start(int n, const MPI_Request requests[]);

/* Before a call that completes requests: a copy of their handles, for requests_end. */
MPI_Request *requests_copy(int n, const MPI_Request requests[]);

/* After such a call: requests that became MPI_REQUEST_NULL are complete. A persistent one keeps its
 * handle; if complete, it may be copied back before a call has returned it. Frees before and
 * returns err. */
int requests_end(int n, MPI_Request * before, const MPI_Request after[], int err);

#pragma GCC visibility pop

#endif /* SHADOW_H_INCLUDED */
