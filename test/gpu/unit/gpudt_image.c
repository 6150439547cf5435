/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests images of types: finds the displacement of each child of a list as kernels do, and compares
 * with the type map; which types have an index, and of what size. */

#include "unit.h"
#include "randtype.h"
#include "plan/gpudt_image.h"
#include "plan/gpudt_plan.h"

struct made {
    struct MPII_Gpudt_serial serial;
    struct MPII_Gpudt_image image;
    char *mem;
};

static void make(struct made *m, MPI_Datatype t)
{
    if (!unit_serial(t, &m->serial))
        abort();
    MPII_Gpudt_image_measure(&m->serial, &m->image);
    m->mem = calloc(1, m->image.sz + 8);
    if (m->image.sz > 0)
        MPII_Gpudt_image_make(&m->serial, &m->image, m->mem);
}

static void drop(struct made *m)
{
    free(m->mem);
    MPII_Gpudt_serial_free(&m->serial);
}

/* For every byte, by the index: the list is the whole type. */
static void check_bitmap(const struct made *m)
{
    const struct MPII_Gpudt_record *list = &m->serial.records[0];
    const int64_t *displ = MPII_Gpudt_record_displ(list, m->mem);
    const struct MPII_Gpudt_group *groups = (const void *) (m->mem + m->image.index);
    struct bytes all = { 0 };
    int64_t wrong = 0;

    bytes_from_serial(&all, &m->serial);
    for (int64_t pos = 0; pos < all.n; pos++) {
        int64_t child = pos / list->child_size;
        struct MPII_Gpudt_group g = groups[child / 32];
        int64_t entry = g.before + __builtin_popcount(g.begins & ((2u << child % 32) - 1));
        int64_t found = m->serial.base_displ + displ[entry] + child * list->extent +
            pos % list->child_size;

        wrong += found != all.off[pos];
    }
    UNIT_CHECK(wrong == 0);
    bytes_free(&all);
}

/* A list of n entries of 1 to most children, `extent` bytes apart. */
static MPI_Datatype list_make(int n, int most, MPI_Datatype child, int64_t extent, bool is_backward)
{
    MPI_Count *lens = calloc(n, sizeof(*lens)), *displs = calloc(n, sizeof(*displs)), at = 0;
    MPI_Datatype t;
    struct rng rng;

    rng_init(&rng, 4712);
    for (int i = 0; i < n; i++) {
        lens[i] = rng_range(&rng, 1, most);
        displs[i] = is_backward ? -at : at;
        at += (lens[i] + rng_range(&rng, 1, 3)) * extent;
    }
    MPI_Type_create_hindexed_c(n, lens, displs, child, &t);
    free(lens);
    free(displs);
    return t;
}

static void test_bitmap(MPI_Datatype child, int64_t extent, bool is_backward)
{
    enum { N = 20000 };
    MPI_Datatype t = list_make(N, 20, child, extent, is_backward);
    struct made m;

    make(&m, t);
    UNIT_CHECK(m.serial.records[0].kind == MPII_GPUDT_KIND__INDEXED);
    UNIT_CHECK(m.image.kind == MPII_GPUDT_INDEX__BITMAP);
    UNIT_CHECK(m.image.sz <= 24 * N + 64);
    check_bitmap(&m);
    drop(&m);
    MPI_Type_free(&t);
}

/* Long entries are searched, a few units are listed in a table, strides are computed. */
static void test_kinds(void)
{
    MPI_Datatype t;
    struct made m;

    t = list_make(2000, 200, MPI_DOUBLE, 8, false);
    make(&m, t);
    UNIT_CHECK(m.image.kind == MPII_GPUDT_INDEX__NONE && m.image.sz == m.serial.lookaside_sz);
    drop(&m);
    MPI_Type_free(&t);

    t = list_make(100, 20, MPI_DOUBLE, 8, false);
    make(&m, t);
    UNIT_CHECK(m.image.kind == MPII_GPUDT_INDEX__TABLE && MPII_Gpudt_table_unit(&m.serial) == 8);
    UNIT_CHECK(m.image.sz == m.image.index + m.serial.size);
    drop(&m);
    MPI_Type_free(&t);

    MPI_Type_vector(100, 1, 2, MPI_DOUBLE, &t);
    make(&m, t);
    UNIT_CHECK(m.image.kind == MPII_GPUDT_INDEX__NONE && m.image.sz == 0);
    drop(&m);
    MPI_Type_free(&t);
}

/* A table lists the displacements of units. */
static void test_table(void)
{
    int64_t table[5], *end;

    end = MPII_Gpudt_table_add(table, 4, 100, 8);
    end = MPII_Gpudt_table_add(end, 4, -20, 12);
    UNIT_CHECK(end == table + 5);
    UNIT_CHECK(table[0] == 100 && table[1] == 104);
    UNIT_CHECK(table[2] == -20 && table[3] == -16 && table[4] == -12);
}

int main(void)
{
    MPI_Datatype padded;

    MPI_Init(NULL, NULL);
    MPI_Type_create_resized(MPI_INT, 0, 12, &padded);
    for (int is_backward = 0; is_backward < 2; is_backward++) {
        test_bitmap(MPI_CHAR, 1, is_backward);
        test_bitmap(MPI_DOUBLE, 8, is_backward);
        test_bitmap(padded, 12, is_backward);
    }
    MPI_Type_free(&padded);
    test_kinds();
    test_table();
    MPI_Finalize();
    return unit_done();
}
