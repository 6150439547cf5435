/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* See strided.h. Must not know the engine. */

#include "strided.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

#define STRIDE 12
#define MARGIN 256              /* guard bytes around both buffers */

static MPI_Datatype regular_type(int n)
{
    MPI_Datatype type;

    MPI_Type_create_hvector(n, 1, STRIDE, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

/* Displacement of int i: in an irregular layout up to 8 bytes further, in no order, so that some
 * touch. */
size_t strided_place(int i, int is_irregular)
{
    return (size_t) i * STRIDE + (is_irregular ? 4 * (((unsigned) i * 2654435761u >> 13) % 3) : 0);
}

static MPI_Datatype irregular_type(int n)
{
    MPI_Aint *displs = malloc(n * sizeof(MPI_Aint));
    MPI_Datatype type;

    for (int i = 0; i < n; i++)
        displs[i] = (MPI_Aint) strided_place(i, 1);
    MPI_Type_create_hindexed_block(n, 1, displs, MPI_INT, &type);
    MPI_Type_commit(&type);
    free(displs);
    return type;
}

void strided_make(struct strided *s, enum mem_kind user, enum mem_kind packed, int n,
                  int is_irregular)
{
    memset(s, 0, sizeof(*s));
    mem_alloc(&s->user, user, (size_t) n * STRIDE + 2 * MARGIN);
    mem_alloc(&s->packed, packed, (size_t) n * sizeof(int) + 2 * MARGIN);
    s->n = n;
    s->is_irregular = is_irregular;
    s->type = is_irregular ? irregular_type(n) : regular_type(n);
    s->comm = MPI_COMM_SELF;
}

void strided_free(struct strided *s)
{
    MPI_Type_free(&s->type);
    mem_free(&s->user);
    mem_free(&s->packed);
}

void strided_forget(struct strided *s)
{
    MPI_Type_free(&s->type);
    memset(s, 0, sizeof(*s));
}

/* Expected value of a byte outside the transfer. */
static unsigned char background(const struct strided *s, size_t at, int is_packed)
{
    return (unsigned char) (at * 29 + at / 249 + s->seed + 128 * is_packed);
}

static int datum(const struct strided *s, int i)
{
    return (int) (0x01020304u * (unsigned) (i + 1) + s->seed);
}

/* Expected contents of the two memories; the ints on either side only if requested. */
static void images_make(const struct strided *s, unsigned char *user, unsigned char *packed,
                        int with_user, int with_packed)
{
    for (size_t i = 0; i < s->user.sz; i++)
        user[i] = background(s, i, 0);
    for (size_t i = 0; i < s->packed.sz; i++)
        packed[i] = background(s, i, 1);
    for (int i = 0; i < s->n; i++) {
        int value = datum(s, i);

        if (!with_user)
            value = ~value;
        memcpy(user + MARGIN + strided_place(i, s->is_irregular), &value, sizeof(value));
        value = with_packed ? datum(s, i) : ~datum(s, i);
        memcpy(packed + MARGIN + i * sizeof(value), &value, sizeof(value));
    }
}

static void fill(struct strided *s, int with_user, int with_packed)
{
    unsigned char *user = malloc(s->user.sz), *packed = malloc(s->packed.sz);

    s->seed += 17;
    images_make(s, user, packed, with_user, with_packed);
    mem_write(&s->user, 0, user, s->user.sz);
    mem_write(&s->packed, 0, packed, s->packed.sz);
    free(user);
    free(packed);
}

static int check(const struct strided *s, const char *what_user, const char *what_packed)
{
    unsigned char *user = malloc(s->user.sz), *packed = malloc(s->packed.sz);
    unsigned char *seen = malloc(s->user.sz + s->packed.sz);
    int ok;

    images_make(s, user, packed, 1, 1);
    mem_read(&s->user, 0, seen, s->user.sz);
    ok = report_compare(what_user, seen, user, s->user.sz);
    mem_read(&s->packed, 0, seen, s->packed.sz);
    ok = report_compare(what_packed, seen, packed, s->packed.sz) && ok;
    free(user);
    free(packed);
    free(seen);
    return ok;
}

void strided_fill_user(struct strided *s)
{
    fill(s, 1, 0);
}

void strided_fill_packed(struct strided *s)
{
    fill(s, 0, 1);
}

int strided_check_packed(struct strided *s)
{
    return check(s, "what was packed from", "packed data");
}

int strided_check_unpacked(struct strided *s)
{
    return check(s, "unpacked data", "what was unpacked from");
}

int strided_pack(struct strided *s)
{
    int position = 0;

    return MPI_Pack(s->user.addr + MARGIN, 1, s->type, s->packed.addr + MARGIN,
                    s->n * (int) sizeof(int), &position, s->comm);
}

int strided_unpack(struct strided *s)
{
    int position = 0;

    return MPI_Unpack(s->packed.addr + MARGIN, s->n * (int) sizeof(int), &position,
                      s->user.addr + MARGIN, 1, s->type, s->comm);
}

int strided_both_ways(struct strided *s)
{
    int before = report_failures;

    strided_fill_user(s);
    CHECK_MPI(strided_pack(s));
    strided_check_packed(s);
    strided_fill_packed(s);
    CHECK_MPI(strided_unpack(s));
    strided_check_unpacked(s);
    return report_failures == before;
}
