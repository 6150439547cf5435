/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* See unit.h. The walks are as plain as possible: they define the meaning of records. */

#include "unit.h"

#include <stdarg.h>
#include <stdio.h>

#undef malloc
#undef calloc
#undef realloc
#undef free

int unit_failures = 0;

void unit_fail(const char *format, ...)
{
    va_list args;

    if (unit_failures++ < 10) {
        va_start(args, format);
        vfprintf(stderr, format, args);
        va_end(args);
        fputc('\n', stderr);
    }
}

int unit_done(void)
{
    if (unit_failures)
        printf(" Found %d errors\n", unit_failures);
    else
        printf(" No Errors\n");
    return unit_failures != 0;
}

static void bytes_add(struct bytes *b, int64_t off, int64_t n)
{
    if (b->n + n > b->room) {
        b->room = 2 * b->room + n + 64;
        b->off = MPL_direct_realloc(b->off, b->room * sizeof(int64_t));
        if (!b->off)
            abort();
    }
    for (int64_t i = 0; i < n; i++)
        b->off[b->n++] = off + i;
}

void bytes_free(struct bytes *b)
{
    MPL_direct_free(b->off);
    memset(b, 0, sizeof(*b));
}

int64_t bytes_differ(const struct bytes *a, const struct bytes *b)
{
    for (int64_t i = 0; i < a->n && i < b->n; i++) {
        if (a->off[i] != b->off[i])
            return i;
    }
    return a->n == b->n ? -1 : MPL_MIN(a->n, b->n);
}

static void oracle_piece(void *arg, MPI_Aint off, MPI_Aint len, MPI_Datatype basic)
{
    (void) basic;
    bytes_add(arg, off, len);
}

void bytes_from_oracle(struct bytes *b, MPI_Datatype datatype, int64_t count)
{
    oracle *o = oracle_create(datatype);

    memset(b, 0, sizeof(*b));
    if (!o)
        abort();
    oracle_walk(o, count, oracle_piece, b);
    oracle_free(o);
}

static void raw_walk(struct bytes *b, const struct MPII_Gpudt_raw *raw, int i, int64_t at);

static void raw_walk_block(struct bytes *b, const struct MPII_Gpudt_raw *raw, int child, int64_t n,
                           int64_t extent, int64_t at)
{
    for (int64_t j = 0; j < n; j++)
        raw_walk(b, raw, child, at + j * extent);
}

static void raw_walk_subarray(struct bytes *b, const struct MPII_Gpudt_raw *raw, int i, int dim,
                              int64_t at)
{
    const struct MPII_Gpudt_raw_record *rec = &raw->records[i];
    const int64_t *sizes = (const int64_t *) (const void *) (raw->lookaside + rec->lookaside);
    int64_t stride = rec->extent;

    if (dim == rec->count) {
        raw_walk(b, raw, rec->child, at);
        return;
    }
    for (int d = dim + 1; d < rec->count; d++)
        stride *= sizes[d];
    for (int64_t j = 0; j < sizes[rec->count + dim]; j++)
        raw_walk_subarray(b, raw, i, dim + 1, at + (sizes[2 * rec->count + dim] + j) * stride);
}

