/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* What the examples share that needs MPI: the choice of the ranks' memory, the group of a rank's
 * neighbours, and aborting on failure. */

#ifndef EXAMPLE_MPI_H_INCLUDED
#define EXAMPLE_MPI_H_INCLUDED

#include "example.h"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* Aborts the job if a function has failed (and printed why). */
static inline void must(int result)
{
    if (result != 0)
        MPI_Abort(MPI_COMM_WORLD, EXIT__CANNOT_RUN);
}

/* Chooses the kind of memory for all ranks: MEMORY__HOST, or MEMORY__GPU with a GPU selected. Each
 * rank takes one of its node's GPUs; ranks share them if there are fewer. Collective.
 *   program  (IN)  prefix of printed messages
 *   wanted   (IN)  a MEMORY__ value
 * Returns MEMORY__ANY, after printing the reason, if that kind is not available. */
static inline int memory_choose(const char *program, int wanted, MPI_Comm comm)
{
    int rank;

    if (wanted == MEMORY__HOST)
        return MEMORY__HOST;
    MPI_Comm_rank(comm, &rank);
#ifdef WITH_GPU
    const char *why;
    int on_node, count, fewest;
    MPI_Comm node;

    count = gpu_count(&why);
#ifdef MPIX_GPU_SUPPORT_CUDA
    int is_supported = 0;

    MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &is_supported);
    if (count > 0 && !is_supported) {
        count = 0;
        why = "MPI takes no GPU memory";
    }
#endif
    MPI_Allreduce(&count, &fewest, 1, MPI_INT, MPI_MIN, comm);
    if (fewest > 0) {
        MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
        MPI_Comm_rank(node, &on_node);
        MPI_Comm_free(&node);
        must(gpu_use(on_node % count));
        return MEMORY__GPU;
    }
    if (wanted == MEMORY__GPU && count == 0)
        fprintf(stderr, "%s: --memory gpu: rank %d has no GPU: %s\n", program, rank, why);
#else
    if (wanted == MEMORY__GPU && rank == 0)
        fprintf(stderr, "%s: --memory gpu: this program was built without %s_gpu.cu\n", program,
                program);
#endif
    return wanted == MEMORY__GPU ? MEMORY__ANY : MEMORY__HOST;
}

/* The group of the ranks among n neighbours, each once; MPI_PROC_NULL is left out. The caller frees
 * it. */
static inline MPI_Group neighbours_group(MPI_Comm comm, const int neighbour[], int n)
{
    int rank, n_ranks, n_distinct = 0, i, *distinct = malloc((size_t) n * sizeof(int));
    MPI_Group all, group;

    must(distinct ? 0 : -1);
    MPI_Comm_size(comm, &n_ranks);
    for (rank = 0; rank < n_ranks; rank++) {
        for (i = 0; i < n && neighbour[i] != rank; i++);
        if (i < n)
            distinct[n_distinct++] = rank;
    }
    MPI_Comm_group(comm, &all);
    MPI_Group_incl(all, n_distinct, distinct, &group);
    MPI_Group_free(&all);
    free(distinct);
    return group;
}

/* The operations of a program on arrays in one kind of memory. */
extern const struct memory host_memory;
#ifdef WITH_GPU
extern const struct memory gpu_memory;
#endif

/* The operations for the memory that memory_choose returns; NULL if it is not available.
 * Collective. */
static inline const struct memory *memory_take(const char *program, int wanted, MPI_Comm comm)
{
    switch (memory_choose(program, wanted, comm)) {
        case MEMORY__HOST:
            return &host_memory;
#ifdef WITH_GPU
        case MEMORY__GPU:
            return &gpu_memory;
#endif
        default:
            return NULL;
    }
}

#endif /* EXAMPLE_MPI_H_INCLUDED */
