/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that collectives of processes that can never have a GPU do not go on asking whether they have: the
 * root of a broadcast need not wait for the other process then. Two processes.
 *
 *   no_gpu       no driver can be found: some calls ask at first, and none later
 *   no_gpu late  there is a driver, which may be loaded later: some calls still ask */

#include <fcntl.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "report.h"

#define FIRST 10                /* calls of which some ask */
#define CALLS 40                /* of which one would ask; fewer than messages that fit into shared memory */
#define ASKED_MS 500            /* that a root which asks waits at least */
#define MOST_MS 60000           /* that one which does not may take */

static void broadcasts(int n)
{
    double value = 1;

    for (int i = 0; i < n; i++)
        CHECK_MPI(MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD));
}

/* A flag in memory that the processes share by themselves: not each channel has shared windows. */
static int *flag_share(int rank)
{
    char name[] = "/tmp/no_gpu_XXXXXX";
    int file = -1, *flag;

    if (rank == 0) {
        file = mkstemp(name);
        CHECK(file >= 0 && ftruncate(file, sizeof(*flag)) == 0);
    }
    CHECK_MPI(MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, MPI_COMM_WORLD));
    if (rank == 1)
        file = open(name, O_RDWR);
    flag = mmap(NULL, sizeof(*flag), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(flag != MAP_FAILED);
    close(file);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        unlink(name);
    return flag;
}

/* Whether the flag is set within so many milliseconds. No call of MPI: the root must do without. */
static int is_set_within(volatile int *flag, int ms)
{
    for (int i = 0; i < ms && !*flag; i++)
        usleep(1000);
    return *flag;
}

int main(int argc, char **argv)
{
    const int is_late = argc > 1 && strcmp(argv[1], "late") == 0;
    const int asks = is_late || access("/dev/nvidiactl", F_OK) == 0;
    int rank, *flag;

    /* Where the library looks for a driver */
    if (!is_late)
        unsetenv("LD_LIBRARY_PATH");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    flag = flag_share(rank);
    broadcasts(FIRST);
    MPI_Barrier(MPI_COMM_WORLD);

    if (rank == 1)
        CHECK(is_set_within(flag, asks ? ASKED_MS : MOST_MS) == !asks);
    broadcasts(CALLS);
    if (rank == 0)
        *(volatile int *) flag = 1;

    MPI_Barrier(MPI_COMM_WORLD);
    munmap(flag, sizeof(*flag));
    MPI_Finalize();
    return report_done();
}
