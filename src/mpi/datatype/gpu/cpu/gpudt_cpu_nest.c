/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Copies nests of blocks. The two innermost levels are one loop for each block size; levels
 * outside of them are counted. If the user's buffer and packed memory do not have the same
 * innermost level, as in a transposition, both are visited in squares whose cache lines are used
 * whole. Must not know records. */

#include "gpudt_cpu_nest.h"
#include "gpudt_cpu_copy.h"
#include "gpudt_cpu_list.h"

/* A loop over two levels, level[0] outside. */
typedef void (*nest_fn) (const struct MPII_Gpudt_cpu_level * level, int64_t size, char *user,
                         char *packed);

/* Blocks of n bytes in a row. With constant strides the compiler makes shuffles of it. */
GPUDT_CPU_INLINE void row_const(char *restrict user, char *restrict packed, int64_t count,
                                const int64_t user_step, const int64_t packed_step,
                                const size_t n, const bool unpack)
{
    int64_t i = 0;

    for (; i + 4 <= count; i += 4) {
        gpudt_cpu_move_const(user, packed, n, unpack);
        gpudt_cpu_move_const(user + user_step, packed + packed_step, n, unpack);
        gpudt_cpu_move_const(user + 2 * user_step, packed + 2 * packed_step, n, unpack);
        gpudt_cpu_move_const(user + 3 * user_step, packed + 3 * packed_step, n, unpack);
        user += 4 * user_step;
        packed += 4 * packed_step;
    }
    for (; i < count; i++) {
        gpudt_cpu_move_const(user, packed, n, unpack);
        user += user_step;
        packed += packed_step;
    }
}

GPUDT_CPU_INLINE void nest_const(const struct MPII_Gpudt_cpu_level *level, char *user,
                                 char *packed, const size_t n, const bool unpack)
{
    const struct MPII_Gpudt_cpu_level out = level[0], in = level[1];
    const bool is_dense = in.packed == (int64_t) n;

    for (int64_t i = 0; i < out.count; i++) {
        if (is_dense && n <= 8 && in.user == 2 * (int64_t) n)
            row_const(user, packed, in.count, 2 * (int64_t) n, (int64_t) n, n, unpack);
        else if (is_dense)
            row_const(user, packed, in.count, in.user, (int64_t) n, n, unpack);
        else
            row_const(user, packed, in.count, in.user, in.packed, n, unpack);
        user += out.user;
        packed += out.packed;
    }
}

GPUDT_CPU_INLINE void nest_any(const struct MPII_Gpudt_cpu_level *level, int64_t size, char *user,
                               char *packed, const bool is_short, const bool unpack)
{
    const struct MPII_Gpudt_cpu_level out = level[0], in = level[1];

    for (int64_t i = 0; i < out.count; i++) {
        char *u = user + i * out.user;
        char *p = packed + i * out.packed;

        for (int64_t j = 0; j < in.count; j++) {
            if (is_short)
                gpudt_cpu_move_short(u, p, (size_t) size, unpack);
            else
                gpudt_cpu_move(u, p, (size_t) size, unpack);
            u += in.user;
            p += in.packed;
        }
    }
}

#ifdef GPUDT_CPU_X86
/* Pack every second word of 8 bytes, four at a time. Reads between blocks, not past the last. */
__attribute__ ((target("avx2")))
static void pack_8_of_16(const struct MPII_Gpudt_cpu_level *level, int64_t size, char *user,
                         char *packed)
{
    const struct MPII_Gpudt_cpu_level out = level[0], in = level[1];

    (void) size;
    for (int64_t i = 0; i < out.count; i++) {
        const char *u = user + i * out.user;
        char *p = packed + i * out.packed;
        int64_t left = in.count;

        for (; left > 4; left -= 4) {
            const __m256d a = _mm256_loadu_pd((const double *) (const void *) u);
            const __m256d b = _mm256_loadu_pd((const double *) (const void *) (u + 32));
            const __m256d even = _mm256_permute4x64_pd(_mm256_unpacklo_pd(a, b), 0xd8);

            _mm256_storeu_pd((double *) (void *) p, even);
            u += 64;
            p += 32;
        }
        row_const((char *) u, p, left, 16, 8, 8, false);
    }
}

static bool has_avx2(void)
{
    return MPII_Gpudt_cpu_vectors && __builtin_cpu_supports("avx2");
}
#endif /* GPUDT_CPU_X86 */

#define NEST_FN(name_, unpack_, body_)                                                  \
    static void name_(const struct MPII_Gpudt_cpu_level *level, int64_t size, char *user,       \
                      char *packed)                                                     \
    {                                                                                   \
        const bool unpack = unpack_;                                                    \
        body_;                                                                          \
    }