static void raw_walk(struct bytes *b, const struct MPII_Gpudt_raw *raw, int i, int64_t at)
{
    const struct MPII_Gpudt_raw_record *rec = &raw->records[i];
    const int64_t *list = (const int64_t *) (const void *) (raw->lookaside + rec->lookaside);
    const int32_t *members = (const int32_t *) (const void *) (list + 3 * rec->count + 1);
    int64_t n = rec->count;

    /* large counts of empty types need no loop */
    if (rec->size == 0)
        return;
    switch (rec->kind) {
        case MPII_GPUDT_RAW_KIND__BLOCK:
            bytes_add(b, at, rec->size);
            break;
        case MPII_GPUDT_RAW_KIND__CONTIG:
            raw_walk_block(b, raw, rec->child, n, rec->extent, at);
            break;
        case MPII_GPUDT_RAW_KIND__VECTOR:
            for (int64_t j = 0; j < n; j++)
                raw_walk_block(b, raw, rec->child, rec->blocklength, rec->extent,
                               at + j * rec->stride);
            break;
        case MPII_GPUDT_RAW_KIND__BLKINDEXED:
            for (int64_t j = 0; j < n; j++)
                raw_walk_block(b, raw, rec->child, rec->blocklength, rec->extent, at + list[j]);
            break;
        case MPII_GPUDT_RAW_KIND__INDEXED:
            for (int64_t j = 0; j < n; j++)
                raw_walk_block(b, raw, rec->child, list[j + 1] - list[j], rec->extent,
                               at + list[n + 1 + j]);
            break;
        case MPII_GPUDT_RAW_KIND__STRUCT:
            for (int64_t j = 0; j < n; j++) {
                int64_t size = raw->records[members[j]].size;

                if (size > 0)
                    raw_walk_block(b, raw, members[j], (list[j + 1] - list[j]) / size,
                                   list[2 * n + 1 + j], at + list[n + 1 + j]);
            }
            break;
        case MPII_GPUDT_RAW_KIND__SUBARRAY:
            raw_walk_subarray(b, raw, i, 0, at);
            break;
        default:
            unit_fail("raw record %d is of kind %d", i, rec->kind);
    }
}

void bytes_from_raw(struct bytes *b, const struct MPII_Gpudt_raw *raw)
{
    memset(b, 0, sizeof(*b));
    raw_walk(b, raw, 0, 0);
}

static void serial_walk(struct bytes *b, const struct MPII_Gpudt_serial *serial,
                        const struct MPII_Gpudt_record *rec, int64_t at)
{
    const int64_t *prefix = MPII_Gpudt_record_prefix(rec, serial->lookaside);
    const int64_t *displ = MPII_Gpudt_record_displ(rec, serial->lookaside);
    const struct MPII_Gpudt_record *child = &serial->records[MPL_MAX(rec->child, 0)];

    switch (rec->kind) {
        case MPII_GPUDT_KIND__BLOCK:
            bytes_add(b, at, rec->size);
            break;
        case MPII_GPUDT_KIND__VECTOR:
            for (int64_t i = 0; i < rec->count; i++)
                serial_walk(b, serial, child, at + i * rec->stride);
            break;
        case MPII_GPUDT_KIND__BLKINDEXED:
            for (int64_t i = 0; i < rec->count; i++)
                serial_walk(b, serial, child, at + displ[i]);
            break;
        case MPII_GPUDT_KIND__INDEXED:
            for (int64_t i = 0; i < rec->count; i++) {
                for (int64_t j = 0; j < prefix[i + 1] - prefix[i]; j++)
                    serial_walk(b, serial, child, at + displ[i] + j * rec->extent);
            }
            break;
        case MPII_GPUDT_KIND__STRUCT:
            for (int64_t i = 0; i < rec->count; i++) {
                int member = MPII_Gpudt_record_members(rec, serial->lookaside)[i];

                serial_walk(b, serial, &serial->records[member], at + displ[i]);
            }
            break;
        default:
            unit_fail("record of kind %d", rec->kind);
    }
}

void bytes_from_top(struct bytes *b, const struct MPII_Gpudt_serial *serial,
                    const struct MPII_Gpudt_record *top)
{
    memset(b, 0, sizeof(*b));
    serial_walk(b, serial, top, serial->base_displ);
}

void bytes_from_serial(struct bytes *b, const struct MPII_Gpudt_serial *serial)
{
    bytes_from_top(b, serial, &serial->records[0]);
}

int64_t serial_byte_at(const struct MPII_Gpudt_serial *serial, int64_t pos)
{
    const struct MPII_Gpudt_record *rec = &serial->records[0];
    int64_t at = serial->base_displ, i, entry;

    for (;;) {
        const int64_t *prefix = MPII_Gpudt_record_prefix(rec, serial->lookaside);
        const int64_t *displ = MPII_Gpudt_record_displ(rec, serial->lookaside);

        switch (rec->kind) {
            case MPII_GPUDT_KIND__BLOCK:
                return at + pos;
            case MPII_GPUDT_KIND__VECTOR:
                i = pos / rec->child_size;
                at += i * rec->stride;
                pos -= i * rec->child_size;
                break;
            case MPII_GPUDT_KIND__BLKINDEXED:
                i = pos / rec->child_size;
                at += displ[i];
                pos -= i * rec->child_size;
                break;
            case MPII_GPUDT_KIND__INDEXED:
                i = pos / rec->child_size;
                for (entry = 0; prefix[entry + 1] <= i; entry++) ;
                at += displ[entry] + (i - prefix[entry]) * rec->extent;
                pos -= i * rec->child_size;
                break;
            case MPII_GPUDT_KIND__STRUCT:
                for (entry = 0; prefix[entry + 1] <= pos; entry++) ;
                at += displ[entry];
                pos -= prefix[entry];
                rec = &serial->records[MPII_Gpudt_record_members(rec, serial->lookaside)[entry]];
                continue;
        }
        rec = &serial->records[rec->child];
    }
}

