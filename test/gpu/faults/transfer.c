/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Runs the transfers of the fault test and checks their results. Must not know how faults are
 * injected. */

#include "faults.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BUF_SZ ((size_t) 8192)  /* bytes of each memory; the buffer starts at BUF_OFF */
#define BUF_OFF 512
#define MIXED_BLOCKS 64         /* of 8 bytes, 24 bytes apart, as scenario.c's vector */
#define MIXED_CUT (MIXED_BLOCKS / 2 * 24)       /* byte of the buffer where the rest begins */

/* ---- making ---- */

/* The same blocks at absolute addresses, the second half of them in other memory. */
static MPI_Datatype mixed_type(const struct side *side)
{
    MPI_Aint displs[MIXED_BLOCKS];
    MPI_Datatype type;

    for (int i = 0; i < MIXED_BLOCKS; i++) {
        MPI_Aint at = i * 24;
        MPI_Get_address(at < MIXED_CUT ? side->mem.addr + BUF_OFF + at :
                        side->rest.addr + (BUF_OFF + at), &displs[i]);
    }
    MPI_Type_create_hindexed_block(MIXED_BLOCKS, 1, displs, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

static void side_make(struct side *side, enum mem_kind kind, type_fn type, int is_mixed)
{
    mem_alloc(&side->mem, kind, BUF_SZ);
    if (is_mixed)
        mem_alloc(&side->rest, MEM__PAGEABLE, BUF_SZ);
    side->shadow = malloc(BUF_SZ);
    side->want = malloc(BUF_SZ);
    side->type = type ? type() : MPI_DATATYPE_NULL;
    side->map = type ? oracle_create(side->type) : NULL;
    side->call_type = is_mixed ? mixed_type(side) : side->type;
    side->call_buf = is_mixed ? MPI_BOTTOM : side->mem.addr + BUF_OFF;
}

void transfer_make(struct transfer *t, const struct scenario *scenario)
{
    MPI_Aint n, lo, hi;

    memset(t, 0, sizeof(*t));
    t->scenario = scenario;
    side_make(&t->user, scenario->user_kind, scenario->user_type, scenario->is_mixed);
    side_make(&t->other, scenario->other_kind, scenario->other_type, 0);
    oracle_span(t->user.map, 1, &t->n, &lo, &hi);
    if (t->other.map) {
        oracle_span(t->other.map, 1, &n, &lo, &hi);
        if (n < t->n)
            t->n = n;
    }
}

static void side_free(struct side *side)
{
    if (side->call_type != side->type)
        MPI_Type_free(&side->call_type);
    if (side->type != MPI_DATATYPE_NULL)
        MPI_Type_free(&side->type);
    oracle_free(side->map);
    mem_free(&side->mem);
    mem_free(&side->rest);
    free(side->shadow);
    free(side->want);
}

void transfer_free(struct transfer *t)
{
    side_free(&t->user);
    side_free(&t->other);
}

/* ---- contents ---- */

static void side_write(const struct side *side)
{
    if (side->rest.addr) {
        mem_write(&side->mem, 0, side->shadow, BUF_OFF + MIXED_CUT);
        mem_write(&side->rest, BUF_OFF + MIXED_CUT, side->shadow + BUF_OFF + MIXED_CUT,
                  BUF_SZ - BUF_OFF - MIXED_CUT);
    } else {
        mem_write(&side->mem, 0, side->shadow, BUF_SZ);
    }
}

static void side_read(const struct side *side, unsigned char *seen)
{
    if (side->rest.addr) {
        mem_read(&side->mem, 0, seen, BUF_OFF + MIXED_CUT);
        mem_read(&side->rest, BUF_OFF + MIXED_CUT, seen + BUF_OFF + MIXED_CUT,
                 BUF_SZ - BUF_OFF - MIXED_CUT);
    } else {
        mem_read(&side->mem, 0, seen, BUF_SZ);
    }
}

static void stream_move(const struct side *side, unsigned char *image, MPI_Aint n,
                        unsigned char *bytes, int into)
{
    unsigned char *buf = image + BUF_OFF;

    if (side->map == NULL)
        memcpy(into ? buf : bytes, into ? bytes : buf, n);
    else if (into)
        oracle_unpack(side->map, buf, 1, 0, n, bytes);
    else
        oracle_pack(side->map, buf, 1, 0, n, bytes);
}

static struct side *source(struct transfer *t)
{
    return t->scenario->direction == DIRECTION__UNPACK ? &t->other : &t->user;
}

static struct side *destination(struct transfer *t)
{
    return t->scenario->direction == DIRECTION__UNPACK ? &t->user : &t->other;
}

void transfer_fill(struct transfer *t, unsigned seed)
{
    struct side *from = source(t), *to = destination(t);
    unsigned char *bytes = malloc(t->n);

    for (size_t i = 0; i < BUF_SZ; i++) {
        from->shadow[i] = (unsigned char) (i * 37 + i / 251 + seed);
        to->shadow[i] = (unsigned char) (i * 101 + i / 241 + seed);
    }
    stream_move(from, from->shadow, t->n, bytes, 0);
    /* every byte that is written changes */
    for (MPI_Aint i = 0; i < t->n; i++)
        bytes[i] ^= 0x5a;
    stream_move(to, to->shadow, t->n, bytes, 1);
    for (MPI_Aint i = 0; i < t->n; i++)
        bytes[i] ^= 0x5a;

    if (t->scenario->direction == DIRECTION__REDUCE)
        memset(bytes, 0x5a, t->n);      /* what the two differ by */

    memcpy(from->want, from->shadow, BUF_SZ);
    memcpy(to->want, to->shadow, BUF_SZ);
    stream_move(to, to->want, t->n, bytes, 1);
    side_write(from);
    side_write(to);
    free(bytes);
}

int transfer_check(struct transfer *t, int has_failed)
{
    struct side *side[2] = { source(t), destination(t) };
    unsigned char seen[BUF_SZ];
    int ok = 1;

    for (int k = 0; k < 2; k++) {
        side_read(side[k], seen);
        for (size_t i = 0; i < BUF_SZ && ok; i++) {
            if (seen[i] == side[k]->want[i] || (has_failed && seen[i] == side[k]->shadow[i]))
                continue;
            ok = 0;
            report_fail("byte %ld of the %s is 0x%02x, was 0x%02x, expected 0x%02x",
                        (long) i - BUF_OFF, k ? "destination" : "source", seen[i],
                        side[k]->shadow[i], side[k]->want[i]);
        }
    }
    return ok;
}

/* ---- the calls ---- */

static int run_blocking(struct transfer *t)
{
    struct side *u = &t->user, *o = &t->other;
    int position = 0;

    switch (t->scenario->direction) {
        case DIRECTION__PACK:
            return MPI_Pack(u->call_buf, 1, u->call_type, o->call_buf, (int) t->n, &position,
                            MPI_COMM_SELF);
        case DIRECTION__UNPACK:
            return MPI_Unpack(o->call_buf, (int) t->n, &position, u->call_buf, 1, u->call_type,
                              MPI_COMM_SELF);
        case DIRECTION__REDUCE:
            return MPI_Reduce_local(u->call_buf, o->call_buf, (int) (t->n / sizeof(uint64_t)),
                                    MPI_UINT64_T, MPI_BXOR);
        default:
            return MPIR_Localcopy(u->call_buf, 1, u->call_type, o->call_buf, 1, o->call_type);
    }
}

static int run_nonblocking(struct transfer *t)
{
    struct side *u = &t->user, *o = &t->other;
    MPIR_Gpudt_op *op;
    MPI_Aint actual = t->n;
    bool handled = true;
    int err, done = 0;

    switch (t->scenario->direction) {
        case DIRECTION__PACK:
            err = MPIR_Gpudt_ipack(u->call_buf, 1, u->call_type, 0, o->call_buf, t->n, &actual, &op,
                                   &handled);
            break;
        case DIRECTION__UNPACK:
            err = MPIR_Gpudt_iunpack(o->call_buf, t->n, u->call_buf, 1, u->call_type, 0, &actual,
                                     &op, &handled);
            break;
        default:
            err = MPIR_Gpudt_ilocalcopy(u->call_buf, 1, u->call_type, o->call_buf, 1, o->call_type,
                                        t->n, &op, &handled);
            break;
    }
    CHECK(handled);
    CHECK(err == MPI_SUCCESS || op == NULL);
    CHECK(actual == (err ? 0 : t->n) || t->scenario->direction == DIRECTION__COPY);
    while (err == MPI_SUCCESS && op && !done) {
        /* every poll makes a few driver calls, each of which is a case of fault injection */
        nanosleep(&(struct timespec) {.tv_nsec = 300000}, NULL);
        err = MPIR_Gpudt_test(op, &done);
    }
    return err;
}

/* In several parts in flight together, from a buffer described once: all but the first wait in a
 * queue. Each of them completes, and an error of any is the transfer's. */
static int run_in_parts(struct transfer *t)
{
    enum { parts = 4 };
    struct side *u = &t->user, *o = &t->other;
    const bool unpack = t->scenario->direction == DIRECTION__UNPACK;
    MPIR_Gpudt_buffer *buffer;
    MPIR_Gpudt_op *op[parts] = { NULL };
    int err, first;

    first = MPIR_Gpudt_buffer_make(u->call_buf, 1, u->call_type, &buffer);
    for (int i = 0; i < parts && first == MPI_SUCCESS; i++) {
        MPI_Aint from = i * t->n / parts, to = (i + 1) * t->n / parts;
        first = MPIR_Gpudt_buffer_move(buffer, from, to - from, (char *) o->call_buf + from, unpack,
                                       &op[i]);
    }
    MPIR_Gpudt_buffer_free(buffer);
    for (int i = 0; i < parts; i++) {
        err = MPIR_Gpudt_wait(op[i]);
        first = first ? first : err;
    }
    return first;
}

int transfer_run(struct transfer *t)
{
    if (t->scenario->is_nonblocking > 1)
        return run_in_parts(t);
    return t->scenario->is_nonblocking ? run_nonblocking(t) : run_blocking(t);
}
