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

struct ADIOI_Gpudt_iexchange {
    ADIO_Offset *asks;          /* the operation's number of rounds; may be NULL */
    int nprocs;
    ADIO_Offset mine[NWORDS];
    ADIO_Offset all[];
};

/* Distribute what was gathered. Returns the number of rounds. */
static ADIO_Offset distribute(const ADIO_Offset * all, int nprocs, ADIO_Offset * starts,
                              ADIO_Offset * ends)
{
    ADIO_Offset rounds = 0;

    for (int i = 0; i < nprocs; i++) {
        starts[i] = all[i * NWORDS + START];
        ends[i] = all[i * NWORDS + END];
        rounds = MPL_MAX(rounds, all[i * NWORDS + ROUNDS]);
    }
    return rounds;
}

int ADIOI_Gpudt_exchange(ADIO_File fd, ADIO_Offset start, ADIO_Offset end, ADIO_Offset * starts,
                         ADIO_Offset * ends)
{
    const ADIO_Offset mine[NWORDS] = { start, end, fd->gpudt_rounds };
    ADIO_Offset *all;
    int error_code, nprocs;

    MPI_Comm_size(fd->comm, &nprocs);
    all = ADIOI_Malloc((MPI_Aint) nprocs * sizeof(mine));
    error_code = MPI_Allgather(mine, NWORDS, ADIO_OFFSET, all, NWORDS, ADIO_OFFSET, fd->comm);
    if (error_code == MPI_SUCCESS)
        fd->gpudt_rounds = distribute(all, nprocs, starts, ends);
    ADIOI_Free(all);
    return error_code;
}

int ADIOI_Gpudt_iexchange(ADIO_File fd, ADIO_Offset start, ADIO_Offset end,
                          struct ADIOI_Gpudt_iexchange **exchange, MPI_Request * requests)
{
    struct ADIOI_Gpudt_iexchange *x;
    int error_code, nprocs;

    MPI_Comm_size(fd->comm, &nprocs);
    x = ADIOI_Malloc(sizeof(*x) + (MPI_Aint) nprocs * sizeof(x->mine));
    x->asks = fd->gpudt_asks;
    x->nprocs = nprocs;
    x->mine[START] = start;
    x->mine[END] = end;
    x->mine[ROUNDS] = x->asks ? *x->asks : 0;
    requests[1] = MPI_REQUEST_NULL;
    error_code = MPI_Iallgather(x->mine, NWORDS, ADIO_OFFSET, x->all, NWORDS, ADIO_OFFSET,
                                fd->comm, &requests[0]);
    if (error_code != MPI_SUCCESS) {
        ADIOI_Free(x);
        x = NULL;
    }
    *exchange = x;
    return error_code;
}

void ADIOI_Gpudt_iexchange_end(struct ADIOI_Gpudt_iexchange *exchange, ADIO_Offset * starts,
                               ADIO_Offset * ends)
{
    ADIO_Offset rounds;

    if (starts) {
        rounds = distribute(exchange->all, exchange->nprocs, starts, ends);
        if (exchange->asks)
            *exchange->asks = rounds;
    }
    ADIOI_Free(exchange);
}