static void check_list_record(const struct MPII_Gpudt_serial *serial,
                              const struct MPII_Gpudt_record *rec)
{
    const int64_t *prefix = MPII_Gpudt_record_prefix(rec, serial->lookaside);
    const int64_t *displ = MPII_Gpudt_record_displ(rec, serial->lookaside);
    const struct MPII_Gpudt_record *child = &serial->records[MPL_MAX(rec->child, 0)];
    bool run = rec->kind == MPII_GPUDT_KIND__INDEXED && child->kind == MPII_GPUDT_KIND__BLOCK &&
        rec->extent == child->size;
    int64_t gcd = 0;
    bool differ = false;

    UNIT_CHECK(rec->lookaside % 8 == 0 && rec->lookaside >= 0);
    UNIT_CHECK(rec->lookaside + MPII_Gpudt_lookaside_bytes(rec->kind, rec->count) <=
               serial->lookaside_sz);
    UNIT_CHECK(displ[0] == 0);
    if (rec->kind == MPII_GPUDT_KIND__BLKINDEXED)
        return;
    UNIT_CHECK(prefix[0] == 0);
    for (int64_t i = 0; i < rec->count; i++) {
        int64_t len = prefix[i + 1] - prefix[i], a = len, b = gcd;

        UNIT_CHECK(len > 0);
        differ = differ || len != prefix[1];
        while (b) {
            int64_t rest = a % b;

            a = b;
            b = rest;
        }
        gcd = a;
        if (run && i + 1 < rec->count)
            UNIT_CHECK(displ[i] + len * rec->extent != displ[i + 1]);
    }
    if (rec->kind == MPII_GPUDT_KIND__INDEXED) {
        UNIT_CHECK(differ);
        UNIT_CHECK(prefix[rec->count] > 2 * rec->count);
        UNIT_CHECK(!run || gcd == 1);
        UNIT_CHECK(prefix[rec->count] * rec->child_size == rec->size);
    } else {
        UNIT_CHECK(prefix[rec->count] == rec->size);
    }
}

static void check_struct_record(const struct MPII_Gpudt_serial *serial,
                                const struct MPII_Gpudt_record *rec)
{
    const int64_t *prefix = MPII_Gpudt_record_prefix(rec, serial->lookaside);
    const int64_t *displ = MPII_Gpudt_record_displ(rec, serial->lookaside);
    const int32_t *members = MPII_Gpudt_record_members(rec, serial->lookaside);

    for (int64_t i = 0; i < rec->count; i++) {
        const struct MPII_Gpudt_record *member = &serial->records[members[i]];

        UNIT_CHECK(members[i] > 0 && members[i] < serial->nrecords);
        UNIT_CHECK(prefix[i + 1] - prefix[i] == member->size);
        if (i > 0 && member->kind == MPII_GPUDT_KIND__BLOCK &&
            serial->records[members[i - 1]].kind == MPII_GPUDT_KIND__BLOCK)
            UNIT_CHECK(displ[i - 1] + prefix[i] - prefix[i - 1] != displ[i]);
    }
}

