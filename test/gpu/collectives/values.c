/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Operands of reductions: which predefined operations are defined for which datatypes, values for
 * which they are, and an operation of the user. */

#include "collectives.h"
#include "oracle.h"
#include "side.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

/* How elements are filled. */
enum class {
    CLASS__BITS,                /* any bytes */
    CLASS__FLOAT,
    CLASS__DOUBLE,
    CLASS__LONG_DOUBLE,
    CLASS__HALF,
    CLASS__QUAD,
    CLASS__BOOL,
    CLASS__LOGICAL
};

/* Groups of operations. */
#define ARITHMETIC (1 << 0)     /* MPI_SUM, MPI_PROD */
#define ORDER (1 << 1)          /* MPI_MAX, MPI_MIN */
#define LOGICAL (1 << 2)        /* MPI_LAND, MPI_LOR, MPI_LXOR */
#define BITWISE (1 << 3)        /* MPI_BAND, MPI_BOR, MPI_BXOR */
#define LOCATION (1 << 4)       /* MPI_MAXLOC, MPI_MINLOC */
#define INTEGER (ARITHMETIC | ORDER | LOGICAL | BITWISE)
#define REAL (ARITHMETIC | ORDER)

struct kind {
    MPI_Datatype type;
    int groups;
    enum class class;           /* of the first value, and of all others but in pairs */
    enum class second;          /* pairs: of the location */
    int at, sz;                 /* pairs: of the location, in bytes */
};

static const struct kind kinds[] = {
    {MPI_INT, INTEGER}, {MPI_LONG, INTEGER}, {MPI_SHORT, INTEGER},
    {MPI_UNSIGNED_SHORT, INTEGER}, {MPI_UNSIGNED, INTEGER}, {MPI_UNSIGNED_LONG, INTEGER},
    {MPI_LONG_LONG, INTEGER}, {MPI_UNSIGNED_LONG_LONG, INTEGER}, {MPI_SIGNED_CHAR, INTEGER},
    {MPI_UNSIGNED_CHAR, INTEGER}, {MPI_INT8_T, INTEGER}, {MPI_INT16_T, INTEGER},
    {MPI_INT32_T, INTEGER}, {MPI_INT64_T, INTEGER}, {MPI_UINT8_T, INTEGER},
    {MPI_UINT16_T, INTEGER}, {MPI_UINT32_T, INTEGER}, {MPI_UINT64_T, INTEGER},
    {MPI_CHAR, INTEGER}, {MPI_AINT, INTEGER}, {MPI_OFFSET, INTEGER}, {MPI_COUNT, INTEGER},
    {MPI_INTEGER, INTEGER}, {MPI_CHARACTER, INTEGER}, {MPI_INTEGER1, INTEGER},
    {MPI_INTEGER2, INTEGER}, {MPI_INTEGER4, INTEGER}, {MPI_INTEGER8, INTEGER},
    {MPI_BYTE, BITWISE},
    {MPI_FLOAT, REAL, CLASS__FLOAT}, {MPI_DOUBLE, REAL, CLASS__DOUBLE},
    {MPI_REAL, REAL, CLASS__FLOAT}, {MPI_DOUBLE_PRECISION, REAL, CLASS__DOUBLE},
    {MPI_REAL4, REAL, CLASS__FLOAT}, {MPI_REAL8, REAL, CLASS__DOUBLE},
    {MPI_REAL16, REAL, CLASS__QUAD}, {MPI_LONG_DOUBLE, REAL, CLASS__LONG_DOUBLE},
    {MPIX_C_FLOAT16, REAL, CLASS__HALF},
    {MPI_C_BOOL, LOGICAL, CLASS__BOOL}, {MPI_CXX_BOOL, LOGICAL, CLASS__BOOL},
    {MPI_LOGICAL, LOGICAL, CLASS__LOGICAL},
    {MPI_C_FLOAT_COMPLEX, ARITHMETIC, CLASS__FLOAT},
    {MPI_C_DOUBLE_COMPLEX, ARITHMETIC, CLASS__DOUBLE},
    {MPI_C_LONG_DOUBLE_COMPLEX, ARITHMETIC, CLASS__LONG_DOUBLE},
    {MPI_COMPLEX, ARITHMETIC, CLASS__FLOAT}, {MPI_DOUBLE_COMPLEX, ARITHMETIC, CLASS__DOUBLE},
    {MPI_COMPLEX8, ARITHMETIC, CLASS__FLOAT}, {MPI_COMPLEX16, ARITHMETIC, CLASS__DOUBLE},
    {MPI_CXX_FLOAT_COMPLEX, ARITHMETIC, CLASS__FLOAT},
    {MPI_CXX_DOUBLE_COMPLEX, ARITHMETIC, CLASS__DOUBLE},
    {MPI_CXX_LONG_DOUBLE_COMPLEX, ARITHMETIC, CLASS__LONG_DOUBLE},
    {MPI_2INT, LOCATION, CLASS__BITS, CLASS__BITS, 4, 8},
    {MPI_2INTEGER, LOCATION, CLASS__BITS, CLASS__BITS, 4, 8},
    {MPI_SHORT_INT, LOCATION, CLASS__BITS, CLASS__BITS, 4, 8},
    {MPI_LONG_INT, LOCATION, CLASS__BITS, CLASS__BITS, 8, 16},
    {MPI_FLOAT_INT, LOCATION, CLASS__FLOAT, CLASS__BITS, 4, 8},
    {MPI_DOUBLE_INT, LOCATION, CLASS__DOUBLE, CLASS__BITS, 8, 16},
    {MPI_LONG_DOUBLE_INT, LOCATION, CLASS__LONG_DOUBLE, CLASS__BITS, 16, 32},
    {MPI_2REAL, LOCATION, CLASS__FLOAT, CLASS__FLOAT, 4, 8},
    {MPI_2DOUBLE_PRECISION, LOCATION, CLASS__DOUBLE, CLASS__DOUBLE, 8, 16},
};

