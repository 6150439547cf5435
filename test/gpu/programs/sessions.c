/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests sessions that begin and end while another one, or MPI_Init, keeps MPI initialised: GPU
 * buffers and files work in all of them, and no resources are left after the last. (ch3 cannot be initialised
 * again.) */

#include "gpu.h"
#include "report.h"
#include "strided.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void transfers_run(MPI_Comm comm)
{
    static const enum mem_kind others[] = { MEM__DEVICE, MEM__PINNED, MEM__PAGEABLE };

    for (int i = 0; i < 3; i++) {
        struct strided s;

        strided_make(&s, MEM__DEVICE, others[i], 100, i != 1);
        s.comm = comm;
        strided_both_ways(&s);
        strided_free(&s);
    }
}

/* MPI-IO, also before MPI_Init. */
static void file_write(MPI_Comm comm)
{
    const char *tmp = getenv("TMPDIR");
    char name[300];
    MPI_File file;

    snprintf(name, sizeof(name), "%s/gpudt-sessions-%d", tmp ? tmp : "/tmp", (int) getpid());
    CHECK_MPI(MPI_File_open(comm, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
                            MPI_INFO_NULL, &file));
    CHECK_MPI(MPI_File_write_at(file, 0, name, 10, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_File_close(&file));
}

static void nothing_is_left(void)
{
    if (gpu.emu_live)
        CHECK(gpu.emu_live(NULL) == 0);
}

int main(void)
{
    MPI_Session outer;

    report_time_limit(120);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);

    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &outer);
    for (int i = 0; i < 3; i++) {
        MPI_Session session;
        MPI_Group group;
        MPI_Comm comm;

        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
        CHECK_MPI(MPI_Group_from_session_pset(session, "mpi://SELF", &group));
        CHECK_MPI(MPI_Comm_create_from_group(group, "sessions", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                             &comm));
        transfers_run(comm);
        file_write(comm);
        MPI_Group_free(&group);
        MPI_Comm_free(&comm);
        CHECK_MPI(MPI_Session_finalize(&session));
    }

    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    transfers_run(MPI_COMM_SELF);
    CHECK_MPI(MPI_Session_finalize(&outer));
    transfers_run(MPI_COMM_SELF);
    MPI_Finalize();
    nothing_is_left();
    return report_done();
}
