/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests MPI_Pack_external, MPI_Unpack_external and MPI_Pack_external_size against the type map: each
 * number in big-endian order, long in four bytes. Random datatypes, host and GPU memory on either
 * side or both, two calls that continue each other, gaps that must not change, and blocks at absolute addresses.
 *
 * Usage: external32 [types] [first seed]. A failure prints the seed: rerun with "1 seed". */

#include "gpu.h"
#include "oracle.h"
#include "randtype.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define MAX_SPAN (1 << 18)      /* bytes of a buffer; longer ones are left out */

static struct rng rng;

/* The conversion of a buffer by the type map. */
struct convert {
    unsigned char *user;        /* at displacement 0 */
    unsigned char *packed;
    size_t n;                   /* packed bytes so far */
    int unpack;
};

static int count_of(MPI_Datatype basic)
{
    return basic == MPI_2INT || basic == MPI_C_FLOAT_COMPLEX || basic == MPI_C_DOUBLE_COMPLEX ||
        basic == MPI_C_LONG_DOUBLE_COMPLEX ? 2 : 1;
}

/* oracle_piece_fn */
static void convert_piece(void *arg, MPI_Aint off, MPI_Aint len, MPI_Datatype basic)
{
    struct convert *c = arg;
    const int n = count_of(basic), size = (int) len / n;
    const int external = basic == MPI_LONG ? 4 : size;

    for (int i = 0; i < n && c->packed; i++) {
        unsigned char *u = c->user + off + i * size, *p = c->packed + c->n + i * external;

        for (int k = 0; k < external; k++) {
            if (c->unpack)
                u[k] = p[external - 1 - k];
            else
                p[external - 1 - k] = u[k];
        }
        for (int k = external; k < size && c->unpack; k++)
            u[k] = p[0] & 0x80 ? 0xff : 0;      /* the sign */
    }
    c->n += (size_t) (n * external);
}

static size_t convert(const oracle * map, int count, unsigned char *user, unsigned char *packed,
                      int unpack)
{
    struct convert c = {.user = user,.packed = packed,.unpack = unpack };

    oracle_walk(map, count, convert_piece, &c);
    return c.n;
}

static void fill(unsigned char *mem, size_t n)
{
    for (size_t i = 0; i < n; i++)
        mem[i] = (unsigned char) rng_next(&rng);
}

/* Pack `count` datatypes at the position where `count` others end, and unpack them from there. */
static void check(MPI_Datatype type, const oracle * map, int count, int can_unpack, const char *name)
{
    enum mem_kind kinds[] = { MEM__PAGEABLE, MEM__PINNED, MEM__DEVICE, MEM__MANAGED };
    MPI_Aint size, lo, hi, position = 0, external;
    unsigned char *user_image, *packed_image, *seen;
    struct mem user, packed;
    size_t n, span;

    oracle_span(map, count, &size, &lo, &hi);
    span = (size_t) (hi - lo);
    n = convert(map, count, NULL, NULL, 0);
    CHECK_MPI(MPI_Pack_external_size("external32", count, type, &external));
    if ((size_t) external != n)
        report_fail("%s: %ld external bytes, not %ld", name, (long) external, (long) n);
    if (n == 0 || span > MAX_SPAN)
        return;

    user_image = malloc(span);
    packed_image = malloc(2 * n);
    seen = malloc(span + 2 * n);
    mem_alloc(&user, kinds[rng_range(&rng, 0, 3)], span);
    mem_alloc(&packed, kinds[rng_range(&rng, 0, 3)], 2 * n);
    fill(user_image, span);
    mem_write(&user, 0, user_image, span);
    convert(map, count, user_image - lo, packed_image, 0);
    memcpy(packed_image + n, packed_image, n);
    for (int i = 0; i < 2; i++)
        CHECK_MPI(MPI_Pack_external("external32", user.addr - lo, count, type, packed.addr,
                                    (MPI_Aint) (2 * n), &position));
    mem_read(&packed, 0, seen, 2 * n);
    report_compare(name, seen, packed_image, 2 * n);
    if (position != (MPI_Aint) (2 * n))
        report_fail("%s: position %ld, not %ld", name, (long) position, (long) (2 * n));

    if (can_unpack) {
        fill(packed_image, 2 * n);
        mem_write(&packed, 0, packed_image, 2 * n);
        convert(map, count, user_image - lo, packed_image + n, 1);
        position = (MPI_Aint) n;
        CHECK_MPI(MPI_Unpack_external("external32", packed.addr, (MPI_Aint) (2 * n), &position,
                                      user.addr - lo, count, type));
        mem_read(&user, 0, seen, span);
        report_compare(name, seen, user_image, span);
    }
    mem_free(&user);
    mem_free(&packed);
    free(user_image);
    free(packed_image);
    free(seen);
}

