/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests epochs of different kinds after each other on a window in host memory: the barrier by which
 * processes agree on a fence ends after the next epoch has begun. Three processes. */

#include "report.h"

#include <unistd.h>

/* Process 1 puts into process 0, in an epoch that the two of them have, while process 2 comes late.
 *   flags  (IN)  of MPI_Win_post and MPI_Win_start */
static void epoch_run(MPI_Win win, int rank, int flags, int value, const int *mine)
{
    MPI_Group world, group;
    const int other = 1 - rank;

    MPI_Win_get_group(win, &world);
    CHECK_MPI(MPI_Win_fence(0, win));
    if (rank == 2) {
        usleep(200000);
    } else {
        MPI_Group_incl(world, 1, &other, &group);
        if (rank == 0) {
            CHECK_MPI(MPI_Win_post(group, flags, win));
            if (flags)
                CHECK_MPI(MPI_Send(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD));
            CHECK_MPI(MPI_Win_wait(win));
            CHECK(*mine == value);
        } else {
            if (flags)
                CHECK_MPI(MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK_MPI(MPI_Win_start(group, flags, win));
            CHECK_MPI(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
            CHECK_MPI(MPI_Win_complete(win));
        }
        MPI_Group_free(&group);
    }
    MPI_Group_free(&world);
    CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
}

int main(void)
{
    int rank, mine = 0;
    MPI_Win win;

    report_time_limit(60);
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK_MPI(MPI_Win_create(&mine, sizeof(mine), sizeof(mine), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    epoch_run(win, rank, 0, 11, &mine);
    epoch_run(win, rank, MPI_MODE_NOCHECK, 12, &mine);
    epoch_run(win, rank, 0, 13, &mine);
    CHECK_MPI(MPI_Win_free(&win));
    MPI_Finalize();
    return report_done();
}
