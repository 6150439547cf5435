/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Gives programs that know only host memory device buffers: preloaded, it copies each buffer of the
 * calls below to device memory, with its surroundings, makes the call there, and copies it back. So
 * MPICH's own tests of datatypes test the engine as they are. Buffers at absolute addresses stay
 * where they are.
 *
 * At exit it appends the number of calls with device buffers to the file that SHADOW_COUNT names. */

#include <mpi.h>
#include <cuda_runtime_api.h>

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A buffer and its copy in device memory. */
struct shadow {
    char *host;                 /* lowest byte of the buffer; NULL: there is no copy */
    size_t sz;
    char *mem;
    void *addr;                 /* stands for the address that the program gave */
};

/* A receive that is under way. */
struct pending {
    MPI_Request request;
    struct shadow shadow;
    struct pending *next;
};

static struct pending *pending;
static long ncalls;

static void cuda_ok(cudaError_t err, const char *call)
{
    if (err != cudaSuccess) {
        fprintf(stderr, "shadow: %s: %s\n", call, cudaGetErrorString(err));
        abort();
    }
}

#define CUDA(call_) cuda_ok(call_, #call_)

__attribute__((destructor)) static void count_write(void)
{
    const char *name = getenv("SHADOW_COUNT");
    char line[32];
    int fd;

    if (ncalls == 0 || name == NULL)
        return;
    fd = open(name, O_WRONLY | O_APPEND | O_CREAT, 0666);
    snprintf(line, sizeof(line), "%ld\n", ncalls);
    if (fd < 0 || write(fd, line, strlen(line)) != (ssize_t) strlen(line))
        fprintf(stderr, "shadow: cannot write to %s\n", name);
    if (fd >= 0)
        close(fd);
}

/* Copy a buffer's memory from its first byte to its last. An empty one, one at absolute addresses,
 * or one that the call will refuse is passed on. */
static void shadow_make(struct shadow *s, const void *buf, MPI_Count count, MPI_Datatype type)
{
    MPI_Count size = 0, lb, extent, true_lb, true_extent, reach;

    memset(s, 0, sizeof(*s));
    s->addr = (void *) buf;
    if (buf == MPI_BOTTOM || buf == MPI_IN_PLACE || count <= 0 || type == MPI_DATATYPE_NULL ||
        PMPI_Type_size_x(type, &size) || size <= 0)
        return;
    PMPI_Type_get_extent_x(type, &lb, &extent);
    PMPI_Type_get_true_extent_x(type, &true_lb, &true_extent);
    reach = extent * (count - 1);
    s->host = (char *) buf + true_lb + (reach < 0 ? reach : 0);
    s->sz = (size_t) (true_extent + (reach < 0 ? -reach : reach));
    CUDA(cudaMalloc((void **) &s->mem, s->sz));
    CUDA(cudaMemcpy(s->mem, s->host, s->sz, cudaMemcpyHostToDevice));
    s->addr = (void *) ((uintptr_t) buf + ((uintptr_t) s->mem - (uintptr_t) s->host));
    ncalls++;
}

static void shadow_end(struct shadow *s, int is_output)
{
    if (s->host == NULL)
        return;
    if (is_output)
        CUDA(cudaMemcpy(s->host, s->mem, s->sz, cudaMemcpyDeviceToHost));
    CUDA(cudaFree(s->mem));
    s->host = NULL;
}

/* ---- packing ---- */

int MPI_Pack(const void *inbuf, int incount, MPI_Datatype type, void *outbuf, int outsize,
             int *position, MPI_Comm comm)
{
    struct shadow in, out;
    int err;

    shadow_make(&in, inbuf, incount, type);
    shadow_make(&out, outbuf, outsize, MPI_BYTE);
    err = PMPI_Pack(in.addr, incount, type, out.addr, outsize, position, comm);
    shadow_end(&in, 0);
    shadow_end(&out, 1);
    return err;
}