void unit_check_invariants(const struct MPII_Gpudt_serial *serial)
{
    UNIT_CHECK(serial->nrecords > 0);
    UNIT_CHECK(serial->lookaside_sz % 8 == 0);
    for (int i = 0; i < serial->nrecords; i++) {
        const struct MPII_Gpudt_record *rec = &serial->records[i];
        const struct MPII_Gpudt_record *child = NULL;

        UNIT_CHECK(rec->kind >= 0 && rec->kind <= MPII_GPUDT_KIND__STRUCT);
        UNIT_CHECK(rec->child < serial->nrecords && rec->child >= -1 && rec->child != 0);
        if (rec->child >= 0) {
            child = &serial->records[rec->child];
            UNIT_CHECK(rec->child_size == child->size && rec->child_size > 0);
        }
        UNIT_CHECK((child == NULL) == (rec->kind == MPII_GPUDT_KIND__BLOCK ||
                                       rec->kind == MPII_GPUDT_KIND__STRUCT));
        UNIT_CHECK(rec->size > 0 || serial->nrecords == 1);
        if (rec->size > 0)
            UNIT_CHECK(rec->elements * serial->block_gcd == (child ? child->size : rec->size));
        if (rec->kind == MPII_GPUDT_KIND__BLOCK) {
            UNIT_CHECK(rec->count == 1 && (rec->size == 0 || rec->size % serial->block_gcd == 0));
            continue;
        }
        UNIT_CHECK(rec->count >= 2);
        if (rec->kind == MPII_GPUDT_KIND__VECTOR) {
            UNIT_CHECK(rec->size == rec->count * rec->child_size);
            UNIT_CHECK(child->kind != MPII_GPUDT_KIND__BLOCK || child->size != rec->stride);
            UNIT_CHECK(child->kind != MPII_GPUDT_KIND__VECTOR ||
                       child->count * child->stride != rec->stride);
            UNIT_CHECK(rec->stride == 0 || rec->stride % serial->displ_gcd == 0);
        } else {
            check_list_record(serial, rec);
            if (rec->kind == MPII_GPUDT_KIND__STRUCT)
                check_struct_record(serial, rec);
        }
    }
}

int unit_serial(MPI_Datatype datatype, struct MPII_Gpudt_serial *serial)
{
    struct MPII_Gpudt_raw raw;

    if (MPII_Gpudt_serialize(datatype, &raw) != MPI_SUCCESS) {
        unit_fail("serialization failed");
        return 0;
    }
    if (MPII_Gpudt_canon(&raw, serial) != MPI_SUCCESS) {
        unit_fail("canonicalization failed");
        return 0;
    }
    return 1;
}

int unit_serial_equal(const struct MPII_Gpudt_serial *a, const struct MPII_Gpudt_serial *b)
{
    return a->nrecords == b->nrecords && a->lookaside_sz == b->lookaside_sz &&
        a->base_displ == b->base_displ && a->size == b->size && a->depth == b->depth &&
        a->true_lb == b->true_lb && a->true_extent == b->true_extent &&
        a->displ_gcd == b->displ_gcd && a->block_gcd == b->block_gcd && a->nblocks == b->nblocks &&
        memcmp(a->records, b->records, a->nrecords * sizeof(a->records[0])) == 0 &&
        (a->lookaside_sz == 0 || memcmp(a->lookaside, b->lookaside, a->lookaside_sz) == 0);
}

/* Contiguous pieces, without joining neighbours in a list: at most nblocks. */
static int64_t count_pieces(const struct bytes *b)
{
    int64_t n = b->n > 0;

    for (int64_t i = 1; i < b->n; i++)
        n += b->off[i] != b->off[i - 1] + 1;
    return n;
}

static void check_bounds(const struct MPII_Gpudt_serial *serial, const struct bytes *expect)
{
    int64_t lo = 0, hi = 0;

    for (int64_t i = 0; i < expect->n; i++) {
        lo = i == 0 ? expect->off[i] : MPL_MIN(lo, expect->off[i]);
        hi = i == 0 ? expect->off[i] + 1 : MPL_MAX(hi, expect->off[i] + 1);
    }
    UNIT_CHECK(serial->size == expect->n);
    UNIT_CHECK(serial->true_lb == lo);
    UNIT_CHECK(serial->true_extent == hi - lo);
    UNIT_CHECK(serial->nblocks >= count_pieces(expect) && serial->nblocks <= expect->n);
    UNIT_CHECK(expect->n == 0 || serial->base_displ == expect->off[0]);
}