static const struct {
    MPI_Op op;
    int group;
} ops[] = {
    {MPI_SUM, ARITHMETIC}, {MPI_PROD, ARITHMETIC}, {MPI_MAX, ORDER}, {MPI_MIN, ORDER},
    {MPI_LAND, LOGICAL}, {MPI_LOR, LOGICAL}, {MPI_LXOR, LOGICAL}, {MPI_BAND, BITWISE},
    {MPI_BOR, BITWISE}, {MPI_BXOR, BITWISE}, {MPI_MAXLOC, LOCATION}, {MPI_MINLOC, LOCATION},
};

#define NKINDS ((int) (sizeof(kinds) / sizeof(kinds[0])))
#define NOPS ((int) (sizeof(ops) / sizeof(ops[0])))

int operands_get(int i, struct operands *o)
{
    for (int k = 0; k < NKINDS; k++) {
        for (int j = 0; j < NOPS; j++) {
            /* A Fortran or C type that the compilers lack is null */
            if (kinds[k].type == MPI_DATATYPE_NULL || !(kinds[k].groups & ops[j].group))
                continue;
            if (i-- == 0) {
                o->op = ops[j].op;
                o->type = kinds[k].type;
                return 1;
            }
        }
    }
    return 0;
}

int operands_have_kernel(const struct operands *o)
{
    for (int k = 0; k < NKINDS; k++) {
        if (kinds[k].type == o->type)
            return kinds[k].class != CLASS__LONG_DOUBLE && kinds[k].class != CLASS__QUAD;
    }
    return 0;
}

void operands_draw(struct rng *rng, struct operands *o)
{
    static int n;

    for (; n == 0 || operands_get(n, o); n++);
    operands_get((int) rng_range(rng, 0, n - 1), o);
}

int operands_exact = 0;

/* A value of which a product of all processes stays finite, also in half precision: 1/4 to 2. */
static double value_draw(struct rng *rng)
{
    double value = (double) rng_range(rng, 1 << 18, 1 << 21) / (1 << 20);

    /* Equal values are needed to compare locations, and zeros of both signs */
    if (rng_chance(rng, 30))
        value = (double) rng_range(rng, 0, 2);
    return rng_chance(rng, 50) ? value : -value;
}

/* A value for operands_exact. Complex numbers are (4 + i) / 4 and (4 + 2i) / 4: a product of eight is
 * exact in single precision, and no part of it is 0, whose sign would depend on the order. */
static double exact_draw(struct rng *rng, int is_complex, int is_second)
{
    double value = (double) (1 << rng_range(rng, 0, 1));

    if (is_complex)
        return is_second ? value / 4 : 1;
    if (rng_chance(rng, 30))
        return 0;
    return rng_chance(rng, 50) ? value : -value / 2;
}

