/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Runs the cases of the fuzz test. Must not know how they are drawn. */

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

/* Arguments of the calls: copies of the types, so that they can be freed while in use. */
struct call {
    const void *from;
    void *to;
    MPI_Datatype from_type, to_type;
};

/* ---- expected bytes ---- */

/* Copy bytes [first, first + n) of a side's stream out of its shadow, or into it. */
static void stream_move(const struct side *side, MPI_Aint n, unsigned char *bytes, int into)
{
    void *buf = (void *) ((uintptr_t) side->shadow + (uintptr_t) side->buf_off);

    if (side->map == NULL)
        memcpy(into ? buf : (void *) bytes, into ? (void *) bytes : buf, n);
    else if (into)
        oracle_unpack(side->map, buf, side->count, side->first, n, bytes);
    else
        oracle_pack(side->map, buf, side->count, side->first, n, bytes);
}

static void window_randomize(struct rng *rng, const struct side *side)
{
    unsigned char *at = side->shadow + side->off;

    for (size_t i = 0; i + 8 <= side->len; i += 8) {
        uint64_t bits = rng_next(rng);
        memcpy(at + i, &bits, 8);
    }
}

/* Fill both windows such that every write changes its byte, and give the shadows the expected
 * contents. */
static void windows_fill(struct fuzz_case *c)
{
    struct side *side[2] = { &c->src, &c->dst };
    unsigned char *bytes = malloc(2 * c->n + 1);
    unsigned char *other = bytes + c->n;

    window_randomize(&c->rng, &c->src);
    window_randomize(&c->rng, &c->dst);
    if (c->n > 0) {
        stream_move(&c->src, c->n, bytes, 0);
        for (MPI_Aint i = 0; i < c->n; i++)
            other[i] = bytes[i] ^ (1 + i % 255);
        stream_move(&c->dst, c->n, other, 1);
    }
    for (int i = 0; i < 2; i++)
        mem_write(side[i]->arena, side[i]->off, side[i]->shadow + side[i]->off, side[i]->len);
    if (c->n > 0)
        stream_move(&c->dst, c->n, bytes, 1);
    free(bytes);
}

static int windows_check(struct fuzz_case *c)
{
    static const char *const names[2] = { "the source's window", "the destination's window" };
    struct side *side[2] = { &c->src, &c->dst };
    int ok = 1;

    for (int i = 0; i < 2; i++) {
        unsigned char *seen = malloc(side[i]->len);

        mem_read(side[i]->arena, side[i]->off, seen, side[i]->len);
        ok = report_compare(names[i], seen, side[i]->shadow + side[i]->off, side[i]->len) && ok;
        free(seen);
    }
    return ok;
}

/* ---- the calls ---- */

static MPI_Datatype type_for_call(const struct side *side, void **buf, int is_owned)
{
    MPI_Datatype type = side->type;

    *buf = (void *) ((uintptr_t) side->arena->addr + (uintptr_t) side->buf_off);
    if (type == MPI_DATATYPE_NULL)
        return type;
    if (side->is_absolute) {
        type = randtype_absolute(side->type, *buf);
        *buf = MPI_BOTTOM;
    } else if (is_owned) {
        MPI_Type_dup(side->type, &type);
    }
    return type;
}

static void call_make(const struct fuzz_case *c, struct call *call)
{
    void *from;

    call->from_type = type_for_call(&c->src, &from, c->free_early);
    call->from = from;
    call->to_type = type_for_call(&c->dst, &call->to, c->free_early);
}

static void call_free(const struct fuzz_case *c, struct call *call)
{
    if (call->from_type != c->src.type)
        MPI_Type_free(&call->from_type);
    if (call->to_type != c->dst.type)
        MPI_Type_free(&call->to_type);
    call->from_type = c->src.type;
    call->to_type = c->dst.type;
}

/* The engine alone. Returns an MPI error code. */
static int by_engine(struct fuzz_case *c, struct call *call, MPI_Aint * actual)
{
    MPIR_Gpudt_op *op = NULL, **op_addr = c->way == WAY__ENGINE ? NULL : &op;
    bool handled;
    int err, done = 0;

    if (c->direction == DIRECTION__PACK)
        err = MPIR_Gpudt_ipack(call->from, c->src.count, call->from_type, c->src.first, call->to,
                               c->asked, actual, op_addr, &handled);
    else if (c->direction == DIRECTION__UNPACK)
        err = MPIR_Gpudt_iunpack(call->from, c->asked, call->to, c->dst.count, call->to_type,
                                 c->dst.first, actual, op_addr, &handled);
    else
        err = MPIR_Gpudt_ilocalcopy(call->from, c->src.count, call->from_type, call->to,
                                    c->dst.count, call->to_type, c->asked, op_addr, &handled);
    if (err)
        return err;
    if (c->n > 0 && handled == case_is_host(c))
        report_fail("the engine says that it has %shandled it", handled ? "" : "not ");

    if (c->free_early)
        call_free(c, call);
    if (c->way == WAY__ENGINE_WAIT)
        err = MPIR_Gpudt_wait(op);
    while (c->way == WAY__ENGINE_TEST && op && !done && !err)
        err = MPIR_Gpudt_test(op, &done);
    return err;
}

