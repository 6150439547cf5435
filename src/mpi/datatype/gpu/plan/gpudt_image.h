/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * The image of a type: what a device gets of it when it is first used there. Pure functions of the
 * records; must not know MPI, the driver or a plan.
 *
 *     lists | nodes | index
 *
 * lists  the lookaside, with displ[i] - prefix[i] * extent in place of displ[i] in each INDEXED: with
 *        this, child c is at displ[i] + c * extent whichever entry i it is in.
 * nodes  the records as the tree kernels read them, if they are too many to travel with a launch.
 * index  what kernels look up instead of searching the lists:
 *        TABLE  of a small type, the displacement of each unit: int64_t[size / unit]
 *        RANK   of a list of short entries, a bit for each child, set where an entry begins:
 *               MPII_Gpudt_group[], at most 8 bytes an entry, so that an entry takes no more than 24
 *               in all
 *        Types that need no search have none, nor do lists of long entries, where a search for many
 *        units at once costs less than this would take.
 */

#ifndef GPUDT_IMAGE_H_INCLUDED
#define GPUDT_IMAGE_H_INCLUDED

#include "type/gpudt_record.h"
#include "kernel/gpudt_args.h"

enum MPII_Gpudt_index_e {
    MPII_GPUDT_INDEX__NONE,
    MPII_GPUDT_INDEX__TABLE,
    MPII_GPUDT_INDEX__BITMAP      /* of the list that all levels of the type lead to */
};

/* Bytes from the beginning of an image to its parts, and of the whole: 0 if the type needs none. */
struct MPII_Gpudt_image {
    int64_t nodes, index, sz;
    int has_nodes;
    enum MPII_Gpudt_index_e kind;       /* of the index */
};

void MPII_Gpudt_image_measure(const struct MPII_Gpudt_serial *serial,
                              struct MPII_Gpudt_image *image);

/* Where the parts of a type's image are on a device. */
struct MPII_Gpudt_image_at {
    uint64_t lists, nodes, index;       /* device addresses; 0 for what the type has not */
    enum MPII_Gpudt_index_e kind;       /* of the index */
};

/* Find the parts of an image that is at device address mem; all 0 if it is empty. */
void MPII_Gpudt_image_place(const struct MPII_Gpudt_image *image, uint64_t mem,
                            struct MPII_Gpudt_image_at *at);

/* Bytes of the units of a table: a power of two, at most 16. All that a type moves is whole aligned
 * units. */
int64_t MPII_Gpudt_table_unit(const struct MPII_Gpudt_serial *serial);

/* One record as the tree kernels read it, and all of a type: serial->nrecords nodes. */
void MPII_Gpudt_node_set(struct MPII_Gpudt_node *node, const struct MPII_Gpudt_serial *serial,
                         const struct MPII_Gpudt_record *rec);
void MPII_Gpudt_image_nodes(const struct MPII_Gpudt_serial *serial, struct MPII_Gpudt_node *nodes);

/* Make an image, but for a table.
 *   image  (IN)   as measured, not empty
 *   mem    (OUT)  image->sz bytes, aligned to 8 */
void MPII_Gpudt_image_make(const struct MPII_Gpudt_serial *serial,
                           const struct MPII_Gpudt_image *image, char *mem);

/* Make a table: called for all blocks of one datatype in the order of the stream.
 *   at     (IN)  in the first call the index, then what the call before returned
 *   displ  (IN)  of the block, less base_displ
 *   len    (IN)  bytes of the block, whole units */
int64_t *MPII_Gpudt_table_add(int64_t * at, int64_t unit, int64_t displ, int64_t len);

#endif /* GPUDT_IMAGE_H_INCLUDED */
