/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Lists, and the rule that joins entries that continue each other. */

#ifndef GPUDT_CANON_JOIN_H_INCLUDED
#define GPUDT_CANON_JOIN_H_INCLUDED

#include <stdint.h>

/* A list before it becomes a node. Its arrays may be rewritten in place. */
struct MPII_Gpudt_list {
    int64_t n;                  /* entries */
    int64_t *prefix;            /* prefix[n + 1], children before an entry; NULL: all have len */
    int64_t len;
    int64_t extent;             /* bytes between children of an entry */
    int64_t *displ;             /* displ[n] */
    int child;                  /* a node */
    void *owned;                /* heap block that holds the arrays, or NULL */
};

/* Properties of a list after its entries have been joined. */
struct MPII_Gpudt_list_shape {
    int64_t total;              /* children in all entries */
    int64_t divisor;            /* greatest common divisor of the lengths */
};

/* Drop empty entries, and join those that continue each other. Lengths vary: list->prefix is not
 * NULL. */
int MPII_Gpudt_list_join(struct MPII_Gpudt_list *list, struct MPII_Gpudt_list_shape *shape);

/* The same for a list whose entries have one length. The list is kept as it is if joining would not
 * make it smaller; otherwise it gets new arrays, and lengths per entry. list->n is not 0. */
int MPII_Gpudt_list_join_equal(struct MPII_Gpudt_list *list, struct MPII_Gpudt_list_shape *shape);

#endif /* GPUDT_CANON_JOIN_H_INCLUDED */
