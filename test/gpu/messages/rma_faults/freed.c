/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The memory of a window has been freed. */

#include "scene.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

/* Freed memory is an error at the target, whose window it is, or at the call if that is the same
 * process. */
static void freed_of(enum mem_kind kind, int is_dynamic)
{
    struct mem mem;
    MPI_Aint base;
    MPI_Win win;
    char *host;
    const MPI_Aint sz = 1 << 20;
    int err;

    mem_alloc(&mem, kind, sz);
    host = calloc(1, sz);
    if (is_dynamic) {
        CHECK_MPI(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        CHECK_MPI(MPI_Win_attach(win, mem.addr, sz));
        MPI_Get_address(mem.addr, &base);
    } else {
        CHECK_MPI(MPI_Win_create(mem.addr, sz, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        base = 0;
    }
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    if (rank == 1)
        mem_free(&mem);
    MPI_Bcast(&base, 1, MPI_AINT, 1, MPI_COMM_WORLD);
    for (int n = 64; n <= sz; n *= 128) {
        for (int call = 0; call < 5; call++) {
            CHECK_MPI(MPI_Win_fence(0, win));
            err = MPI_SUCCESS;
            for (int origin = 0; origin < 2 && err == MPI_SUCCESS; origin++) {
                if (rank != origin)
                    continue;
                if (call == 0)
                    err = MPI_Put(host, n, MPI_BYTE, 1, base, n, MPI_BYTE, win);
                else if (call == 1)
                    err = MPI_Get(host, n, MPI_BYTE, 1, base, n, MPI_BYTE, win);
                else if (call == 2)
                    err = MPI_Accumulate(host, n / 4, MPI_INT, 1, base, n / 4, MPI_INT, MPI_SUM,
                                         win);
                else if (call == 3)
                    err = MPI_Get_accumulate(host, n / 4, MPI_INT, host + sz / 2, n / 8, MPI_INT, 1,
                                             base, n / 8, MPI_INT, MPI_NO_OP, win);
                else
                    err = MPI_Compare_and_swap(host, host + 64, host + 128, MPI_INT, 1, base, win);
                /* the target's own operation fails in the call */
                if (origin == 0)
                    CHECK(err == MPI_SUCCESS);
                else if (err == MPI_SUCCESS)
                    report_fail("call %d, %d bytes of freed %s memory: no error", call, n,
                                mem_name(kind));
            }
            err = MPI_Win_fence(0, win);
            /* the origin of a get that is a message learns that none comes */
            if (rank == 0 && (call == 1 || call == 3) && err != MPI_SUCCESS &&
                strstr(report_mpi_text(err), "other process of a message"))
                err = MPI_SUCCESS;
            if ((err != MPI_SUCCESS) != (rank == 1))
                report_fail("call %d, %d bytes of freed %s memory, rank %d: the end of the epoch returns %d",
                            call, n, mem_name(kind), rank, err);
        }
    }
    CHECK_MPI(MPI_Win_free(&win));
    if (rank == 0)
        mem_free(&mem);
    free(host);
}

void freed(void)
{
    freed_of(MEM__DEVICE, 0);
    freed_of(MEM__DEVICE, 1);
    freed_of(MEM__MANAGED, 0);
    freed_of(MEM__MAPPED, 0);
}