int MPI_Unpack(const void *inbuf, int insize, int *position, void *outbuf, int outcount,
               MPI_Datatype type, MPI_Comm comm)
{
    struct shadow in, out;
    int err;

    shadow_make(&in, inbuf, insize, MPI_BYTE);
    shadow_make(&out, outbuf, outcount, type);
    err = PMPI_Unpack(in.addr, insize, position, out.addr, outcount, type, comm);
    shadow_end(&in, 0);
    shadow_end(&out, 1);
    return err;
}

int MPI_Pack_external(const char datarep[], const void *inbuf, int incount, MPI_Datatype type,
                      void *outbuf, MPI_Aint outsize, MPI_Aint * position)
{
    struct shadow in, out;
    int err;

    shadow_make(&in, inbuf, incount, type);
    shadow_make(&out, outbuf, outsize, MPI_BYTE);
    err = PMPI_Pack_external(datarep, in.addr, incount, type, out.addr, outsize, position);
    shadow_end(&in, 0);
    shadow_end(&out, 1);
    return err;
}

int MPI_Unpack_external(const char datarep[], const void *inbuf, MPI_Aint insize,
                        MPI_Aint * position, void *outbuf, int outcount, MPI_Datatype type)
{
    struct shadow in, out;
    int err;

    shadow_make(&in, inbuf, insize, MPI_BYTE);
    shadow_make(&out, outbuf, outcount, type);
    err = PMPI_Unpack_external(datarep, in.addr, insize, position, out.addr, outcount, type);
    shadow_end(&in, 0);
    shadow_end(&out, 1);
    return err;
}

/* ---- messages ---- */

int MPI_Send(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    struct shadow s;
    int err;

    shadow_make(&s, buf, count, type);
    err = PMPI_Send(s.addr, count, type, dest, tag, comm);
    shadow_end(&s, 0);
    return err;
}

int MPI_Recv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Status * status)
{
    struct shadow s;
    int err;

    shadow_make(&s, buf, count, type);
    err = PMPI_Recv(s.addr, count, type, source, tag, comm, status);
    shadow_end(&s, 1);
    return err;
}

int MPI_Sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                 void *recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                 MPI_Comm comm, MPI_Status * status)
{
    struct shadow in, out;
    int err;

    shadow_make(&in, sendbuf, sendcount, sendtype);
    shadow_make(&out, recvbuf, recvcount, recvtype);
    err = PMPI_Sendrecv(in.addr, sendcount, sendtype, dest, sendtag, out.addr, recvcount, recvtype,
                        source, recvtag, comm, status);
    shadow_end(&in, 0);
    shadow_end(&out, 1);
    return err;
}

int MPI_Irecv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Request * request)
{
    struct pending *p = malloc(sizeof(*p));
    int err;

    if (p == NULL)
        abort();
    shadow_make(&p->shadow, buf, count, type);
    err = PMPI_Irecv(p->shadow.addr, count, type, source, tag, comm, request);
    p->request = *request;
    p->next = pending;
    pending = p;
    return err;
}

/* The program has waited for some requests: what became MPI_REQUEST_NULL is complete. */
static void requests_end(int n, const MPI_Request * before, const MPI_Request * after)
{
    for (int i = 0; i < n; i++) {
        struct pending **at = &pending, *p;

        if (before[i] == MPI_REQUEST_NULL || after[i] != MPI_REQUEST_NULL)
            continue;
        while (*at && (*at)->request != before[i])
            at = &(*at)->next;
        p = *at;
        if (p) {
            *at = p->next;
            shadow_end(&p->shadow, 1);
            free(p);
        }
    }
}

int MPI_Wait(MPI_Request * request, MPI_Status * status)
{
    MPI_Request before = *request;
    int err = PMPI_Wait(request, status);

    requests_end(1, &before, request);
    return err;
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    MPI_Request *before = malloc((count > 0 ? count : 1) * sizeof(*before));
    int err;

    if (before == NULL)
        abort();
    if (count > 0)
        memcpy(before, requests, count * sizeof(*before));
    err = PMPI_Waitall(count, requests, statuses);
    requests_end(count, before, requests);
    free(before);
    return err;
}