static int by_typerep(struct fuzz_case *c, struct call *call, MPI_Aint * actual)
{
    MPIR_Typerep_req req = MPIR_TYPEREP_REQ_NULL;
    int err, err_wait;

    if (c->direction == DIRECTION__PACK)
        err = MPIR_Typerep_ipack(call->from, c->src.count, call->from_type, c->src.first, call->to,
                                 c->asked, actual, &req);
    else if (c->direction == DIRECTION__UNPACK)
        err = MPIR_Typerep_iunpack(call->from, c->asked, call->to, c->dst.count, call->to_type,
                                   c->dst.first, actual, &req);
    else
        err = MPIR_Ilocalcopy(call->from, c->src.count, call->from_type, call->to, c->dst.count,
                              call->to_type, &req);
    if (c->free_early)
        call_free(c, call);
    err_wait = MPIR_Typerep_wait(req);
    return err ? err : err_wait;
}

static int by_mpi(struct fuzz_case *c, struct call *call, MPI_Aint * actual)
{
    /* The packed data starts in the middle of the buffer that is passed to MPI */
    int before = (int) rng_range(&c->rng, 0, 20), position = before, err;
    int packed_sz = before + (int) c->asked + (int) rng_range(&c->rng, 0, 20);

    if (c->direction == DIRECTION__PACK)
        err = MPI_Pack(call->from, (int) c->src.count, call->from_type, (char *) call->to - before,
                       packed_sz, &position, MPI_COMM_SELF);
    else if (c->direction == DIRECTION__UNPACK)
        err = MPI_Unpack((const char *) call->from - before, packed_sz, &position, call->to,
                         (int) c->dst.count, call->to_type, MPI_COMM_SELF);
    else
        return MPIR_Localcopy(call->from, c->src.count, call->from_type, call->to, c->dst.count,
                              call->to_type);
    *actual = position - before;
    return err;
}

static int call_make_and_end(struct fuzz_case *c, MPI_Aint * actual)
{
    struct call call;
    int err;

    call_make(c, &call);
    switch (c->way) {
        case WAY__TYPEREP:
            err = by_typerep(c, &call, actual);
            break;
        case WAY__MPI:
            err = by_mpi(c, &call, actual);
            break;
        default:
            err = by_engine(c, &call, actual);
            break;
    }
    call_free(c, &call);
    return err;
}

/* ---- a case ---- */

static void settings_apply(const struct fuzz_case *c)
{
    CU(CtxSetCurrent(c->current));
    if (fuzz_opts.keep_strategy)
        return;
    MPIR_CVAR_GPUDT_STRATEGY = c->strategy->value;
    MPIR_CVAR_GPUDT_ROUTE = c->route->value;
    MPIR_CVAR_GPUDT_DEPTH = c->depth;
    MPIR_CVAR_GPUDT_MAX_BLOCKS = c->max_blocks;
}

/* A copy into a buffer that is too small copies what fits and returns an error. If the buffer is
 * empty, nothing is done, and MPICH returns no error. */
static int error_expected(const struct fuzz_case *c)
{
    if (c->direction == DIRECTION__COPY && c->way >= WAY__TYPEREP &&
        c->src.size > c->dst.size && c->dst.size > 0)
        return MPI_ERR_TRUNCATE;
    return MPI_SUCCESS;
}

int case_run(struct fuzz_case *c)
{
    int failures_before = report_failures;
    MPI_Aint actual = c->n;
    int err, class = MPI_SUCCESS;

    settings_apply(c);
    windows_fill(c);
    err = call_make_and_end(c, &actual);

    if (err)
        MPI_Error_class(err, &class);
    if (class != error_expected(c))
        report_fail("MPI error class %d, expected %d: %s", class, error_expected(c),
                    report_mpi_text(err));
    if (case_is_left(c))
        actual = 0;
    if (actual != c->n)
        report_fail("%ld bytes moved, expected %ld", (long) actual, (long) c->n);
    if (gpu_get_current() != c->current)
        report_fail("the current context has changed");
    windows_check(c);
    return report_failures == failures_before;
}
