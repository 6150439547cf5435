/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests messages with GPU buffers between processes that were not started together. One process,
 * which spawns another one. */

#include "report.h"
#include "side.h"

#include <stdio.h>

static void exchange(MPI_Comm inter, int is_parent, int n)
{
    struct side out, in;
    unsigned mine = is_parent ? 1 : 2, theirs = is_parent ? 2 : 1;

    side_make(&out, MEM__DEVICE, MPI_INT, n, 0);
    side_make(&in, MEM__DEVICE, MPI_INT, n, 0);
    side_fill(&out, mine);
    side_clear(&in, theirs);
    CHECK_MPI(MPI_Sendrecv(out.buf, n, MPI_INT, 0, 1, in.buf, n, MPI_INT, 0, 1, inter,
                           MPI_STATUS_IGNORE));
    side_check(&in, "what came from the other group", theirs, in.size);
    side_free(&out);
    side_free(&in);
}

int main(int argc, char **argv)
{
    MPI_Comm inter;
    int is_parent, failures = 0;

    report_time_limit(100);
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&inter);
    is_parent = inter == MPI_COMM_NULL;
    if (is_parent)
        CHECK_MPI(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter,
                                 MPI_ERRCODES_IGNORE));
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    for (int n = 1; n < 1000000; n *= 30)
        exchange(inter, is_parent, n);
    if (is_parent) {
        CHECK_MPI(MPI_Recv(&failures, 1, MPI_INT, 0, 2, inter, MPI_STATUS_IGNORE));
        CHECK(failures == 0);
    } else {
        CHECK_MPI(MPI_Send(&report_failures, 1, MPI_INT, 0, 2, inter));
    }
    MPI_Comm_disconnect(&inter);
    MPI_Finalize();
    return is_parent ? report_done() : 0;
}