/* Write a value, of one byte if it is any. Returns its bytes. */
static int value_put(unsigned char *at, enum class class, struct rng *rng, double d)
{
    float f = (float) d;
    long double ld = d;
    __float128 q = d;
    _Float16 half = (_Float16) d;
    int logical = rng_chance(rng, 50);
    _Bool boolean = logical;

    switch (class) {
#define PUT(class_, value_)                             \
        case class_:                                    \
            memcpy(at, &(value_), sizeof(value_));      \
            return sizeof(value_);
            PUT(CLASS__FLOAT, f)
            PUT(CLASS__DOUBLE, d)
            PUT(CLASS__QUAD, q)
            PUT(CLASS__HALF, half)
            PUT(CLASS__BOOL, boolean)
            PUT(CLASS__LOGICAL, logical)
#undef PUT
        case CLASS__LONG_DOUBLE:
            memcpy(at, &ld, sizeof(ld));
            /* Which process's padding a result has depends on the order */
            if (operands_exact && LDBL_MANT_DIG == 64)
                memset(at + 10, 0, sizeof(ld) - 10);
            return sizeof(ld);
        default:
            /* small numbers are often equal, zero or the negative of each other */
            *at = rng_chance(rng, 40) ? (unsigned char) -rng_range(rng, 0, 1) :
                (unsigned char) rng_next(rng);
            return 1;
    }
}

/* A number for byte i of an element. */
static double number_draw(const struct kind *kind, MPI_Aint size, MPI_Aint i, struct rng *rng)
{
    return operands_exact ? exact_draw(rng, kind->groups & ARITHMETIC && !(kind->groups & ORDER),
                                       i >= size / 2) : value_draw(rng);
}

static void element_fill(unsigned char *at, const struct kind *kind, MPI_Aint size,
                         struct rng *rng)
{
    if (kind->groups == LOCATION) {
        int one = rng_chance(rng, 50) ? 0 : 1;
        MPI_Aint i = value_put(at, kind->class, rng, number_draw(kind, size, 0, rng));
        while (kind->class == CLASS__BITS && i < (kind->type == MPI_SHORT_INT ? 2 : kind->at))
            i += value_put(at + i, kind->class, rng, 0);
        /* Half of the integer values are equal */
        if (kind->class == CLASS__BITS && one)
            memset(at, 0, kind->type == MPI_SHORT_INT ? 2 : kind->at);
        at += kind->at;
        i = value_put(at, kind->second, rng, number_draw(kind, size, 0, rng));
        while (kind->second == CLASS__BITS && i < 4)
            i += value_put(at + i, kind->second, rng, 0);
    } else {
        for (MPI_Aint i = 0; i < size;)
            i += value_put(at + i, kind->class, rng, number_draw(kind, size, i, rng));
    }
}

void operands_fill(struct twin *t, const struct part *p, unsigned seed)
{
    struct rng rng;
    MPI_Aint lb, extent;

    rng_init(&rng, seed);
    twin_scramble(t, seed);
    for (int k = 0; k < NKINDS; k++) {
        if (kinds[k].type != p->type[0])
            continue;
        MPI_Type_get_extent(p->type[0], &lb, &extent);
        for (MPI_Aint at = 0; at < p->hi; at += extent)
            element_fill(twin_at(t, at), &kinds[k], extent, &rng);
        return;
    }
}

void bytes_fill(struct twin *t, const struct part *p, unsigned seed)
{
    (void) p;
    twin_scramble(t, seed);
}

struct affine {
    const unsigned char *in;
    unsigned char *inout;
};

/* A byte stands for the map x -> high * x + low modulo 16; the operation composes two maps. */
static void affine_piece(void *arg, MPI_Aint off, MPI_Aint len, MPI_Datatype basic)
{
    const struct affine *a = arg;

    (void) basic;
    for (MPI_Aint i = off; i < off + len; i++) {
        unsigned f = a->in[i], g = a->inout[i];
        unsigned high = (f >> 4) * (g >> 4), low = (f >> 4) * (g & 15) + (f & 15);
        a->inout[i] = (unsigned char) ((high & 15) << 4 | (low & 15));
    }
}

void op_affine(void *in, void *inout, int *len, MPI_Datatype * type)
{
    struct affine a = { in, inout };
    oracle *map = oracle_create(*type);

    oracle_walk(map, *len, affine_piece, &a);
    oracle_free(map);
}
