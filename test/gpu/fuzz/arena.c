/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* The memory of the fuzz test and its expected contents. Must not know cases. */

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static struct {
    struct mem mem;
    unsigned char *shadow;
} arenas[2][MEM__NKINDS];

static unsigned char *scratch;

void arenas_make(void)
{
    scratch = malloc(ARENA_SZ);
    for (int i = 0; i < 2; i++) {
        for (int kind = 0; kind < MEM__NKINDS; kind++) {
            if (!mem_exists(kind))
                continue;
            mem_alloc(&arenas[i][kind].mem, kind, ARENA_SZ);
            arenas[i][kind].shadow = malloc(ARENA_SZ);
            if (!arenas[i][kind].shadow || !scratch) {
                fprintf(stderr, "no memory for the test's shadows\n");
                exit(3);
            }
            memset(arenas[i][kind].shadow, 0x55 + i, ARENA_SZ);
            mem_write(&arenas[i][kind].mem, 0, arenas[i][kind].shadow, ARENA_SZ);
        }
    }
}

void arenas_free(void)
{
    for (int i = 0; i < 2; i++) {
        for (int kind = 0; kind < MEM__NKINDS; kind++) {
            mem_free(&arenas[i][kind].mem);
            free(arenas[i][kind].shadow);
        }
    }
    free(scratch);
}

void arenas_check(void)
{
    char what[80];

    for (int i = 0; i < 2; i++) {
        for (int kind = 0; kind < MEM__NKINDS; kind++) {
            if (!mem_exists(kind))
                continue;
            snprintf(what, sizeof(what), "the whole arena of %s memory for %s", mem_name(kind),
                     i ? "destinations" : "sources");
            mem_read(&arenas[i][kind].mem, 0, scratch, ARENA_SZ);
            report_compare(what, scratch, arenas[i][kind].shadow, ARENA_SZ);
        }
    }
}

void side_set_arena(struct side *side, enum mem_kind kind, int is_dst)
{
    side->kind = kind;
    side->arena = &arenas[is_dst][kind].mem;
    side->shadow = arenas[is_dst][kind].shadow;
}
