/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

#include <string.h>

#include "gpudt_image.h"
#include "gpudt_divisor.h"

#define MAX_UNIT 16             /* bytes that a kernel moves at a time, at most */

/* The record below all strides and lists of equal children. */
static const struct MPII_Gpudt_record *leaf_find(const struct MPII_Gpudt_serial *serial)
{
    const struct MPII_Gpudt_record *rec = serial->records;

    while (rec->kind == MPII_GPUDT_KIND__VECTOR || rec->kind == MPII_GPUDT_KIND__BLKINDEXED)
        rec = serial->records + rec->child;
    return rec;
}

int64_t MPII_Gpudt_table_unit(const struct MPII_Gpudt_serial *serial)
{
    const int64_t all = serial->displ_gcd | serial->block_gcd | MAX_UNIT;

    return all & -all;          /* the largest power of two that divides them */
}

/* Children of all entries of a list. */
static int64_t children(const struct MPII_Gpudt_record *leaf)
{
    return leaf->size / leaf->child_size;
}

static enum MPII_Gpudt_index_e index_kind(const struct MPII_Gpudt_serial *serial)
{
    const struct MPII_Gpudt_record *leaf = leaf_find(serial);

    if (leaf->kind == MPII_GPUDT_KIND__BLOCK)
        return MPII_GPUDT_INDEX__NONE;
    if (serial->size / MPII_Gpudt_table_unit(serial) <= MPII_GPUDT_MAX_TABLE)
        return MPII_GPUDT_INDEX__TABLE;
    if (leaf->kind == MPII_GPUDT_KIND__INDEXED && leaf->count <= INT32_MAX &&
        serial->records[leaf->child].kind == MPII_GPUDT_KIND__BLOCK &&
        children(leaf) / 32 < leaf->count)
        return MPII_GPUDT_INDEX__BITMAP;
    return MPII_GPUDT_INDEX__NONE;
}

static int64_t group_count(const struct MPII_Gpudt_record *leaf)
{
    return children(leaf) / 32 + 2;     /* kernels may read beyond the last child */
}

void MPII_Gpudt_image_measure(const struct MPII_Gpudt_serial *serial,
                              struct MPII_Gpudt_image *image)
{
    image->kind = index_kind(serial);
    image->has_nodes = serial->nrecords > MPII_GPUDT_MAX_NODES;
    image->nodes = serial->lookaside_sz;
    image->index = image->nodes;
    if (image->has_nodes)
        image->index += serial->nrecords * (int64_t) sizeof(struct MPII_Gpudt_node);
    image->sz = image->index;
    if (image->kind == MPII_GPUDT_INDEX__TABLE)
        image->sz += serial->size / MPII_Gpudt_table_unit(serial) * (int64_t) sizeof(int64_t);
    else if (image->kind == MPII_GPUDT_INDEX__BITMAP)
        image->sz += group_count(leaf_find(serial)) * (int64_t) sizeof(struct MPII_Gpudt_group);
}

void MPII_Gpudt_image_place(const struct MPII_Gpudt_image *image, uint64_t mem,
                            struct MPII_Gpudt_image_at *at)
{
    at->lists = mem;
    at->nodes = image->has_nodes ? mem + (uint64_t) image->nodes : 0;
    at->index = image->kind != MPII_GPUDT_INDEX__NONE ? mem + (uint64_t) image->index : 0;
    at->kind = image->kind;
}

/* Make displacements relative to the first child of the list instead of the first of the entry. */
static void displ_rebase(const struct MPII_Gpudt_record *rec, char *lookaside)
{
    const int64_t *prefix = MPII_Gpudt_record_prefix(rec, lookaside);
    int64_t *displ = (int64_t *) MPII_Gpudt_record_displ(rec, lookaside);

    /* May wrap; adding the child's offset wraps back */
    for (int64_t i = 0; i < rec->count; i++)
        displ[i] = (int64_t) ((uint64_t) displ[i] - (uint64_t) prefix[i] * (uint64_t) rec->extent);
}

static void bitmap_make(const struct MPII_Gpudt_serial *serial, struct MPII_Gpudt_group *group)
{
    const struct MPII_Gpudt_record *leaf = leaf_find(serial);
    const int64_t *prefix = MPII_Gpudt_record_prefix(leaf, serial->lookaside);
    const int64_t ngroups = group_count(leaf);
    int32_t entry = 0;

    for (int64_t g = 0; g < ngroups; g++) {
        group[g].begins = 0;
        group[g].before = entry - 1;
        for (; entry < leaf->count && prefix[entry] < (g + 1) * 32; entry++)
            group[g].begins |= (uint32_t) 1 << (prefix[entry] - g * 32);
    }
}

/* Whether each entry of a list is one run. */
static int is_runs(const struct MPII_Gpudt_serial *serial, const struct MPII_Gpudt_record *rec)
{
    return rec->kind == MPII_GPUDT_KIND__INDEXED && rec->extent == rec->child_size &&
        serial->records[rec->child].kind == MPII_GPUDT_KIND__BLOCK;
}

void MPII_Gpudt_node_set(struct MPII_Gpudt_node *node, const struct MPII_Gpudt_serial *serial,
                         const struct MPII_Gpudt_record *rec)
{
    memset(node, 0, sizeof(*node));
    node->kind = is_runs(serial, rec) ? MPII_GPUDT_KIND__RUNS : rec->kind;
    node->child = rec->child;
    node->count = rec->count;
    node->step = rec->kind == MPII_GPUDT_KIND__VECTOR ? rec->stride : rec->extent;
    node->child_size = rec->child_size;
    node->size = rec->size;
    node->lookaside = rec->lookaside;
    MPII_Gpudt_divisor_set(&node->div, rec->child_size > 0 ? rec->child_size : 1);
}

void MPII_Gpudt_image_nodes(const struct MPII_Gpudt_serial *serial, struct MPII_Gpudt_node *nodes)
{
    for (int i = 0; i < serial->nrecords; i++)
        MPII_Gpudt_node_set(&nodes[i], serial, &serial->records[i]);
}

void MPII_Gpudt_image_make(const struct MPII_Gpudt_serial *serial,
                           const struct MPII_Gpudt_image *image, char *mem)
{
    if (serial->lookaside_sz > 0)
        memcpy(mem, serial->lookaside, (size_t) serial->lookaside_sz);
    for (int i = 0; i < serial->nrecords; i++) {
        if (serial->records[i].kind == MPII_GPUDT_KIND__INDEXED)
            displ_rebase(&serial->records[i], mem);
    }
    if (image->has_nodes)
        MPII_Gpudt_image_nodes(serial, (struct MPII_Gpudt_node *) (void *) (mem + image->nodes));
    if (image->kind == MPII_GPUDT_INDEX__BITMAP)
        bitmap_make(serial, (struct MPII_Gpudt_group *) (void *) (mem + image->index));
}

int64_t *MPII_Gpudt_table_add(int64_t * at, int64_t unit, int64_t displ, int64_t len)
{
    for (int64_t i = 0; i < len; i += unit)
        *at++ = displ + i;
    return at;
}
