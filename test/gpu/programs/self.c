/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests messages of a process to itself and collectives of one process, which are local copies:
 * every pair of kinds of memory; contiguous and strided on either side. */

#include "gpu.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 700                   /* ints */
#define BUF_SZ (3 * N * 4 + 512)
#define MARGIN 128

static MPI_Datatype strided;
static struct mem from, to;
static unsigned char from_image[BUF_SZ], to_image[BUF_SZ], seen[BUF_SZ];

enum call {
    CALL__SENDRECV, CALL__SEND_FIRST, CALL__RECV_FIRST, CALL__ALLGATHER, CALL__ALLTOALL,
    CALL__GATHER, CALL__SCATTER, CALL__IALLGATHER, CALL__ALLREDUCE, NCALLS
};

static const char *const names[NCALLS] = {
    "Sendrecv", "Isend, then Recv", "Irecv, then Send", "Allgather", "Alltoall", "Gather",
    "Scatter", "Iallgather", "Allreduce"
};

static int call_run(enum call call, const void *in, int nin, MPI_Datatype tin, void *out, int nout,
                    MPI_Datatype tout)
{
    MPI_Comm comm = MPI_COMM_SELF;
    MPI_Request request = MPI_REQUEST_NULL;
    int err, err_wait;

    switch (call) {
        case CALL__SENDRECV:
            return MPI_Sendrecv(in, nin, tin, 0, 1, out, nout, tout, 0, 1, comm, MPI_STATUS_IGNORE);
        case CALL__SEND_FIRST:
            err = MPI_Isend(in, nin, tin, 0, 2, comm, &request);
            if (err == MPI_SUCCESS)
                err = MPI_Recv(out, nout, tout, 0, 2, comm, MPI_STATUS_IGNORE);
            break;
        case CALL__RECV_FIRST:
            err = MPI_Irecv(out, nout, tout, 0, 3, comm, &request);
            if (err == MPI_SUCCESS)
                err = MPI_Send(in, nin, tin, 0, 3, comm);
            break;
        case CALL__ALLGATHER:
            return MPI_Allgather(in, nin, tin, out, nout, tout, comm);
        case CALL__ALLTOALL:
            return MPI_Alltoall(in, nin, tin, out, nout, tout, comm);
        case CALL__GATHER:
            return MPI_Gather(in, nin, tin, out, nout, tout, 0, comm);
        case CALL__SCATTER:
            return MPI_Scatter(in, nin, tin, out, nout, tout, 0, comm);
        case CALL__IALLGATHER:
            err = MPI_Iallgather(in, nin, tin, out, nout, tout, comm, &request);
            break;
        default:
            return MPI_Allreduce(in, out, nin, tin, MPI_SUM, comm);
    }
    err_wait = MPI_Wait(&request, MPI_STATUS_IGNORE);
    return err ? err : err_wait;
}

static void images_fill(int in_strided, int out_strided)
{
    for (int i = 0; i < BUF_SZ; i++) {
        from_image[i] = (unsigned char) rand();
        to_image[i] = (unsigned char) rand();
    }
    mem_write(&from, 0, from_image, BUF_SZ);
    mem_write(&to, 0, to_image, BUF_SZ);
    for (int i = 0; i < N; i++)
        memcpy(to_image + MARGIN + i * (out_strided ? 12 : 4),
               from_image + MARGIN + i * (in_strided ? 12 : 4), 4);
}

static void copy(enum call call, int in_strided, int out_strided)
{
    int before = report_failures;

    images_fill(in_strided, out_strided);
    CHECK_MPI(call_run(call, from.addr + MARGIN, in_strided ? 1 : N, in_strided ? strided : MPI_INT,
                       to.addr + MARGIN, out_strided ? 1 : N, out_strided ? strided : MPI_INT));
    mem_read(&from, 0, seen, BUF_SZ);
    report_compare("source", seen, from_image, BUF_SZ);
    mem_read(&to, 0, seen, BUF_SZ);
    report_compare("destination", seen, to_image, BUF_SZ);
    if (report_failures != before)
        fprintf(stderr, "... %s, from %s%s memory to %s%s memory\n", names[call],
                in_strided ? "strided " : "", mem_name(from.kind), out_strided ? "strided " : "",
                mem_name(to.kind));
}

int main(int argc, char **argv)
{
    int first = 0, last = NCALLS - 1;

    /* one call only: its number */
    if (argc > 1)
        first = last = atoi(argv[1]);
    if (first < 0 || last >= NCALLS)
        return 2;
    report_time_limit(120);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    MPI_Type_vector(N, 1, 3, MPI_INT, &strided);
    MPI_Type_commit(&strided);

    for (int a = 0; a < MEM__NKINDS; a++) {
        for (int b = 0; b < MEM__NKINDS; b++) {
            if (!mem_exists(a) || !mem_exists(b))
                continue;
            mem_alloc(&from, a, BUF_SZ);
            mem_alloc(&to, b, BUF_SZ);
            for (int call = first; call <= last; call++) {
                for (int i = 0; i < (call == CALL__ALLREDUCE ? 1 : 4); i++)
                    copy((enum call) call, i & 1, i >> 1);
            }
            mem_free(&from);
            mem_free(&to);
        }
    }
    MPI_Type_free(&strided);
    MPI_Finalize();
    return report_done();
}
