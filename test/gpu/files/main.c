/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* MPI-IO from and to any kind of memory: random datatypes, views and representations with every
 * form of the calls. What a call writes is compared with the file as the operating system shows it,
 * and what it reads with bytes that were written to the file without MPI. Any number of processes.
 *
 *     files [SEED [CASES [FIRST]]]   a case does not depend on those before it
 *     files errors                   calls that must fail, or do nothing
 *     files faults                   each driver call fails once; emulated driver only
 *     files bounded                  collective operations take little memory
 *     files pending [SEED]           nonblocking collective operations, several at a time
 *     files beside                   other calls while these are pending
 *     files atomic                   overlapping writes and reads in atomic mode
 *     files full                     writes beyond the limit of a file's size
 *     files broken                   reads and ROMIO's own messages that fail
 *     files pointer                  a shared file pointer that fails
 *     files requests                 requests of operations that the system does beside the program
 *     files rules                    views, datatypes, counts and calls that are not common
 *     files storage|half-storage|no-storage    GPUDirect Storage that moves all, half, or nothing; with a
 *                                    minimum of 8192 bytes
 *
 * The file is in a new folder in TMPDIR. */

#include "files.h"

#include <stdlib.h>
#include <string.h>

int rank, nranks;
MPI_File file;

int main(int argc, char **argv)
{
    const bool is_random = argc < 2 || strspn(argv[1], "0123456789") == strlen(argv[1]);
    int provided;
    const uint64_t seed = argc > 1 && is_random ? strtoull(argv[1], NULL, 10) : 1;

    report_time_limit(600);
    if (argc > 1 && strcmp(argv[1], "beside") == 0)
        MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    else
        MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    folder_make();
    if (is_random)
        random_cases(seed, argc > 2 ? atol(argv[2]) : 100, argc > 3 ? atol(argv[3]) : 0);
    else if (strcmp(argv[1], "errors") == 0)
        errors();
    else if (strcmp(argv[1], "faults") == 0)
        faults();
    else if (strcmp(argv[1], "bounded") == 0)
        bounded();
    else if (strcmp(argv[1], "pending") == 0)
        pending(argc > 2 ? strtoull(argv[2], NULL, 10) : 1);
    else if (strcmp(argv[1], "beside") == 0)
        beside();
    else if (strcmp(argv[1], "atomic") == 0)
        atomic_mode();
    else if (strcmp(argv[1], "full") == 0)
        full();
    else if (strcmp(argv[1], "broken") == 0)
        broken();
    else if (strcmp(argv[1], "pointer") == 0)
        pointer();
    else if (strcmp(argv[1], "requests") == 0)
        requests_of_system();
    else if (strcmp(argv[1], "rules") == 0)
        rules();
    else if (strstr(argv[1], "storage"))
        storage(argv[1]);
    else
        report_fail("no test '%s'", argv[1]);
    folder_remove();
    MPI_Finalize();
    return report_done();
}
