/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Shared by the unit tests of type/: plain walks over raw and canonical records, the checks that
 * hold for every type, and allocations that fail on demand. Knows the engine's data structures;
 * must not use its code. */

#ifndef UNIT_H_INCLUDED
#define UNIT_H_INCLUDED

#include "mpiimpl.h"
#include "type/gpudt_builder.h"
#include "type/gpudt_canon.h"
#include "type/gpudt_debug.h"
#include "type/gpudt_serialize.h"
#include "type/gpudt_type.h"
#include "oracle.h"

/* The displacement of every packed byte, in stream order. */
struct bytes {
    int64_t n;
    int64_t room;
    int64_t *off;
};

void bytes_free(struct bytes *b);
void bytes_from_oracle(struct bytes *b, MPI_Datatype datatype, int64_t count);
void bytes_from_raw(struct bytes *b, const struct MPII_Gpudt_raw *raw);
void bytes_from_serial(struct bytes *b, const struct MPII_Gpudt_serial *serial);
/* Of `top`, which stands for record 0. */
void bytes_from_top(struct bytes *b, const struct MPII_Gpudt_serial *serial,
                    const struct MPII_Gpudt_record *top);
/* Displacement of one byte of the stream, computed from its position alone. */
int64_t serial_byte_at(const struct MPII_Gpudt_serial *serial, int64_t pos);
/* First position at which they differ, -1 if they are equal. */
int64_t bytes_differ(const struct bytes *a, const struct bytes *b);

/* Count and print a failure (the first ten). */
void unit_fail(const char *format, ...) ATTRIBUTE((format(printf, 1, 2)));
extern int unit_failures;
#define UNIT_CHECK(cond_)                                                       \
    do {                                                                        \
        if (!(cond_))                                                           \
            unit_fail("%s:%d: %s", __FILE__, __LINE__, #cond_);                 \
    } while (0)

/* Check all guarantees of gpudt_record.h for canonical records. */
void unit_check_invariants(const struct MPII_Gpudt_serial *serial);

/* Serialize and canonicalize; failures are counted. Returns 1 on success. */
int unit_serial(MPI_Datatype datatype, struct MPII_Gpudt_serial *serial);

/* 1 if records, lists and displacement are equal, byte by byte. */
int unit_serial_equal(const struct MPII_Gpudt_serial *a, const struct MPII_Gpudt_serial *b);

/* All checks of one type except MPI_Pack: raw and canonical walks against the type map, positions,
 * bounds, counts above 1. `name` is for failure messages. */
void unit_check_type(MPI_Datatype datatype, const char *name);

/* Let the n-th allocation from now on fail (1: the next one), and only that one. 0: none. */
void unit_fail_malloc(long n);
/* Allocations since the last call of unit_fail_malloc. */
long unit_malloc_count(void);
/* Blocks that were allocated since unit_fail_malloc and not freed. */
long unit_malloc_live(void);

/* Print the result in the form of MPICH's tests. Returns the exit status. */
int unit_done(void);

#endif /* UNIT_H_INCLUDED */
