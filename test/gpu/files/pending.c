/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Nonblocking collective operations of which several are in flight. All processes start the same
 * ones, on buffers of different length in any kind of memory, but test and wait for them in
 * different orders. Datatypes are freed while operations are pending. */

#include "files.h"
#include "randtype.h"

#include <stdio.h>
#include <string.h>

#define TURNS 24
#define MAX_OPS 5               /* in flight */
#define BLOCK 96                /* ints of a block of the view */

struct op {
    struct side side;
    MPI_Datatype type;          /* NULL when it has been freed */
    MPI_Offset off;             /* in etypes */
    MPI_Request request;
    MPI_Status status;
};

static void ops_make(struct rng *own, struct op *ops, int n)
{
    MPI_Offset off = 0;

    for (int i = 0; i < n; i++) {
        enum mem_kind kind = (enum mem_kind) rng_range(own, 0, MEM__NKINDS - 1);

        MPI_Type_vector((int) rng_range(own, 1, 400), 2, 3, MPI_INT, &ops[i].type);
        MPI_Type_commit(&ops[i].type);
        side_make(&ops[i].side, mem_exists(kind) ? kind : MEM__DEVICE, ops[i].type,
                  rng_range(own, 1, 5), 0);
        ops[i].off = off;
        off += ops[i].side.size / 4;
    }
}

static void op_start(struct op *op, bool is_read, bool is_explicit)
{
    const int n = (int) op->side.count;
    void *buf = op->side.buf;

    if (is_read && is_explicit)
        CHECK_MPI(MPI_File_iread_at_all(file, op->off, buf, n, op->type, &op->request));
    else if (is_read)
        CHECK_MPI(MPI_File_iread_all(file, buf, n, op->type, &op->request));
    else if (is_explicit)
        CHECK_MPI(MPI_File_iwrite_at_all(file, op->off, buf, n, op->type, &op->request));
    else
        CHECK_MPI(MPI_File_iwrite_all(file, buf, n, op->type, &op->request));
}

static void op_wait(struct op *op)
{
    MPI_Count got;

    CHECK_MPI(MPI_Wait(&op->request, &op->status));
    MPI_Get_elements_x(&op->status, MPI_BYTE, &got);
    if (got != op->side.size)
        report_fail("an operation on %ld bytes, the status has %ld", (long) op->side.size,
                    (long) got);
}

static void ops_wait(struct rng *own, struct op *ops, int n)
{
    MPI_Request requests[MAX_OPS];
    const int how = (int) rng_range(own, 0, 2);

    for (int i = 0; i < n; i++)
        requests[i] = ops[i].request;
    if (how == 0) {
        CHECK_MPI(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
        return;
    }
    for (int i = 0; i < n; i++)
        op_wait(&ops[how == 1 ? i : n - 1 - i]);
}

/* The file pointer is moved by calls, not by their completion. */
static void position_check(MPI_Offset end)
{
    MPI_Offset at;

    CHECK_MPI(MPI_File_get_position(file, &at));
    CHECK(at == end);
}

static void ops_run(struct rng *own, struct op *ops, int n, bool is_read, bool is_explicit)
{
    int flag;

    CHECK_MPI(MPI_File_seek(file, 0, MPI_SEEK_SET));
    for (int i = 0; i < n; i++) {
        op_start(&ops[i], is_read, is_explicit);
        if (!is_explicit)
            position_check(ops[i].off + ops[i].side.size / 4);
        if (is_read)
            MPI_Type_free(&ops[i].type);
        for (int j = (int) rng_range(own, 0, 6); j > 0; j--)
            CHECK_MPI(MPI_Request_get_status(ops[rng_range(own, 0, i)].request, &flag,
                                             MPI_STATUS_IGNORE));
    }
    ops_wait(own, ops, n);
}

static void turn(struct rng *rng, struct rng *own, const struct view *v, unsigned mark)
{
    const int n = (int) rng_range(rng, 2, MAX_OPS);
    const bool is_explicit = rng_chance(rng, 50);
    struct op ops[MAX_OPS];

    ops_make(own, ops, n);
    for (int i = 0; i < n; i++)
        side_fill(&ops[i].side, mark + i);
    ops_run(own, ops, n, false, is_explicit);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) {
        file_check(v, ops[i].off * 4, mark + i, ops[i].side.size, "a pending write");
        side_clear(&ops[i].side, mark + i);
    }
    ops_run(own, ops, n, true, is_explicit);
    for (int i = 0; i < n; i++) {
        side_check(&ops[i].side, "a pending read", mark + i, ops[i].side.size);
        side_free(&ops[i].side);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

void pending(uint64_t seed)
{
    static const char *const ways[] = { "automatic", "enable", "disable" };
    struct view v = {.etype = MPI_INT,.disp = (MPI_Offset) rank * BLOCK * 4,.esize = 4,
        .block = BLOCK,.stride = (MPI_Aint) nranks * BLOCK
    };
    struct rng rng, own;
    MPI_Datatype block;
    MPI_Info info;

    rng_init(&rng, seed * 1000003);
    rng_init(&own, seed * 1000003 + rank + 1);
    MPI_Type_contiguous(BLOCK, MPI_INT, &block);
    MPI_Type_create_resized(block, 0, v.stride * v.esize, &v.filetype);
    MPI_Type_commit(&v.filetype);
    MPI_Type_free(&block);
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "4096");
    for (int i = 0; i < TURNS && report_failures == 0; i++) {
        MPI_Info_set(info, "romio_cb_read", ways[i % 3]);
        MPI_Info_set(info, "romio_cb_write", ways[i % 3]);
        file_open(MPI_MODE_RDWR, info);
        CHECK_MPI(MPI_File_set_view(file, v.disp, v.etype, v.filetype, "native", MPI_INFO_NULL));
        CHECK_MPI(MPI_File_set_atomicity(file, rng_chance(&rng, 20)));
        turn(&rng, &own, &v, (unsigned) i * 640 + (unsigned) rank * MAX_OPS);
        CHECK_MPI(MPI_File_close(&file));
    }
    MPI_Info_free(&info);
    MPI_Type_free(&v.filetype);
}
