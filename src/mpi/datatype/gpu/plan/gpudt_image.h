/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * The *image* of a type: its copy in the memory of a device, made when the type is first used
 * there. Pure functions of the records; must not know MPI, the driver or a plan.
 *
 *     lists | nodes | index
 *
 * lists the lookaside, with displ[i] replaced by displ[i] - prefix[i] * extent in each INDEXED.
 * Child
 *        c is then at displ[i] + c * extent, whichever entry i it belongs to.
 * nodes the records as the tree kernels read them, if they are too many for the launch parameters.
 * index what kernels look up instead of searching the lists:
 *        TABLE   of a small type: the displacement of each unit, int64_t[size / unit]
 *        BITMAP  of a list of short entries: a bit for each child, set where an entry begins,
 *                MPII_Gpudt_group[]. At most 8 bytes an entry, for a total of at most 24 bytes an
 *                entry.
 *        Types that need no search have no index. Neither have lists of long entries: one search
 *        for many units at once costs less than reading an index.
 */

#ifndef GPUDT_IMAGE_H_INCLUDED
#define GPUDT_IMAGE_H_INCLUDED

#include "type/gpudt_record.h"
#include "kernel/gpudt_args.h"

enum MPII_Gpudt_index_e {
    MPII_GPUDT_INDEX__NONE,
    MPII_GPUDT_INDEX__TABLE,
    MPII_GPUDT_INDEX__BITMAP      /* of the list below all strides and lists of equal children */
};

/* Byte offsets of an image's parts, and its size: 0 if the type needs no image. */
struct MPII_Gpudt_image {
    int64_t nodes, index, sz;
    int has_nodes;
    enum MPII_Gpudt_index_e kind;       /* of the index */
};

void MPII_Gpudt_image_measure(const struct MPII_Gpudt_serial *serial,
                              struct MPII_Gpudt_image *image);

/* Device addresses of the parts of a type's image. */
struct MPII_Gpudt_image_at {
    uint64_t lists, nodes, index;       /* 0 for parts that the type does not have */
    enum MPII_Gpudt_index_e kind;       /* of the index */
};

/* Compute the addresses of an image's parts, for an image at device address mem; all 0 if the image
 * is empty. */
void MPII_Gpudt_image_place(const struct MPII_Gpudt_image *image, uint64_t mem,
                            struct MPII_Gpudt_image_at *at);

/* Bytes of the units of a table: a power of two, at most 16. Every block of the type consists of
 * whole aligned units. */
int64_t MPII_Gpudt_table_unit(const struct MPII_Gpudt_serial *serial);

/* Convert one record to the form that the tree kernels read; all records of a type. */
void MPII_Gpudt_node_set(struct MPII_Gpudt_node *node, const struct MPII_Gpudt_serial *serial,
                         const struct MPII_Gpudt_record *rec);
void MPII_Gpudt_image_nodes(const struct MPII_Gpudt_serial *serial, struct MPII_Gpudt_node *nodes);

/* Make an image, except for a table.
 *   image  (IN)   as measured, not empty
 *   mem    (OUT)  image->sz bytes, aligned to 8 */
void MPII_Gpudt_image_make(const struct MPII_Gpudt_serial *serial,
                           const struct MPII_Gpudt_image *image, char *mem);

/* Make a table: called for all blocks of one datatype in stream order.
 *   at     (IN)  the index in the first call, then the previous return value
 *   displ  (IN)  of the block, without base_displ
 *   len    (IN)  bytes of the block, whole units */
int64_t *MPII_Gpudt_table_add(int64_t * at, int64_t unit, int64_t displ, int64_t len);

#endif /* GPUDT_IMAGE_H_INCLUDED */
