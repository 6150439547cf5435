/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that partitioned requests which are inactive complete at once with an empty status,
 * whatever their last operation was, and have all partitions arrived, as a null request has. */

#include "mpi.h"
#include "mpitest.h"
#include <stdio.h>

static int errs = 0;

static void expect(int is_so, const char *what)
{
    if (!is_so) {
        fprintf(stderr, "not so: %s\n", what);
        errs++;
    }
}

static int is_empty(const MPI_Status * status)
{
    int count;

    MPI_Get_count(status, MPI_INT, &count);
    return status->MPI_SOURCE == MPI_ANY_SOURCE && status->MPI_TAG == MPI_ANY_TAG && count == 0;
}

static void check_inactive(MPI_Request * request)
{
    MPI_Status status;
    int flag = 0, index = 0;

    expect(MPI_Wait(request, &status) == MPI_SUCCESS && is_empty(&status), "MPI_Wait is empty");
    expect(MPI_Test(request, &flag, &status) == MPI_SUCCESS && flag && is_empty(&status),
           "MPI_Test is empty");
    status.MPI_SOURCE = status.MPI_TAG = -100;
    expect(MPI_Request_get_status(*request, &flag, &status) == MPI_SUCCESS && flag &&
           is_empty(&status), "MPI_Request_get_status is empty");
    flag = 0;
    expect(MPI_Testall(1, request, &flag, &status) == MPI_SUCCESS && flag && is_empty(&status),
           "MPI_Testall is empty");
    expect(MPI_Waitany(1, request, &index, &status) == MPI_SUCCESS && index == MPI_UNDEFINED,
           "MPI_Waitany finds no active request");
}

int main(int argc, char *argv[])
{
    MPI_Request requests[2];
    MPI_Status status;
    int from[2] = { 1, 2 }, to[2] = { -1, -1 }, room, flag, count, err, class;

    MTest_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    /* The receive is long enough in the first round only */
    for (room = 2; room > 0; room--) {
        MPI_Psend_init(from, 2, 1, MPI_INT, 0, 5, MPI_COMM_SELF, MPI_INFO_NULL, &requests[0]);
        MPI_Precv_init(to, room, 1, MPI_INT, 0, 5, MPI_COMM_SELF, MPI_INFO_NULL, &requests[1]);
        check_inactive(&requests[0]);
        check_inactive(&requests[1]);

        MPI_Startall(2, requests);
        MPI_Pready_range(0, 1, requests[0]);
        do {
            err = MPI_Request_get_status(requests[1], &flag, &status);
        } while (!flag);
        MPI_Error_class(err, &class);
        expect(class == (room == 2 ? MPI_SUCCESS : MPI_ERR_TRUNCATE), "class of get_status");
        MPI_Get_count(&status, MPI_INT, &count);
        expect(status.MPI_SOURCE == 0 && status.MPI_TAG == 5 && count == room, "active status");
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        check_inactive(&requests[0]);
        check_inactive(&requests[1]);

        flag = 0;
        expect(MPI_Parrived(requests[1], 0, &flag) == MPI_SUCCESS && flag, "inactive has arrived");
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
        flag = 0;
        expect(MPI_Parrived(requests[1], 0, &flag) == MPI_SUCCESS && flag, "null has arrived");
    }
    expect(to[0] == 1 && to[1] == 2, "the data is right");
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
