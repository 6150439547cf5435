/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Executes canonical records on host memory: splits a byte range into whole subtrees, and those
 * into nests and lists of blocks. Must not know MPI. */

#include "gpudt_cpu.h"
#include "gpudt_cpu_copy.h"
#include "gpudt_cpu_list.h"
#include "gpudt_cpu_nest.h"

/* Bytes of the user's buffer that are visited member by member: they stay in the first cache. */
#define TILE_BYTES (16 * 1024)

/* A list of at most this many entries that is repeated is visited entry by entry. */
#define FEW_ENTRIES 64

/* Repetitions from which on that is better. */
#define MANY_COPIES 8

struct move {
    const struct MPII_Gpudt_serial *serial;
    bool unpack;
};

typedef struct MPII_Gpudt_cpu_level level_t;

/* What begins where in the lists of a record: entry i at byte (prefix ? prefix[i] : i) * unit. */
struct entries {
    const struct MPII_Gpudt_record *rec;
    const int64_t *prefix;      /* NULL: BLKINDEXED */
    const int64_t *displ;
    int64_t unit;
};

static void range_move(const struct move *m, const struct MPII_Gpudt_record *rec, int64_t first,
                       int64_t last, char *user, char *packed);
static void whole_move(const struct move *m, const struct MPII_Gpudt_record *rec,
                       const level_t * level, int nlevels, char *user, char *packed);

void MPII_Gpudt_cpu_move(const struct MPII_Gpudt_serial *serial,
                         const struct MPII_Gpudt_record *top, int64_t first, int64_t last,
                         char *user, char *packed, bool unpack)
{
    const struct move m = {.serial = serial,.unpack = unpack };
    const struct MPII_Gpudt_record *child = serial->records + top->child;

    /* what is short is often this: no time for the general case */
    if (top->kind == MPII_GPUDT_KIND__VECTOR && child->kind == MPII_GPUDT_KIND__BLOCK &&
        first == 0 && last == top->size) {
        const level_t level = { top->count, top->stride, child->size };

        MPII_Gpudt_cpu_nest(&level, 1, child->size, user + serial->base_displ, packed, unpack);
    } else if (first < last)
        range_move(&m, top, first, last, user + serial->base_displ, packed);
}

static void bytes_move(const struct move *m, int64_t n, char *user, char *packed)
{
    if (m->unpack)
        gpudt_cpu_move_any(user, packed, (size_t) n, true);
    else
        gpudt_cpu_move_any(user, packed, (size_t) n, false);
}

static struct entries entries_of(const struct move *m, const struct MPII_Gpudt_record *rec)
{
    const char *lookaside = m->serial->lookaside;
    struct entries e = {.rec = rec,.prefix = NULL,.unit = rec->child_size };

    e.displ = MPII_Gpudt_record_displ(rec, lookaside);
    if (rec->kind != MPII_GPUDT_KIND__BLKINDEXED)
        e.prefix = MPII_Gpudt_record_prefix(rec, lookaside);
    if (rec->kind == MPII_GPUDT_KIND__STRUCT)
        e.unit = 1;
    return e;
}

static int64_t entry_begin(const struct entries *e, int64_t i)
{
    return (e->prefix ? e->prefix[i] : i) * e->unit;
}

