/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* What the processes of a collective operation tell each other first, see gpudt_rounds.h. Must not
 * know GPU memory. */

#include "gpudt_io_impl.h"

#ifdef HAVE_WEAK_SYMBOLS
/* Include mapping from MPI->PMPI */
#define MPIO_BUILD_PROFILING
#include "mpioprof.h"
#endif

enum { START, END, ROUNDS, NWORDS };

int ADIOI_Gpudt_exchange(ADIO_File fd, ADIO_Offset start, ADIO_Offset end, ADIO_Offset * starts,
                         ADIO_Offset * ends)
{
    const ADIO_Offset mine[NWORDS] = { start, end, fd->gpudt_rounds };
    ADIO_Offset *all;
    int error_code, nprocs;

    fd->gpudt_rounds = 0;
    MPI_Comm_size(fd->comm, &nprocs);
    all = ADIOI_Malloc((MPI_Aint) nprocs * sizeof(mine));
    error_code = MPI_Allgather(mine, NWORDS, ADIO_OFFSET, all, NWORDS, ADIO_OFFSET, fd->comm);
    for (int i = 0; error_code == MPI_SUCCESS && i < nprocs; i++) {
        starts[i] = all[i * NWORDS + START];
        ends[i] = all[i * NWORDS + END];
        fd->gpudt_rounds = MPL_MAX(fd->gpudt_rounds, all[i * NWORDS + ROUNDS]);
    }
    ADIOI_Free(all);
    return error_code;
}