#define NEST_CONST(n_)                                                                  \
    NEST_FN(pack_ ## n_, false, (void) size; nest_const(level, user, packed, n_, unpack))       \
    NEST_FN(unpack_ ## n_, true, (void) size; nest_const(level, user, packed, n_, unpack))
GPUDT_CPU_SIZES(NEST_CONST)
NEST_FN(pack_short, false, nest_any(level, size, user, packed, true, unpack))
NEST_FN(unpack_short, true, nest_any(level, size, user, packed, true, unpack))
NEST_FN(pack_long, false, nest_any(level, size, user, packed, false, unpack))
NEST_FN(unpack_long, true, nest_any(level, size, user, packed, false, unpack))

static const nest_fn nest_fns[2][GPUDT_CPU_NSIZES] = {
#define NEST_PACK(n_) pack_ ## n_,
#define NEST_UNPACK(n_) unpack_ ## n_,
    {GPUDT_CPU_SIZES(NEST_PACK) pack_short, pack_long},
    {GPUDT_CPU_SIZES(NEST_UNPACK) unpack_short, unpack_long}
};

/* The loop for the two innermost levels. */
static nest_fn nest_choose(const struct MPII_Gpudt_cpu_level *in, int64_t size, bool unpack)
{
#ifdef GPUDT_CPU_X86
    if (size == 8 && in->user == 16 && in->packed == 8 && !unpack && has_avx2())
        return pack_8_of_16;
#endif
    return nest_fns[unpack][gpudt_cpu_size_class(size)];
}

/* A square has whole cache lines of both sides, but not so many that lines of one set of a cache
 * evict each other: at strides of a power of two all lines of one side share a set. It has fewer
 * lines of the side that is written, which is then written in few streams. */
#define LINE 64
#define SQUARE_WRITTEN 8
#define SQUARE_READ 16

static int64_t distance(int64_t stride)
{
    return stride < 0 ? -stride : stride;
}

/* The levels of a nest but for two, one inside the other. */
struct outer {
    struct MPII_Gpudt_cpu_level level[MPII_GPUDT_CPU_LEVELS];
    int64_t at[MPII_GPUDT_CPU_LEVELS];
    int n;
};

/* Step to the next place of the outer levels; false after the last. */
static bool outer_next(struct outer *o, char **user, char **packed)
{
    for (int i = o->n - 1; i >= 0; i--) {
        *user += o->level[i].user;
        *packed += o->level[i].packed;
        if (++o->at[i] < o->level[i].count)
            return true;
        *user -= o->level[i].count * o->level[i].user;
        *packed -= o->level[i].count * o->level[i].packed;
        o->at[i] = 0;
    }
    return false;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Squares of two levels, one after the other in the direction in which memory is written. `across`
 * is innermost in the user's buffer, `along` in packed memory. */
static void squares(nest_fn fn, const struct MPII_Gpudt_cpu_level *across,
                    const struct MPII_Gpudt_cpu_level *along, int64_t size, char *user,
                    char *packed, bool unpack)
{
    const struct MPII_Gpudt_cpu_level *slow = unpack ? along : across;
    const struct MPII_Gpudt_cpu_level *fast = unpack ? across : along;

    for (int64_t i = 0; i < slow->count; i += SQUARE_WRITTEN) {
        for (int64_t j = 0; j < fast->count; j += SQUARE_READ) {
            struct MPII_Gpudt_cpu_level level[2] = { *slow, *fast };

            level[0].count = least(slow->count - i, SQUARE_WRITTEN);
            level[1].count = least(fast->count - j, SQUARE_READ);
            fn(level, size, user + i * slow->user + j * fast->user,
               packed + i * slow->packed + j * fast->packed);
        }
    }
}

/* Whether two levels are better visited in squares than one after the other. */
static bool is_transposed(const struct MPII_Gpudt_cpu_level *across,
                          const struct MPII_Gpudt_cpu_level *along, int64_t size)
{
    return size < LINE && distance(across->user) < LINE && distance(along->user) >= LINE &&
        across->count > 1 && along->count > SQUARE_WRITTEN;
}

void MPII_Gpudt_cpu_nest(const struct MPII_Gpudt_cpu_level *level, int nlevels, int64_t size,
                         char *user, char *packed, bool unpack)
{
    const nest_fn fn = nest_choose(&level[nlevels - 1], size, unpack);
    struct outer outer;
    int across = 0;
    bool is_turned;

    if (nlevels <= 2) {
        struct MPII_Gpudt_cpu_level one[2] = { {1, 0, 0}, level[0] };

        if (nlevels == 1)
            fn(one, size, user, packed);
        else if (is_transposed(&level[0], &level[1], size))
            squares(fn, &level[0], &level[1], size, user, packed, unpack);
        else
            fn(level, size, user, packed);
        return;
    }

    /* The level beside the innermost one: the nearest in the buffer, if that makes a difference */
    for (int i = 1; i < nlevels - 1; i++) {
        if (distance(level[i].user) < distance(level[across].user))
            across = i;
    }
    is_turned = is_transposed(&level[across], &level[nlevels - 1], size);
    if (!is_turned)
        across = nlevels - 2;
    outer.n = 0;
    for (int i = 0; i < nlevels - 1; i++) {
        if (i != across) {
            outer.level[outer.n] = level[i];
            outer.at[outer.n++] = 0;
        }
    }
    do {
        if (is_turned) {
            squares(fn, &level[across], &level[nlevels - 1], size, user, packed, unpack);
        } else {
            fn(&level[nlevels - 2], size, user, packed);
        }
    } while (outer_next(&outer, &user, &packed));
}
