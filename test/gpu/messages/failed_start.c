/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Fault injection: each driver call of a send fails once. The error is that of its request, once: of MPI_Isendrecv,
 * and of a persistent one, which is inactive then and can be started again; and of a buffered one to the process
 * itself whose receive fails, after which the buffer is detached all the same. Emulated driver only. Two processes. */

#include "report.h"
#include "side.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define CODE 999                /* CUDA_ERROR_UNKNOWN */
#define MOST 60                 /* calls */

static int rank;
static bool has_failed;         /* any */

/* Returns the error. */
static int send_isendrecv(struct side *side, int tag)
{
    MPI_Request req;
    int err = MPI_Isendrecv(side->buf, (int) side->count, side->type, 1, tag, NULL, 0, MPI_INT,
                            MPI_PROC_NULL, 0, MPI_COMM_WORLD, &req);

    return err ? err : MPI_Wait(&req, MPI_STATUS_IGNORE);
}

static int send_persistent(struct side *side, int tag, MPI_Request * req)
{
    MPI_Status status;
    int err, index;

    CHECK_MPI(MPI_Send_init(side->buf, (int) side->count, side->type, 1, tag, MPI_COMM_WORLD, req));
    err = MPI_Start(req);
    if (err == MPI_SUCCESS) {
        err = MPI_Waitany(1, req, &index, &status);
        CHECK(index == 0);
        CHECK_MPI(MPI_Wait(req, &status));
    }
    return err;
}

/* Start a persistent one again, with other data. */
static void again(struct side *side, int tag, MPI_Request * req)
{
    const unsigned seed = (unsigned) tag + MOST;

    if (rank == 0) {
        side_fill(side, seed);
        CHECK_MPI(MPI_Start(req));
        CHECK_MPI(MPI_Wait(req, MPI_STATUS_IGNORE));
        CHECK_MPI(MPI_Request_free(req));
    } else {
        side_clear(side, seed);
        CHECK_MPI(MPI_Recv(side->buf, (int) side->count, side->type, 0, tag, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE));
        side_check(side, "a buffer received when started again", seed, side->size);
    }
}

/* Send with a failing call of the driver, if there are that many. Returns whether there are. */
static bool fault(struct side *side, bool is_persistent, long at)
{
    const int tag = (int) at;
    const unsigned seed = (unsigned) at;
    int fired = 0, failed = 0, err;
    MPI_Request req;

    if (rank == 0) {
        side_fill(side, seed);
        gpu.emu_fail_set(NULL, at, CODE, 1);
        err = is_persistent ? send_persistent(side, tag, &req) : send_isendrecv(side, tag);
        fired = gpu.emu_failed_count() > 0;
        gpu.emu_fail_set(NULL, 0, 0, 1);
        failed = err != MPI_SUCCESS;
        has_failed |= failed;
        if (failed && !fired)
            report_fail("an error without a fault: %s", report_mpi_text(err));
        CHECK_MPI(MPI_Send(&failed, 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
    } else {
        side_clear(side, seed);
        CHECK_MPI(MPI_Irecv(side->buf, (int) side->count, side->type, 0, tag, MPI_COMM_WORLD, &req));
        CHECK_MPI(MPI_Recv(&failed, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        /* of a send that was not started */
        if (failed)
            CHECK_MPI(MPI_Cancel(&req));
        err = MPI_Wait(&req, MPI_STATUS_IGNORE);
        if (!failed && err)
            report_fail("the send has worked, but not the receive: %s", report_mpi_text(err));
        else if (!failed)
            side_check(side, "a received buffer", seed, side->size);
    }
    /* the next message with this tag is not for a receive that is still to be cancelled */
    MPI_Barrier(MPI_COMM_WORLD);
    if (is_persistent)
        again(side, tag, &req);
    MPI_Bcast(&fired, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return fired;
}

/* Receive a buffered message with a failing call of the driver. Returns whether there are that many. */
static bool buffered(struct side *side, long at)
{
    static char buffer[100000];
    const int n = (int) (side->size / sizeof(int));
    const unsigned seed = (unsigned) at;
    unsigned char *data = malloc(side->size);
    int sz, err, detached;
    bool fired;
    void *addr;

    for (MPI_Aint i = 0; i < side->size; i++)
        data[i] = side_byte(seed, i);
    side_clear(side, seed);
    CHECK_MPI(MPI_Buffer_attach(buffer, sizeof(buffer)));
    CHECK_MPI(MPI_Bsend(data, n, MPI_INT, 0, 0, MPI_COMM_SELF));
    gpu.emu_fail_set(NULL, at, CODE, 1);
    err = MPI_Recv(side->buf, (int) side->count, side->type, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    fired = gpu.emu_failed_count() > 0;
    gpu.emu_fail_set(NULL, 0, 0, 1);
    has_failed |= err != MPI_SUCCESS;
    if (err == MPI_SUCCESS)
        side_check(side, "a buffer of a buffered message", seed, side->size);
    CHECK(err == MPI_SUCCESS || fired);
    detached = MPI_Buffer_detach(&addr, &sz);
    CHECK(detached == MPI_SUCCESS || err != MPI_SUCCESS);
    CHECK_MPI(MPI_Buffer_attach(buffer, sizeof(buffer)));
    CHECK_MPI(MPI_Buffer_detach(&addr, &sz));
    CHECK(addr == buffer);
    free(data);
    return fired;
}

int main(int argc, char *argv[])
{
    struct side side;
    MPI_Datatype type;

    report_time_limit(120);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (gpu_open() == 0 || !gpu.is_emulated)
        return 1;
    gpu_set_current(0);
    MPI_Type_vector(3000, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    side_make(&side, MEM__DEVICE, type, 1, 0);
    for (int is_persistent = 0; is_persistent < 2; is_persistent++) {
        has_failed = false;
        for (long at = 1; at <= MOST && fault(&side, is_persistent, at); at++);
        CHECK(rank != 0 || has_failed);
    }
    has_failed = false;
    for (long at = 1; at <= MOST && buffered(&side, at); at++);
    CHECK(has_failed);
    side_free(&side);
    MPI_Type_free(&type);
    MPI_Finalize();
    return report_done();
}
