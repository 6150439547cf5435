/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Keeps the nodes of a canonicalization, each once, and writes them out as records. Knows no rules:
 * what a node should be is decided before it comes here. */

#include "mpiimpl.h"
#include "gpudt_canon.h"

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

/* Of a list only the ends are used: lists may be long, and seldom differ in between only. */
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

/* Fill in what follows from the children: depth and pieces. */
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

/* Totals of what is reachable from the root. */
struct emit_sums {
    int nrecords;
    int64_t lookaside_sz;
    int nlists;                 /* nodes with lists */
    int list_node;              /* one of them */
    uint64_t bits;
    int64_t block_gcd;
};

/* Give records to a node and to all below it, in pre-order, and add up their needs. */
static void emit_number(struct MPII_Gpudt_canon_s *c, int id, struct emit_sums *sums)
{
    struct MPII_Gpudt_node_s *node = &c->nodes[id];

    if (node->record >= 0)
        return;
    node->record = sums->nrecords++;
    sums->bits |= node->bits;
    if (node->kind == MPII_GPUDT_KIND__BLOCK)
        sums->block_gcd = MPII_Gpudt_gcd(node->size, sums->block_gcd);
    if (node->displ) {
        node->lookaside_off = sums->lookaside_sz;
        sums->lookaside_sz += MPII_Gpudt_lookaside_bytes(node->kind, node->count);
        sums->nlists++;
        sums->list_node = id;
    }
    if (node->child >= 0)
        emit_number(c, node->child, sums);
    if (node->members) {
        for (int64_t i = 0; i < node->count; i++)
            emit_number(c, node->members[i], sums);
    }
}

static void list_move(int64_t * to, const int64_t * from, int64_t n)
{
    if (to != from)
        memmove(to, from, n * sizeof(int64_t));
}

/* Write the record of a node, and its lists unless they are in their place already. */
static void emit_node(const struct MPII_Gpudt_canon_s *c, const struct MPII_Gpudt_node_s *node,
                      int64_t block_gcd, struct MPII_Gpudt_serial *serial)
{
    struct MPII_Gpudt_record *rec = &serial->records[node->record];
    int64_t *out;

    memset(rec, 0, sizeof(*rec));
    rec->kind = node->kind;
    rec->child = -1;
    rec->count = node->count;
    rec->stride = node->stride;
    rec->extent = node->extent;
    rec->size = node->size;
    if (node->child >= 0) {
        rec->child = c->nodes[node->child].record;
        rec->child_size = c->nodes[node->child].size;
    }
    if (block_gcd > 0)
        rec->elements = (node->child >= 0 ? rec->child_size : rec->size) / block_gcd;
    if (node->displ == NULL)
        return;

    rec->lookaside = node->lookaside_off;
    out = (int64_t *) (void *) (serial->lookaside + node->lookaside_off);
    if (node->prefix) {
        list_move(out, node->prefix, node->count + 1);
        out += node->count + 1;
    }
    list_move(out, node->displ, node->count);
    if (node->members) {
        int32_t *child = (int32_t *) (void *) (out + node->count);

        for (int64_t i = 0; i < node->count; i++)
            child[i] = c->nodes[node->members[i]].record;
        if (node->count % 2 == 1)
            child[node->count] = 0;
    }
}

/* Take the heap block of the only list for the lookaside area, instead of copying it: lists of
 * millions of entries are what costs time and memory. Leaves serial->lookaside NULL if the only
 * list cannot be used so. */
static void emit_take_list(struct MPII_Gpudt_canon_s *c, const struct emit_sums *sums,
                           struct MPII_Gpudt_serial *serial)
{
    struct MPII_Gpudt_node_s *node = &c->nodes[sums->list_node];
    char *area = node->owned ? node->owned : c->raw->lookaside;
    int64_t *front = (int64_t *) (void *) area;

    if (sums->nlists != 1 || node->members)
        return;
    /* to the front first, for the block may be moved when it is cut to size */
    if (node->prefix) {
        list_move(front, node->prefix, node->count + 1);
        front += node->count + 1;
    }
    list_move(front, node->displ, node->count);
    if (node->owned)
        node->owned = NULL;
    else
        c->raw->lookaside = NULL;

    serial->lookaside = MPL_realloc(area, sums->lookaside_sz, MPL_MEM_DATATYPE);
    if (serial->lookaside == NULL)
        serial->lookaside = area;
    node->prefix = node->prefix ? (int64_t *) (void *) serial->lookaside : NULL;
    node->displ = (int64_t *) (void *) serial->lookaside + (node->prefix ? node->count + 1 : 0);
}

int MPII_Gpudt_canon_emit(struct MPII_Gpudt_canon_s *c, struct MPII_Gpudt_tree root,
                          struct MPII_Gpudt_serial *serial)
{
    int mpi_errno = MPI_SUCCESS;
    struct emit_sums sums = { 0 };
    const struct MPII_Gpudt_node_s *top = &c->nodes[root.node];

    serial->records = NULL;
    serial->lookaside = NULL;
    MPII_GPUDT_ERR_OVERFLOW(__builtin_add_overflow(root.displ, top->lo, &serial->true_lb),
                            mpi_errno);
    MPII_GPUDT_ERR_OVERFLOW(__builtin_sub_overflow(top->hi, top->lo, &serial->true_extent),
                            mpi_errno);

    emit_number(c, root.node, &sums);
    serial->records = MPL_malloc(sums.nrecords * sizeof(struct MPII_Gpudt_record),
                                 MPL_MEM_DATATYPE);
    MPII_GPUDT_ERR_NOMEM(serial->records == NULL, mpi_errno, "records of a datatype");
    if (sums.nlists > 0)
        emit_take_list(c, &sums, serial);
    if (sums.nlists > 0 && serial->lookaside == NULL) {
        serial->lookaside = MPL_malloc(sums.lookaside_sz, MPL_MEM_DATATYPE);
        MPII_GPUDT_ERR_NOMEM(serial->lookaside == NULL, mpi_errno, "lists of a datatype");
    }

    for (int i = 0; i < c->nnodes; i++) {
        if (c->nodes[i].record >= 0)
            emit_node(c, &c->nodes[i], sums.block_gcd, serial);
    }

    serial->nrecords = sums.nrecords;
    serial->depth = top->depth;
    serial->lookaside_sz = sums.lookaside_sz;
    serial->base_displ = root.displ;
    serial->size = top->size;
    serial->displ_gcd = (int64_t) (sums.bits & (~sums.bits + 1));
    serial->block_gcd = sums.block_gcd;
    serial->nblocks = top->nblocks;

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPL_free(serial->records);
    goto fn_exit;
}
