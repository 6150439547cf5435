/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Rounds of collective operations. A process with a GPU buffer stages it part by part, and calls
 * the driver's operation, which is collective, once for each part. Other processes have to take
 * part in as many. They learn the number from what the generic driver lets all of them exchange
 * anyway, so that programs without GPU buffers have no messages for this: see gpudt_collective.c. */

#ifndef GPUDT_ROUNDS_H_INCLUDED
#define GPUDT_ROUNDS_H_INCLUDED

/* Of a nonblocking operation, while it is under way. */
struct ADIOI_Gpudt_iexchange;

/* Gather from all processes the first and last byte that they access in the file, and learn the
 * number of rounds.
 *   start, end    (IN)      of this process
 *   starts, ends  (OUT)     of each process
 *   fd            (IN/OUT)  gpudt_rounds: the rounds that this process asks for, where 0 is as good as
 *                           1, are replaced by the most that any does. On failure they stay: others
 *                           go at least as many
 * Returns an MPI error code. */
int ADIOI_Gpudt_exchange(ADIO_File fd, ADIO_Offset start, ADIO_Offset end, ADIO_Offset * starts,
                         ADIO_Offset * ends);

/* The same without waiting, for a nonblocking operation that is being started; for others and its
 * later rounds fd->gpudt_asks is NULL.
 *   fd        (IN)   *gpudt_asks: the rounds that this process asks for, which are replaced at the end
 *   exchange  (OUT)  to be given to ADIOI_Gpudt_iexchange_end when the requests are complete
 *   requests  (OUT)  two of them
 * Returns an MPI error code; then there is nothing to end. */
int ADIOI_Gpudt_iexchange(ADIO_File fd, ADIO_Offset start, ADIO_Offset end,
                          struct ADIOI_Gpudt_iexchange **exchange, MPI_Request * requests);

/* The end of that.
 *   starts, ends  (OUT)  as above; NULL if a request has failed */
void ADIOI_Gpudt_iexchange_end(struct ADIOI_Gpudt_iexchange *exchange, ADIO_Offset * starts,
                               ADIO_Offset * ends);

#endif /* GPUDT_ROUNDS_H_INCLUDED */
