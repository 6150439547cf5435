/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Windows, buffers and operations of the tests; see scene.h. */

#include "scene.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

int rank, nranks;
enum mem_kind kind = MEM__DEVICE;
bool are_all_direct;

unsigned long long njoined(void)
{
    return report_variable("gpudt_window_joined");
}

int unit_of(int target)
{
    return 4 << target % 3;
}

void buffer_make(struct buffer *b, enum mem_kind of, size_t sz)
{
    static unsigned seed = 1;

    mem_alloc(&b->mem, of, sz);
    b->copy = malloc(sz);
    seed++;
    for (size_t i = 0; i < sz; i++)
        b->copy[i] = (char) (i * 7 + i / 251 + seed * 31);
    mem_write(&b->mem, 0, b->copy, sz);
}

void buffer_free(struct buffer *b)
{
    mem_free(&b->mem);
    free(b->copy);
}

void scene_make(struct scene *s, size_t sz)
{
    char *zeros = calloc(1, WINDOW);

    memset(s, 0, sizeof(*s));
    mem_alloc(&s->window, kind, WINDOW);
    mem_write(&s->window, 0, zeros, WINDOW);
    CHECK_MPI(MPI_Win_create(s->window.addr, (MPI_Aint) sz, unit_of(rank), MPI_INFO_NULL,
                             MPI_COMM_WORLD, &s->win));
    MPI_Win_set_errhandler(s->win, MPI_ERRORS_RETURN);
    for (int i = 0; rank == 0 && i < nranks; i++)
        s->expected[i] = calloc(1, WINDOW);
    buffer_make(&s->buf, MEM__DEVICE, WINDOW);
    free(zeros);
}

void scene_free(struct scene *s)
{
    CHECK_MPI(MPI_Win_free(&s->win));
    mem_free(&s->window);
    buffer_free(&s->buf);
    for (int i = 0; i < nranks; i++)
        free(s->expected[i]);
}

void scene_check(struct scene *s, const char *what)
{
    char *seen = malloc(WINDOW), *expected = malloc(WINDOW);

    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        for (int i = 1; i < nranks; i++)
            MPI_Send(s->expected[i], WINDOW, MPI_BYTE, i, 0, MPI_COMM_WORLD);
        mem_read(&s->buf.mem, 0, seen, WINDOW);
        report_compare(what, seen, s->buf.copy, WINDOW);
    } else {
        MPI_Recv(expected, WINDOW, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        mem_read(&s->window, 0, seen, WINDOW);
        report_compare(what, seen, expected, WINDOW);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    free(seen);
    free(expected);
}

void locks_get(struct scene *s)
{
    CHECK_MPI(MPI_Win_lock_all(0, s->win));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Move data from one host buffer to another, as an operation of `count` elements does. */
static void model(const char *from, MPI_Datatype from_type, char *to, MPI_Datatype to_type,
                  int count)
{
    static __thread char packed[1 << 16];
    int n = 0, at = 0;

    MPI_Pack(from, count, from_type, packed, sizeof(packed), &n, MPI_COMM_SELF);
    MPI_Unpack(packed, n, &at, to, count, to_type, MPI_COMM_SELF);
}

int move_some(struct scene *s, struct buffer *b, size_t off, MPI_Datatype type, int target,
              size_t at, MPI_Datatype there, bool is_get, int count)
{
    const MPI_Aint disp = (MPI_Aint) at / unit_of(target);
    char *window = s->expected[target] + at, *own = b->copy + off;

    if (is_get) {
        model(window, there, own, type, count);
        return MPI_Get(b->mem.addr + off, count, type, target, disp, count, there, s->win);
    }
    model(own, type, window, there, count);
    return MPI_Put(b->mem.addr + off, count, type, target, disp, count, there, s->win);
}

int move(struct scene *s, struct buffer *b, size_t off, MPI_Datatype type, int target, size_t at,
         MPI_Datatype there, bool is_get)
{
    return move_some(s, b, off, type, target, at, there, is_get, 1);
}

void opener(struct scene *s, int target, bool is_get)
{
    const size_t at = is_get ? OPENER / 2 : 0;

    CHECK_MPI(move_some(s, &s->buf, at, MPI_BYTE, target, at, MPI_BYTE, is_get, OPENER / 2));
}

void types_make(MPI_Datatype * types)
{
    int displs[N / 4];

    for (int i = 0; i < N / 4; i++)
        displs[i] = 5 * i + i % 2;
    MPI_Type_contiguous(N, MPI_INT, &types[0]);
    MPI_Type_vector(N / 4, 4, 8, MPI_INT, &types[1]);
    MPI_Type_vector(N, 1, 2, MPI_INT, &types[2]);
    MPI_Type_create_indexed_block(N / 4, 4, displs, MPI_INT, &types[3]);
    MPI_Type_create_hvector(N / 2, 2, 12, MPI_INT, &types[4]);
    MPI_Type_contiguous(N / 4, MPI_INT, &types[5]);
    for (int i = 0; i < NTYPES; i++)
        MPI_Type_commit(&types[i]);
}

void run(struct scene *s, MPI_Datatype type, MPI_Datatype there, bool is_get, int n, int skew)
{
    for (int i = 0; i < n; i++) {
        const size_t at = OPENER + 512 * (size_t) i;
        CHECK_MPI(move(s, &s->buf, at + (size_t) (4 * (i % skew)), type, 1, at, there, is_get));
        CHECK_MPI(MPI_Put(s->buf.mem.addr, 1, type, MPI_PROC_NULL, 0, 1, there, s->win));
        CHECK_MPI(MPI_Put(s->buf.mem.addr, 0, type, 1, 0, 0, there, s->win));
    }
}
