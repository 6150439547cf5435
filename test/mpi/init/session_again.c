/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests sessions that begin after the last one has ended, with messages and collectives in each,
 * a child process that exits between two of them, and the world model at last. */

#include "mpi.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 6
#define N 100000                /* long messages too */

static int errs = 0;

#define CHECK(cond_)                                                            \
    do {                                                                        \
        if (!(cond_)) {                                                         \
            fprintf(stderr, "round %d, line %d: not so: %s\n", round, __LINE__, #cond_);        \
            errs++;                                                             \
        }                                                                       \
    } while (0)

static void exchange(int round, MPI_Comm comm)
{
    int rank, size, sum = 0, first = -1;
    int *out = malloc(N * sizeof(int)), *in = malloc(N * sizeof(int));

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < N; i++) {
        out[i] = rank * 1000 + round + i;
        in[i] = -1;
    }
    for (int n = 1; n <= N; n *= 10) {
        MPI_Sendrecv(out, n, MPI_INT, (rank + 1) % size, n, in, n, MPI_INT,
                     (rank + size - 1) % size, n, comm, MPI_STATUS_IGNORE);
        CHECK(in[n - 1] == (rank + size - 1) % size * 1000 + round + n - 1);
    }
    first = rank == 0 ? round : -1;
    MPI_Bcast(&first, 1, MPI_INT, 0, comm);
    CHECK(first == round);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == size * (size - 1) / 2);
    free(out);
    free(in);
}

static void session_run(int round)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int flag = 1;

    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) == MPI_SUCCESS);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "session_again", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    exchange(round, comm);
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    MPI_Finalized(&flag);
    CHECK(!flag);
}

int main(int argc, char *argv[])
{
    int rank, sum, round;
    pid_t child;

    for (round = 0; round < ROUNDS; round++)
        session_run(round);
    fflush(stdout);
    child = fork();
    if (child == 0)
        exit(0);
    CHECK(child > 0 && waitpid(child, NULL, 0) == child);
    session_run(round);

    MPI_Init(&argc, &argv);
    exchange(round, MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&errs, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && sum == 0)
        printf(" No Errors\n");
    else if (rank == 0)
        printf(" Found %d errors\n", sum);
    MPI_Finalize();
    return sum > 0;
}
