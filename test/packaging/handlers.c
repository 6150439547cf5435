/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that a signal handler of the program is still in place after MPI_Init, though hwloc has a plugin
 * that would replace it (hwloc_opencl.c). */

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static void own(int signum)
{
    (void) signum;
}

int main(void)
{
    struct sigaction now;

    signal(SIGUSR2, own);
    MPI_Init(NULL, NULL);
    sigaction(SIGUSR2, NULL, &now);
    if (getenv("PLUGIN_LOADED") == NULL)
        puts("hwloc has not loaded the plugin");
    else
        puts(now.sa_handler == own ? "kept" : "replaced");
    MPI_Finalize();
    return 0;
}
