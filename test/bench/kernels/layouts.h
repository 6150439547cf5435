/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * The data layouts of the kernel benchmark: canonical records built by hand, and a plain
 * enumeration of the same blocks that is independent of the records. Must not know the driver.
 */

#ifndef LAYOUTS_H_INCLUDED
#define LAYOUTS_H_INCLUDED

#include "type/gpudt_record.h"

#define LAYOUT_MAX_RECORDS 16

struct layout;

/* Called for each block of the type map, in its order. */
typedef void (*layout_block_fn) (void *state, int64_t displ, int64_t len);

struct layout {
    char name[32];
    struct MPII_Gpudt_serial serial;
    struct MPII_Gpudt_record records[LAYOUT_MAX_RECORDS];
    struct MPII_Gpudt_record top;       /* root with the count */
    int64_t size;               /* packed bytes in all */
    int64_t low, high;          /* displacements touched: [low, high) */
    int64_t n;                  /* repetitions; determines the size */
    int64_t param[4];           /* parameters of the layout */
    int64_t *len, *displ;       /* blocks of irregular layouts, nblocks of them */
    int64_t nblocks;
    void (*blocks) (const struct layout * l, layout_block_fn fn, void *state);
};

/* Number of layouts. */
int layout_count(void);

/* Name of the i-th, static text. */
const char *layout_name(int i);

/* Build the i-th layout with about `bytes` packed bytes, at least one repetition; free with
 * layout_free. Exits the program if memory runs out. */
void layout_make(int i, int64_t bytes, struct layout *l);
void layout_free(struct layout *l);

#endif /* LAYOUTS_H_INCLUDED */
