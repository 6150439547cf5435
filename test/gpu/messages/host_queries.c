/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that a message between host buffers costs at most one pointer query at either end, even if
 * the process uses a GPU, and that the result for its buffer is not used for a pack that follows.
 * Two processes, on the emulated driver, which counts calls. */

#include "report.h"
#include "side.h"

#include <limits.h>
#include <stdlib.h>

#define MESSAGES 50

static int rank;

/* Messages from 0 to 1, expected or unexpected. */
static void exchange(struct side *s, int is_expected)
{
    MPI_Request request;

    for (int i = 0; i < MESSAGES; i++) {
        if (rank == 1 && is_expected)
            CHECK_MPI(MPI_Irecv(s->buf, (int) s->count, s->type, 0, 1, MPI_COMM_WORLD, &request));
        CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
        if (rank == 0) {
            CHECK_MPI(MPI_Isend(s->buf, (int) s->count, s->type, 1, 1, MPI_COMM_WORLD, &request));
            CHECK_MPI(MPI_Send(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD));
        } else {
            CHECK_MPI(MPI_Recv(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            if (!is_expected)
                CHECK_MPI(MPI_Irecv(s->buf, (int) s->count, s->type, 0, 1, MPI_COMM_WORLD,
                                    &request));
        }
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
}

static void one_case(const char *what, MPI_Datatype type, MPI_Aint count)
{
    struct side s;
    long before, queries;

    side_make(&s, MEM__PAGEABLE, type, count, 0);
    for (int is_expected = 0; is_expected < 2; is_expected++) {
        if (rank == 0)
            side_fill(&s, 7);
        else
            side_clear(&s, 7);
        before = gpu.emu_call_count();
        exchange(&s, is_expected);
        queries = gpu.emu_call_count() - before;
        if (queries > MESSAGES)
            report_fail("%s of %ld bytes, %s: %ld queries for %d messages", what, (long) s.size,
                        is_expected ? "expected" : "unexpected", queries, MESSAGES);
        if (rank == 1)
            side_check(&s, what, 7, s.size);
    }
    side_free(&s);
}

/* A message of a GPU buffer is counted. */
static void counted(void)
{
    struct side s;
    long before;

    side_make(&s, MEM__DEVICE, MPI_INT, 100, 0);
    if (rank == 0)
        side_fill(&s, 9);
    else
        side_clear(&s, 9);
    before = gpu.emu_call_count();
    exchange(&s, 1);
    CHECK(gpu.emu_call_count() > before);
    if (rank == 1)
        side_check(&s, "a GPU buffer", 9, s.size);
    side_free(&s);
}

/* From the host buffer of a message in flight to GPU memory. */
static void pack_after_send(MPI_Datatype type)
{
    struct side s;
    struct mem packed;
    unsigned char *seen, *expected;
    MPI_Request request;
    int position = 0;

    side_make(&s, MEM__PAGEABLE, type, 3000, 0);
    if (rank == 0) {
        mem_alloc(&packed, MEM__DEVICE, s.size);
        side_fill(&s, 8);
        CHECK_MPI(MPI_Isend(s.buf, 3000, type, 1, 3, MPI_COMM_WORLD, &request));
        CHECK_MPI(MPI_Pack(s.buf, 3000, type, packed.addr, (int) s.size, &position,
                           MPI_COMM_WORLD));
        CHECK(position == s.size);
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        seen = malloc(s.size);
        expected = malloc(s.size);
        for (MPI_Aint i = 0; i < s.size; i++)
            expected[i] = side_byte(8, i);
        mem_read(&packed, 0, seen, s.size);
        report_compare("what was packed", seen, expected, s.size);
        free(seen);
        free(expected);
        mem_free(&packed);
    } else {
        side_clear(&s, 8);
        CHECK_MPI(MPI_Recv(s.buf, 3000, type, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        side_check(&s, "sent and packed", 8, s.size);
    }
    side_free(&s);
}

int main(void)
{
    MPI_Datatype vector;

    report_time_limit(60);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (gpu_open() == 0 || !gpu.is_emulated)
        return 1;
    gpu_set_current(0);
    gpu.emu_fail_set("cuPointerGetAttributes", LONG_MAX / 2, 1, 1);
    MPI_Type_vector(10, 1, 3, MPI_INT, &vector);
    MPI_Type_commit(&vector);

    for (MPI_Aint count = 1; count <= 10000; count *= 100) {
        one_case("contiguous", MPI_INT, count);
        one_case("vector", vector, count);
    }
    pack_after_send(vector);
    counted();

    MPI_Type_free(&vector);
    MPI_Finalize();
    return report_done();
}