static void check_seed(uint64_t seed)
{
    struct randtype_opts opts = RANDTYPE_OPTS_DEFAULT;
    const int count = (rng_init(&rng, seed), (int) rng_range(&rng, 1, 5));
    MPI_Datatype type;
    oracle *map;
    char *text, *name;

    opts.tidy = rng_chance(&rng, 60);
    opts.max_span = 1 << 14;
    type = randtype_make(&rng, &opts, &text);
    name = malloc(strlen(text) + 64);
    sprintf(name, "seed %llu: %s", (unsigned long long) seed, text);
    map = oracle_create(type);
    check(type, map, count, !oracle_overlaps(map, count), name);
    oracle_free(map);
    randtype_free(&type);
    free(text);
    free(name);
}

/* Two bytes without a sign. */
static void check_wchar(void)
{
    const wchar_t text[2] = { 0x41, 0x8001 };
    const unsigned char want[4] = { 0, 0x41, 0x80, 1 };
    unsigned char packed[4];
    wchar_t seen[2];
    MPI_Aint position = 0;

    CHECK_MPI(MPI_Pack_external("external32", text, 2, MPI_WCHAR, packed, 4, &position));
    report_compare("MPI_WCHAR", packed, want, 4);
    position = 0;
    CHECK_MPI(MPI_Unpack_external("external32", packed, 4, &position, seen, 2, MPI_WCHAR));
    report_compare("unpacked MPI_WCHAR", seen, text, sizeof(text));
}

/* Blocks at absolute addresses far from each other: static memory, the stack, and GPU memory. */
static void check_absolute(int with_gpu)
{
    static int in_static[3] = { 1, 2, 3 };
    int on_stack[3] = { 11, 12, 13 }, on_gpu[3] = { 21, 22, 23 };
    const int n = with_gpu ? 3 : 2;
    unsigned char packed[36];
    MPI_Aint displs[3], position = 0;
    MPI_Datatype type;
    struct mem mem;

    mem_alloc(&mem, MEM__DEVICE, sizeof(on_gpu));
    mem_write(&mem, 0, on_gpu, sizeof(on_gpu));
    MPI_Get_address(in_static, &displs[0]);
    MPI_Get_address(on_stack, &displs[1]);
    MPI_Get_address(mem.addr, &displs[2]);
    MPI_Type_create_hindexed_block(n, 3, displs, MPI_INT, &type);
    MPI_Type_commit(&type);
    CHECK_MPI(MPI_Pack_external("external32", MPI_BOTTOM, 1, type, packed, 36, &position));
    CHECK(position == 12 * n);
    for (int i = 0; i < 3 * n; i++) {
        CHECK(packed[4 * i] == 0 && packed[4 * i + 3] == i / 3 * 10 + i % 3 + 1);
        packed[4 * i + 2] = 1;
    }
    position = 0;
    CHECK_MPI(MPI_Unpack_external("external32", packed, 36, &position, MPI_BOTTOM, 1, type));
    mem_read(&mem, 0, on_gpu, sizeof(on_gpu));
    for (int i = 0; i < 3; i++)
        CHECK(in_static[i] == 257 + i && on_stack[i] == 267 + i &&
              on_gpu[i] == (with_gpu ? 277 : 21) + i);
    for (int i = 0; i < 3; i++)
        in_static[i] = i + 1;
    MPI_Type_free(&type);
    mem_free(&mem);
}

int main(int argc, char *argv[])
{
    const unsigned one = 1;
    const long n = argc > 1 ? atol(argv[1]) : 1000;
    const uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;

    if (*(const unsigned char *) &one != 1) {
        fprintf(stderr, "written for little-endian machines\n");
        return 1;
    }
    report_time_limit(60);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    check_wchar();
    check_absolute(0);
    check_absolute(1);
    for (long i = 0; i < n; i++)
        check_seed(first + (uint64_t) i);
    MPI_Finalize();
    return report_done();
}
