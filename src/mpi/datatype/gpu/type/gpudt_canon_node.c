/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Stores the nodes of a canonicalization, each once. Knows no rules: callers decide what a node
 * should be. */

#include "mpiimpl.h"
#include "gpudt_canon_node.h"
#include "gpudt_error.h"

static uint64_t hash_mix(uint64_t hash, int64_t value);
static uint64_t node_hash(const struct MPII_Gpudt_node_s *node);
static bool node_equal(const struct MPII_Gpudt_node_s *a, const struct MPII_Gpudt_node_s *b);
static int nodes_grow(struct MPII_Gpudt_canon_s *c);

void MPII_Gpudt_canon_init(struct MPII_Gpudt_canon_s *c, struct MPII_Gpudt_raw *raw)
{
    c->raw = raw;
    c->trees = c->inline_trees;
    c->nodes = c->inline_nodes;
    c->nnodes = 0;
    c->max_nodes = MPII_GPUDT_CANON_INLINE;
    c->buckets = c->inline_buckets;
    c->nbuckets = MPII_GPUDT_CANON_BUCKETS;
    for (int i = 0; i < c->nbuckets; i++)
        c->buckets[i] = -1;
}

void MPII_Gpudt_canon_finalize(struct MPII_Gpudt_canon_s *c)
{
    for (int i = 0; i < c->nnodes; i++)
        MPL_free(c->nodes[i].owned);
    if (c->nodes != c->inline_nodes)
        MPL_free(c->nodes);
    if (c->buckets != c->inline_buckets)
        MPL_free(c->buckets);
    if (c->trees != c->inline_trees)
        MPL_free(c->trees);
}

static uint64_t hash_mix(uint64_t hash, int64_t value)
{
    hash = (hash ^ (uint64_t) value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

/* Hashes only the ends of a list: lists may be long, and those that differ only in between are
 * rare. */
static uint64_t node_hash(const struct MPII_Gpudt_node_s *node)
{
    uint64_t hash = hash_mix(node->kind, node->child);

    hash = hash_mix(hash, node->count);
    hash = hash_mix(hash, node->stride);
    hash = hash_mix(hash, node->extent);
    hash = hash_mix(hash, node->size);
    if (node->displ)
        hash = hash_mix(hash_mix(hash, node->displ[1]), node->displ[node->count - 1]);
    if (node->members)
        hash = hash_mix(hash_mix(hash, node->members[0]), node->members[node->count - 1]);
    return hash;
}

static bool node_equal(const struct MPII_Gpudt_node_s *a, const struct MPII_Gpudt_node_s *b)
{
    if (a->kind != b->kind || a->child != b->child || a->count != b->count ||
        a->stride != b->stride || a->extent != b->extent || a->size != b->size)
        return false;
    if (a->prefix && memcmp(a->prefix, b->prefix, (a->count + 1) * sizeof(int64_t)) != 0)
        return false;
    if (a->displ && memcmp(a->displ, b->displ, a->count * sizeof(int64_t)) != 0)
        return false;
    if (a->members && memcmp(a->members, b->members, a->count * sizeof(int32_t)) != 0)
        return false;
    return true;
}

static int nodes_grow(struct MPII_Gpudt_canon_s *c)
{
    int mpi_errno = MPI_SUCCESS;
    bool first = c->nodes == c->inline_nodes;
    int *buckets = NULL;
    struct MPII_Gpudt_node_s *nodes;

    MPII_GPUDT_ERR_OVERFLOW(c->max_nodes > INT32_MAX / 8, mpi_errno);
    nodes = MPL_realloc(first ? NULL : c->nodes, 2 * c->max_nodes * sizeof(*nodes),
                        MPL_MEM_DATATYPE);
    MPII_GPUDT_ERR_NOMEM(nodes == NULL, mpi_errno, "canonical nodes");
    if (first)
        memcpy(nodes, c->inline_nodes, sizeof(c->inline_nodes));
    c->nodes = nodes;
    c->max_nodes *= 2;

    if (c->max_nodes > c->nbuckets) {
        buckets = MPL_malloc(4 * c->nbuckets * sizeof(int), MPL_MEM_DATATYPE);
        MPII_GPUDT_ERR_NOMEM(buckets == NULL, mpi_errno, "table of canonical nodes");
        if (c->buckets != c->inline_buckets)
            MPL_free(c->buckets);
        c->buckets = buckets;
        c->nbuckets *= 4;
        for (int i = 0; i < c->nbuckets; i++)
            buckets[i] = -1;
        for (int i = 0; i < c->nnodes; i++) {
            int *bucket = &buckets[node_hash(&nodes[i]) & (c->nbuckets - 1)];

            nodes[i].next = *bucket;
            *bucket = i;
        }
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Fill in the fields that follow from the children: depth and pieces. */
static void node_derive(const struct MPII_Gpudt_canon_s *c, struct MPII_Gpudt_node_s *draft)
{
    const struct MPII_Gpudt_node_s *child = draft->child >= 0 ? &c->nodes[draft->child] : NULL;

    draft->depth = child ? child->depth + 1 : 1;
    switch (draft->kind) {
        case MPII_GPUDT_KIND__VECTOR:
        case MPII_GPUDT_KIND__BLKINDEXED:
            draft->nblocks = draft->count * child->nblocks;
            break;
        case MPII_GPUDT_KIND__INDEXED:
            if (MPII_Gpudt_is_run(child, draft->extent))
                draft->nblocks = draft->count;
            else
                draft->nblocks = draft->prefix[draft->count] * child->nblocks;
            break;
        case MPII_GPUDT_KIND__STRUCT:
            draft->nblocks = 0;
            for (int64_t i = 0; i < draft->count; i++) {
                const struct MPII_Gpudt_node_s *member = &c->nodes[draft->members[i]];

                draft->nblocks += member->nblocks;
                draft->depth = MPL_MAX(draft->depth, member->depth + 1);
            }
            break;
        default:
            draft->nblocks = draft->size > 0;
    }
}

int MPII_Gpudt_node_make(struct MPII_Gpudt_canon_s *c, struct MPII_Gpudt_node_s *draft, int *node)
{
    int mpi_errno = MPI_SUCCESS;
    uint64_t hash = node_hash(draft);

    for (int i = c->buckets[hash & (c->nbuckets - 1)]; i >= 0; i = c->nodes[i].next) {
        if (node_equal(draft, &c->nodes[i])) {
            MPL_free(draft->owned);
            *node = i;
            goto fn_exit;
        }
    }

    if (c->nnodes == c->max_nodes) {
        mpi_errno = nodes_grow(c);
        MPII_GPUDT_ERR_CHECK(mpi_errno);
    }
    node_derive(c, draft);
    draft->record = -1;
    draft->next = c->buckets[hash & (c->nbuckets - 1)];
    c->buckets[hash & (c->nbuckets - 1)] = c->nnodes;
    c->nodes[c->nnodes] = *draft;
    *node = c->nnodes++;

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPL_free(draft->owned);
    goto fn_exit;
}
