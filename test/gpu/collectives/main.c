/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests collectives with buffers in any kind of memory: each call is made on them and on their
 * twins in host memory, whose contents must then be the same. Any number of processes, at most 8.
 *
 *     collectives cases                            reductions that the release gets wrong, each by itself
 *     collectives negative                         reductions of datatypes with a negative extent
 *     collectives transports                       those of MPICH's tsp_ algorithms that are chosen
 *     collectives descriptors                      reductions of mapped virtual ranges, two GPUs; with three
 *                                                  processes, also calls that offer several
 *     collectives direct [SEED [ONE_IN]]           those that map the other processes' memory; one
 *                                                  pair of operation and datatype in ONE_IN
 *     collectives nodes [SEED]                     those of several nodes, each of which does a part so
 *     collectives faults                           the same with failures; emulated driver only
 *     collectives ifaults, pfaults                 the same, nonblocking, persistent
 *     collectives unreached                        GPUs that do not reach each other
 *     collectives unshared                         processes that get no shared memory
 *     collectives bcast_faults                     the same of long broadcasts; three processes or more
 *     collectives flat                             those of MPICH's algorithms with failures; the same
 *     collectives iflat                            the same, nonblocking
 *     collectives inter, iinter                    the same between two groups
 *     collectives pending [SEED]                   many nonblocking ones in flight
 *     collectives persistent [SEED]                persistent ones, started in any order
 *     collectives in_turn                          of more buffers in turn than fit into a few sets
 *     collectives held                             a stream of the program is held; two processes, with
 *                                                  MPIR_CVAR_GPUDT_TEMP_MIB=1
 *     collectives unwritten                        with MPIR_CVAR_ENABLE_FT=1, nobody writes to memory of others
 *     collectives dies                             a process dies; with MPIR_CVAR_ENABLE_FT=1
 *     collectives pdies                            the same, with a persistent one
 *     collectives dies_before                      before blocking ones
 *     collectives dies_amid                        in a blocking one
 *     collectives threads                          other threads call MPI meanwhile; emulated driver only
 *     collectives local [SEED]                     MPI_Reduce_local of every operation and datatype
 *     collectives reducing [SEED [CALLS [KIND]]]   random reductions
 *     collectives moving [SEED [CALLS [KIND]]]     random collectives without an operation
 *     collectives random [SEED [CALLS [KIND]]]     both; up to MAX_FLIGHTS calls are in flight at a time
 *
 * KIND: only that kind of memory. With pageable memory, it is tested only that MPICH's own handling
 * does not fail: both calls are the same.
 *
 * A failure prints the call and the command line to reproduce it. */

#include "collectives.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int world_rank;

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "cases";
    unsigned long seed = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;
    unsigned long ncalls = argc > 3 ? strtoul(argv[3], NULL, 0) : 200;
    const char *coll = getenv("MPIR_CVAR_GPUDT_COLL");
    int nprocs, provided;

    report_time_limit(300);
    MPI_Init_thread(NULL, NULL, strcmp(what, "threads") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE,
                    &provided);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    if (gpu_open() == 0 || nprocs > MAX_PROCS)
        return 1;
    gpu_set_current(0);
    /* The algorithm for buffers is not that for their twins then */
    operands_exact = coll && strcmp(coll, "always") == 0;
    if (argc > 4 && (kind_only = mem_named(argv[4])) == MEM__NKINDS)
        return 2;
    if (strcmp(what, "cases") == 0)
        cases_run();
    else if (strcmp(what, "negative") == 0)
        negative_run();
    else if (strcmp(what, "transports") == 0)
        transports_run();
    else if (strcmp(what, "descriptors") == 0)
        descriptors_run();
    else if (strcmp(what, "direct") == 0)
        direct_run((unsigned) seed, argc > 3 ? (unsigned) ncalls : 1);
    else if (strcmp(what, "nodes") == 0)
        nodes_run(seed);
    else if (strcmp(what, "faults") == 0)
        direct_faults_run(MODE__BLOCKING);
    else if (strcmp(what, "unreached") == 0)
        direct_unreached_run();
    else if (strcmp(what, "unshared") == 0)
        direct_unshared_run();
    else if (strcmp(what, "bcast_faults") == 0)
        direct_bcast_faults_run();
    else if (strcmp(what, "ifaults") == 0)
        direct_faults_run(MODE__NONBLOCKING);
    else if (strcmp(what, "pfaults") == 0)
        direct_faults_run(MODE__PERSISTENT);
    else if (strcmp(what, "pdies") == 0)
        persistent_dies_run();
    else if (strcmp(what, "persistent") == 0)
        persistent_run(seed);
    else if (strcmp(what, "pending") == 0)
        pending_run(seed);
    else if (strcmp(what, "in_turn") == 0)
        in_turn_run();
    else if (strcmp(what, "held") == 0)
        held_run();
    else if (strcmp(what, "unwritten") == 0)
        unwritten_run();
    else if (strcmp(what, "dies") == 0)
        dies_run();
    else if (strncmp(what, "dies_", 5) == 0)
        dies_blocking_run(strcmp(what, "dies_before") == 0);
    else if (strcmp(what, "flat") == 0)
        flat_faults_run(MODE__BLOCKING, 0);
    else if (strcmp(what, "iflat") == 0)
        flat_faults_run(MODE__NONBLOCKING, 0);
    else if (strcmp(what, "inter") == 0)
        flat_faults_run(MODE__BLOCKING, 1);
    else if (strcmp(what, "iinter") == 0)
        flat_faults_run(MODE__NONBLOCKING, 1);
    else if (strcmp(what, "threads") == 0)
        threads_run();
    else if (strcmp(what, "local") == 0)
        local_run(seed);
    else if (strcmp(what, "reducing") == 0)
        many_run(what, reducing_begin, seed, ncalls);
    else if (strcmp(what, "moving") == 0)
        many_run(what, moving_begin, seed, ncalls);
    else if (strcmp(what, "random") == 0)
        many_run(what, NULL, seed, ncalls);
    else
        return 2;
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