static void check_counts(MPI_Datatype datatype, const struct MPII_Gpudt_serial *serial)
{
    static const int64_t counts[] = { 0, 1, 2, 3, 7 };

    for (int i = 0; i < 5; i++) {
        struct MPII_Gpudt_record top;
        struct bytes expect, seen;

        UNIT_CHECK(MPII_Gpudt_canon_count(serial, counts[i], &top) == MPI_SUCCESS);
        bytes_from_oracle(&expect, datatype, counts[i]);
        bytes_from_top(&seen, serial, &top);
        UNIT_CHECK(top.size == expect.n);
        UNIT_CHECK(bytes_differ(&expect, &seen) == -1);
        bytes_free(&expect);
        bytes_free(&seen);
    }
}

void unit_check_type(MPI_Datatype datatype, const char *name)
{
    int failures = unit_failures;
    struct MPII_Gpudt_raw raw;
    struct MPII_Gpudt_serial serial;
    struct bytes expect, seen;
    MPI_Aint lb, extent;

    if (MPII_Gpudt_serialize(datatype, &raw) != MPI_SUCCESS) {
        unit_fail("serialization failed: %s", name);
        return;
    }
    bytes_from_oracle(&expect, datatype, 1);
    bytes_from_raw(&seen, &raw);
    UNIT_CHECK(bytes_differ(&expect, &seen) == -1);
    bytes_free(&seen);

    if (MPII_Gpudt_canon(&raw, &serial) != MPI_SUCCESS) {
        unit_fail("canonicalization failed: %s", name);
    } else {
        unit_check_invariants(&serial);
        bytes_from_serial(&seen, &serial);
        UNIT_CHECK(bytes_differ(&expect, &seen) == -1);
        bytes_free(&seen);
        for (int64_t pos = 0; pos < expect.n; pos += 1 + expect.n / 97)
            UNIT_CHECK(serial_byte_at(&serial, pos) == expect.off[pos]);
        MPI_Type_get_extent(datatype, &lb, &extent);
        UNIT_CHECK(serial.extent == extent);
        check_bounds(&serial, &expect);
        check_counts(datatype, &serial);
        MPII_Gpudt_serial_free(&serial);
    }
    bytes_free(&expect);
    if (unit_failures > failures && failures < 10)
        fprintf(stderr, "    in %s\n", name);
}

/* The program is linked with --wrap for these, to intercept the engine's allocations. */
void *__real_malloc(size_t size);
void *__real_realloc(void *ptr, size_t size);
void __real_free(void *ptr);
char *__real_strdup(const char *s);
char *__wrap_strdup(const char *s);
void *__wrap_malloc(size_t size);
void *__wrap_realloc(void *ptr, size_t size);
void __wrap_free(void *ptr);

static long malloc_calls, malloc_live, malloc_fails;

void unit_fail_malloc(long n)
{
    malloc_calls = 0;
    malloc_live = 0;
    malloc_fails = n;
}

long unit_malloc_count(void)
{
    return malloc_calls;
}

long unit_malloc_live(void)
{
    return malloc_live;
}

void *__wrap_malloc(size_t size)
{
    void *ptr;

    if (__atomic_add_fetch(&malloc_calls, 1, __ATOMIC_RELAXED) == malloc_fails)
        return NULL;
    ptr = __real_malloc(size);
    __atomic_add_fetch(&malloc_live, ptr != NULL, __ATOMIC_RELAXED);
    return ptr;
}

void *__wrap_realloc(void *ptr, size_t size)
{
    void *grown;

    if (__atomic_add_fetch(&malloc_calls, 1, __ATOMIC_RELAXED) == malloc_fails)
        return NULL;
    grown = __real_realloc(ptr, size);
    __atomic_add_fetch(&malloc_live, ptr == NULL && grown != NULL, __ATOMIC_RELAXED);
    return grown;
}

/* For MPICH's error messages: does not fail, but is freed. */
char *__wrap_strdup(const char *s)
{
    char *copy = __real_strdup(s);

    __atomic_add_fetch(&malloc_live, copy != NULL, __ATOMIC_RELAXED);
    return copy;
}

void __wrap_free(void *ptr)
{
    __atomic_sub_fetch(&malloc_live, ptr != NULL, __ATOMIC_RELAXED);
    __real_free(ptr);
}
