/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests random datatypes: raw and canonical records against the type map, byte by byte; the same
 * type made from its dataloop, as at the target of a one-sided operation; MPI_Pack of a host
 * buffer.
 *
 * Usage: gpudt_random [types] [first seed]. A failure prints the seed: rerun with "1 seed". */

#include "unit.h"
#include "randtype.h"

#include <stdio.h>
#include <stdlib.h>

static long compared;
static int64_t max_depth, max_records, max_lookaside;

/* The result of MPICH's own engine for a host buffer. */
static void check_pack(MPI_Datatype datatype, const struct bytes *expect, const char *name)
{
    int64_t lo = 0, hi = 0;
    unsigned char *buf, *packed;
    int position = 0;
    bool same = true;

    for (int64_t i = 0; i < expect->n; i++) {
        lo = i == 0 ? expect->off[i] : MPL_MIN(lo, expect->off[i]);
        hi = i == 0 ? expect->off[i] + 1 : MPL_MAX(hi, expect->off[i] + 1);
    }
    buf = malloc(hi - lo + 1);
    packed = malloc(expect->n + 1);
    for (int64_t i = 0; i < hi - lo; i++)
        buf[i] = (unsigned char) (i * 7 + (i >> 8) * 13);
    MPI_Pack((char *) ((intptr_t) buf - lo), 1, datatype, packed, (int) expect->n, &position,
             MPI_COMM_SELF);
    for (int64_t i = 0; i < expect->n && same; i++)
        same = packed[i] == buf[expect->off[i] - lo];
    compared++;
    if (!same || position != expect->n)
        unit_fail("MPI_Pack differs from the type map: %s", name);
    free(buf);
    free(packed);
}

/* A datatype as it arrives at the target of a one-sided operation: a dataloop and no contents. */
static void check_dataloop(MPI_Datatype datatype, const struct bytes *expect, const char *name)
{
    MPIR_Datatype *dtp, *copy;
    void *flat;
    int flat_sz;
    struct MPII_Gpudt_raw raw;
    struct MPII_Gpudt_serial serial;
    struct bytes seen;

    MPIR_Datatype_get_ptr(datatype, dtp);
    if (HANDLE_IS_BUILTIN(datatype) || dtp->typerep.handle == NULL)
        return;
    MPIR_Typerep_flatten_size(dtp, &flat_sz);
    flat = malloc(flat_sz);
    MPIR_Typerep_flatten(dtp, flat);
    copy = MPIR_Handle_obj_alloc(&MPIR_Datatype_mem);
    MPIR_Object_set_ref(copy, 1);
    MPIR_Typerep_unflatten(copy, flat);
    free(flat);

    if (MPII_Gpudt_serialize(copy->handle, &raw) != MPI_SUCCESS ||
        MPII_Gpudt_canon(&raw, &serial) != MPI_SUCCESS) {
        unit_fail("from its dataloop: failed: %s", name);
    } else {
        unit_check_invariants(&serial);
        bytes_from_serial(&seen, &serial);
        if (bytes_differ(&seen, expect) != -1)
            unit_fail("from its dataloop: differs from the type map: %s", name);
        bytes_free(&seen);
        MPII_Gpudt_serial_free(&serial);
    }
    MPIR_Datatype_ptr_release(copy);
}

static void check_seed(uint64_t seed)
{
    struct rng rng;
    struct randtype_opts opts = RANDTYPE_OPTS_DEFAULT;
    MPI_Datatype datatype;
    struct bytes expect;
    struct MPII_Gpudt_serial serial;
    char *text, *name;

    rng_init(&rng, seed);
    opts.tidy = rng_chance(&rng, 30);
    datatype = randtype_make(&rng, &opts, &text);
    name = malloc(strlen(text) + 64);
    sprintf(name, "seed %llu: %s", (unsigned long long) seed, text);
    if (getenv("GPUDT_VERBOSE"))
        fprintf(stderr, "%s\n", name);

    unit_check_type(datatype, name);
    if (unit_serial(datatype, &serial)) {
        max_depth = MPL_MAX(max_depth, serial.depth);
        max_records = MPL_MAX(max_records, serial.nrecords);
        max_lookaside = MPL_MAX(max_lookaside, serial.lookaside_sz);
        MPII_Gpudt_serial_free(&serial);
    }
    bytes_from_oracle(&expect, datatype, 1);
    check_pack(datatype, &expect, name);
    check_dataloop(datatype, &expect, name);
    bytes_free(&expect);
    randtype_free(&datatype);
    free(text);
    free(name);
}

int main(int argc, char *argv[])
{
    long n = argc > 1 ? atol(argv[1]) : 3000;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;

    MPI_Init(NULL, NULL);
    for (long i = 0; i < n; i++)
        check_seed(first + i);
    if (getenv("GPUDT_VERBOSE") || argc > 1)
        fprintf(stderr, "%ld types; deepest %ld, most records %ld, most lookaside %ld\n", compared,
                (long) max_depth, (long) max_records, (long) max_lookaside);
    MPI_Finalize();
    return unit_done();
}
