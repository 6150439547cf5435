/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Files: each is created, written from memory of any kind, read to other memory, and removed when it
 * is closed. */

#include "soak.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BLOCK 1000              /* bytes of a block in a strided view */
#define MAX_BYTES (1 << 20)     /* of a process's data, approximately */
#define PART (4 * MAX_BYTES)    /* bytes of the file for a process */

enum way { INDEPENDENT, COLLECTIVE, NONBLOCKING, NONBLOCKING_COLLECTIVE, NWAYS };

static char folder[256];

void folder_make(void)
{
    const char *tmp = getenv("TMPDIR");

    if (rank == 0) {
        snprintf(folder, sizeof(folder), "%s/gpudt-soak-XXXXXX", tmp ? tmp : "/tmp");
        if (mkdtemp(folder) == NULL)
            perror(folder), exit(1);
    }
    MPI_Bcast(folder, sizeof(folder), MPI_CHAR, 0, MPI_COMM_WORLD);
}

void folder_remove(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0 && rmdir(folder))
        perror(folder), report_failures++;
}

/* Blocks of all processes in turn, or a part of the file for each. */
static void view_set(MPI_File f, int is_strided)
{
    MPI_Datatype block, filetype = MPI_BYTE;
    MPI_Offset disp = (MPI_Offset) rank * (is_strided ? BLOCK : PART);

    if (is_strided) {
        MPI_Type_contiguous(BLOCK, MPI_BYTE, &block);
        MPI_Type_create_resized(block, 0, (MPI_Aint) nprocs * BLOCK, &filetype);
        MPI_Type_commit(&filetype);
        MPI_Type_free(&block);
    }
    CHECK_MPI(MPI_File_set_view(f, disp, MPI_BYTE, filetype, "native", MPI_INFO_NULL));
    if (is_strided)
        MPI_Type_free(&filetype);
}

static void transfer(MPI_File f, enum way way, int is_read, struct side *s)
{
    const int n = (int) s->count;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    MPI_Count got;

    switch (way) {
        case INDEPENDENT:
            CHECK_MPI(is_read ? MPI_File_read_at(f, 0, s->buf, n, s->type, &status) :
                      MPI_File_write_at(f, 0, s->buf, n, s->type, &status));
            break;
        case COLLECTIVE:
            CHECK_MPI(is_read ? MPI_File_read_at_all(f, 0, s->buf, n, s->type, &status) :
                      MPI_File_write_at_all(f, 0, s->buf, n, s->type, &status));
            break;
        case NONBLOCKING:
            CHECK_MPI(is_read ? MPI_File_iread_at(f, 0, s->buf, n, s->type, &request) :
                      MPI_File_iwrite_at(f, 0, s->buf, n, s->type, &request));
            break;
        default:
            CHECK_MPI(is_read ? MPI_File_iread_at_all(f, 0, s->buf, n, s->type, &request) :
                      MPI_File_iwrite_at_all(f, 0, s->buf, n, s->type, &request));
            break;
    }
    if (way == NONBLOCKING || way == NONBLOCKING_COLLECTIVE)
        CHECK_MPI(MPI_Wait(&request, &status));
    MPI_Get_elements_x(&status, MPI_BYTE, &got);
    CHECK(got == s->size);
}

void file(struct rng *rng, struct rng *own, unsigned seed, MPI_Comm comm)
{
    const enum way write = (enum way) rng_range(rng, 0, NWAYS - 1);
    const enum way read = (enum way) rng_range(rng, 0, NWAYS - 1);
    const MPI_Aint bytes = (MPI_Aint) rng_range(rng, 8, rng_chance(rng, 20) ? MAX_BYTES : 20000);
    const int is_strided = rng_chance(rng, 50);
    struct side out, in;
    MPI_Datatype type;
    MPI_Aint count;
    MPI_File f;
    char name[300];

    type = type_draw(rng, bytes, &count);
    side_make(&out, kind_draw(own), type, count, 0);
    side_make(&in, kind_draw(own), type, count, 0);
    side_fill(&out, seed + rank);
    side_clear(&in, seed + rank);
    snprintf(name, sizeof(name), "%s/%u", folder, seed);
    CHECK_MPI(MPI_File_open(comm, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
                            MPI_INFO_NULL, &f));
    view_set(f, is_strided);
    transfer(f, write, 0, &out);
    /* in the same process, so that no MPI_File_sync is needed; others may write in between */
    CHECK_MPI(MPI_Barrier(comm));
    transfer(f, read, 1, &in);
    CHECK_MPI(MPI_File_close(&f));
    side_check(&out, "a buffer that was written from", seed + rank, out.size);
    side_check(&in, "a buffer that was read to", seed + rank, in.size);
    side_free(&out);
    side_free(&in);
    type_end(&type);
}
