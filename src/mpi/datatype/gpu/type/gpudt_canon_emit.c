/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Writes the nodes of a canonicalization as records. Knows no rules. */

#include "mpiimpl.h"
#include "gpudt_canon_emit.h"
#include "gpudt_error.h"
#include "gpudt_gcd.h"

/* Totals of what is reachable from the root. */
struct emit_sums {
    int nrecords;
    int64_t lookaside_sz;
    int nlists;                 /* nodes with lists */
    int list_node;              /* one of them */
    uint64_t bits;
    int64_t block_gcd;
};

/* Assign records to a node and all nodes below it, in pre-order, and add up the space they need. */
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

/* Write the record of a node, and its lists unless they are in place already. */
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

/* Use the heap block of the only list as the lookaside, instead of copying it: lists of millions of
 * entries dominate time and memory. Leaves serial->lookaside NULL if the only list cannot be used
 * this way. */
static void emit_take_list(struct MPII_Gpudt_canon_s *c, const struct emit_sums *sums,
                           struct MPII_Gpudt_serial *serial)
{
    struct MPII_Gpudt_node_s *node = &c->nodes[sums->list_node];
    char *area = node->owned ? node->owned : c->raw->lookaside;
    int64_t *front = (int64_t *) (void *) area;

    if (sums->nlists != 1 || node->members)
        return;
    /* move the list to the front first, since shrinking the block may move it */
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