/* The entry that contains a position of the stream. */
static int64_t entry_find(const struct entries *e, int64_t pos)
{
    const int64_t at = pos / e->unit;
    int64_t low = 0, high = e->rec->count;

    if (e->prefix == NULL)
        return at;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;

        if (e->prefix[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Entry i, repeated. */
static void entry_move(const struct move *m, const struct entries *e, int64_t i,
                       const level_t * level, int nlevels, char *user, char *packed)
{
    const struct MPII_Gpudt_record *rec = e->rec, *records = m->serial->records;
    level_t more[2];

    user += e->displ[i];
    if (rec->kind == MPII_GPUDT_KIND__STRUCT) {
        const int32_t *member = MPII_Gpudt_record_members(rec, m->serial->lookaside);

        whole_move(m, records + member[i], level, nlevels, user, packed);
    } else if (rec->kind == MPII_GPUDT_KIND__BLKINDEXED) {
        whole_move(m, records + rec->child, level, nlevels, user, packed);
    } else {
        /* at most one level is above a list here */
        if (nlevels)
            more[0] = level[0];
        more[nlevels].count = e->prefix[i + 1] - e->prefix[i];
        more[nlevels].user = rec->extent;
        more[nlevels].packed = rec->child_size;
        whole_move(m, records + rec->child, more, nlevels + 1, user, packed);
    }
}

/* Whether each entry of an INDEXED is one contiguous run. */
static bool is_runs(const struct MPII_Gpudt_record *rec, const struct MPII_Gpudt_record *child)
{
    return child->kind == MPII_GPUDT_KIND__BLOCK && rec->extent == rec->child_size;
}

/* Entries [begin, end) of lists, whole. */
static void entries_move(const struct move *m, const struct entries *e, int64_t begin, int64_t end,
                         char *user, char *packed)
{
    const struct MPII_Gpudt_record *rec = e->rec;
    const struct MPII_Gpudt_record *child = m->serial->records + rec->child;
    const int64_t start = entry_begin(e, begin);

    if (rec->kind == MPII_GPUDT_KIND__BLKINDEXED && child->kind == MPII_GPUDT_KIND__BLOCK) {
        MPII_Gpudt_cpu_list(e->displ + begin, end - begin, child->size, user, packed, m->unpack);
    } else if (rec->kind == MPII_GPUDT_KIND__INDEXED && is_runs(rec, child)) {
        MPII_Gpudt_cpu_runs(e->displ + begin, e->prefix + begin, end - begin, e->unit, user,
                            packed, m->unpack);
    } else {
        for (int64_t i = begin; i < end; i++)
            entry_move(m, e, i, NULL, 0, user, packed + entry_begin(e, i) - start);
    }
}

/* A list or struct, `level` times. Each entry of many copies is a nest of its own, as far as the
 * copies stay in the cache for the next entry. */
static void entries_repeat(const struct move *m, const struct entries *e, const level_t * level,
                           char *user, char *packed)
{
    const int64_t apart = level->user < 0 ? -level->user : level->user;
    level_t tile = *level;

    tile.count = apart > 0 && TILE_BYTES / apart < level->count ? TILE_BYTES / apart :
        level->count;
    if (e->rec->count > FEW_ENTRIES || tile.count < MANY_COPIES)
        tile.count = 1;
    for (int64_t i = 0; i < level->count; i += tile.count) {
        char *u = user + i * level->user;
        char *p = packed + i * level->packed;

        if (tile.count == 1) {
            entries_move(m, e, 0, e->rec->count, u, p);
            continue;
        }
        if (level->count - i < tile.count)
            tile.count = level->count - i;
        for (int64_t j = 0; j < e->rec->count; j++)
            entry_move(m, e, j, &tile, 1, u, p + entry_begin(e, j));
    }
}

/* All of a record's stream, repeated. Levels come from VECTORs above it. */
static void whole_move(const struct move *m, const struct MPII_Gpudt_record *rec,
                       const level_t * level, int nlevels, char *user, char *packed)
{
    level_t nest[MPII_GPUDT_CPU_LEVELS];
    struct entries e;

    for (int i = 0; i < nlevels; i++)
        nest[i] = level[i];
    for (; rec->kind == MPII_GPUDT_KIND__VECTOR && nlevels < MPII_GPUDT_CPU_LEVELS;
         rec = m->serial->records + rec->child) {
        nest[nlevels].count = rec->count;
        nest[nlevels].user = rec->stride;
        nest[nlevels++].packed = rec->child_size;
    }
    if (rec->kind == MPII_GPUDT_KIND__BLOCK) {
        if (nlevels == 0)
            bytes_move(m, rec->size, user, packed);
        else
            MPII_Gpudt_cpu_nest(nest, nlevels, rec->size, user, packed, m->unpack);
    } else if (nlevels > 1 || rec->kind == MPII_GPUDT_KIND__VECTOR) {
        for (int64_t i = 0; i < nest[0].count; i++)
            whole_move(m, rec, nest + 1, nlevels - 1, user + i * nest[0].user,
                       packed + i * nest[0].packed);
    } else {
        e = entries_of(m, rec);
        if (nlevels == 0)
            entries_move(m, &e, 0, rec->count, user, packed);
        else
            entries_repeat(m, &e, nest, user, packed);
    }
}

/* A range of the stream of children at a constant stride. */
static void stride_range(const struct move *m, const struct MPII_Gpudt_record *child,
                         int64_t stride, int64_t first, int64_t last, char *user, char *packed)
{
    const int64_t size = child->size;
    int64_t i = first / size, end = last / size, at = first;

    if (i * size < at) {
        const int64_t to = i < end ? (i + 1) * size : last;

        range_move(m, child, at - i * size, to - i * size, user + i * stride, packed);
        at = to;
        i++;
    }
    if (i < end) {
        const level_t level = { end - i, stride, size };

        whole_move(m, child, &level, 1, user + i * stride, packed + at - first);
        at = end * size;
        i = end;
    }
    if (at < last)
        range_move(m, child, 0, last - at, user + i * stride, packed + at - first);
}

/* Bytes [from, to) of entry i. */
static void entry_range(const struct move *m, const struct entries *e, int64_t i, int64_t from,
                        int64_t to, char *user, char *packed)
{
    const struct MPII_Gpudt_record *rec = e->rec, *records = m->serial->records;

    user += e->displ[i];
    if (rec->kind == MPII_GPUDT_KIND__STRUCT)
        range_move(m, records + MPII_Gpudt_record_members(rec, m->serial->lookaside)[i], from, to,
                   user, packed);
    else if (rec->kind == MPII_GPUDT_KIND__BLKINDEXED)
        range_move(m, records + rec->child, from, to, user, packed);
    else if (is_runs(rec, records + rec->child))
        bytes_move(m, to - from, user + from, packed);
    else
        stride_range(m, records + rec->child, rec->extent, from, to, user, packed);
}

static void entries_range(const struct move *m, const struct entries *e, int64_t first,
                          int64_t last, char *user, char *packed)
{
    int64_t i = entry_find(e, first), at = first, begin = entry_begin(e, i);
    const int64_t end = last == e->rec->size ? e->rec->count : entry_find(e, last);

    if (begin < at) {
        const int64_t to = i < end ? entry_begin(e, i + 1) : last;

        entry_range(m, e, i, at - begin, to - begin, user, packed);
        at = to;
        i++;
    }
    if (i < end) {
        entries_move(m, e, i, end, user, packed + at - first);
        at = entry_begin(e, end);
    }
    if (at < last)
        entry_range(m, e, end, 0, last - at, user, packed + at - first);
}

/* Bytes [first, last) of a record's stream, which is not empty. */
static void range_move(const struct move *m, const struct MPII_Gpudt_record *rec, int64_t first,
                       int64_t last, char *user, char *packed)
{
    struct entries e;

    if (rec->kind == MPII_GPUDT_KIND__BLOCK) {
        bytes_move(m, last - first, user + first, packed);
    } else if (first == 0 && last == rec->size) {
        whole_move(m, rec, NULL, 0, user, packed);
    } else if (rec->kind == MPII_GPUDT_KIND__VECTOR) {
        stride_range(m, m->serial->records + rec->child, rec->stride, first, last, user, packed);
    } else {
        e = entries_of(m, rec);
        entries_range(m, &e, first, last, user, packed);
    }
}
