/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests one box of a three-dimensional array, built in every way that MPI offers: all must become
 * identical canonical records, of the memory of four strides at most. */

#include "unit.h"

/* nx x ny x nz doubles at (sx, sy, sz) of an array of NX x NY x NZ, x fastest */
enum { NX = 20, NY = 14, NZ = 9, nx = 5, ny = 4, nz = 3, sx = 5, sy = 8, sz = 6 };
enum { EL = 8, ROW = NX * EL, PLANE = NX * NY * EL, START = (sz * NY * NX + sy * NX + sx) * EL };

/* Put a type at a displacement, and free it. */
static MPI_Datatype moved(MPI_Datatype inner, MPI_Aint displ)
{
    MPI_Datatype outer;

    MPI_Type_create_hindexed_block(1, 1, &displ, inner, &outer);
    MPI_Type_free(&inner);
    return outer;
}

static MPI_Datatype subarray_c(void)
{
    int sizes[] = { NZ, NY, NX }, subsizes[] = { nz, ny, nx }, starts[] = { sz, sy, sx };
    MPI_Datatype t;

    MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &t);
    return t;
}

static MPI_Datatype subarray_fortran(void)
{
    int sizes[] = { NX, NY, NZ }, subsizes[] = { nx, ny, nz }, starts[] = { sx, sy, sz };
    MPI_Datatype t;

    MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_FORTRAN, MPI_DOUBLE, &t);
    return t;
}

static MPI_Datatype subarray_bytes(void)
{
    MPI_Count sizes[] = { NZ, NY, NX * EL }, subsizes[] = { nz, ny, nx * EL };
    MPI_Count starts[] = { sz, sy, sx * EL };
    MPI_Datatype t;

    MPI_Type_create_subarray_c(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_BYTE, &t);
    return t;
}

/* five dimensions: the double in halves of four bytes, and one of size 1 in between */
static MPI_Datatype subarray_5d(void)
{
    int sizes[] = { NZ, 1, NY, NX, 2 }, subsizes[] = { nz, 1, ny, nx, 2 };
    int starts[] = { sz, 0, sy, sx, 0 };
    MPI_Datatype t;

    MPI_Type_create_subarray(5, sizes, subsizes, starts, MPI_ORDER_C, MPI_FLOAT, &t);
    return t;
}

/* a plane is one subarray, the column of planes another */
static MPI_Datatype subarray_of_subarray(void)
{
    int size2[] = { NY, NX }, subsize2[] = { ny, nx }, start2[] = { sy, sx };
    int size1 = NZ, subsize1 = nz, start1 = sz;
    MPI_Datatype plane, t;

    MPI_Type_create_subarray(2, size2, subsize2, start2, MPI_ORDER_C, MPI_DOUBLE, &plane);
    MPI_Type_create_subarray(1, &size1, &subsize1, &start1, MPI_ORDER_FORTRAN, plane, &t);
    MPI_Type_free(&plane);
    return t;
}

static MPI_Datatype vector_hvector(void)
{
    MPI_Datatype plane, t;

    MPI_Type_vector(ny, nx, NX, MPI_DOUBLE, &plane);
    MPI_Type_create_hvector(nz, 1, PLANE, plane, &t);
    MPI_Type_free(&plane);
    return moved(t, START);
}

static MPI_Datatype hvector_hvector_contiguous(void)
{
    MPI_Datatype row, plane, t;

    MPI_Type_contiguous(nx * EL, MPI_BYTE, &row);
    MPI_Type_create_hvector_c(ny, 1, ROW, row, &plane);
    MPI_Type_create_hvector(nz, 1, PLANE, plane, &t);
    MPI_Type_free(&row);
    MPI_Type_free(&plane);
    return moved(t, START);
}

/* every level contiguous, over types resized to the next stride */
static MPI_Datatype resized_contiguous(void)
{
    MPI_Datatype row, wide_row, plane, wide_plane, t;

    MPI_Type_contiguous(nx, MPI_DOUBLE, &row);
    MPI_Type_create_resized(row, 0, ROW, &wide_row);
    MPI_Type_contiguous(ny, wide_row, &plane);
    MPI_Type_create_resized(plane, -16, PLANE, &wide_plane);
    MPI_Type_contiguous(nz, wide_plane, &t);
    MPI_Type_free(&row);
    MPI_Type_free(&wide_row);
    MPI_Type_free(&plane);
    MPI_Type_free(&wide_plane);
    return moved(t, START);
}

/* element by element: each double a type of its own extent, blocks of one */
static MPI_Datatype vectors_of_one(void)
{
    MPI_Datatype row, plane, t;

    MPI_Type_vector(nx * 2, 1, 1, MPI_FLOAT, &row);
    MPI_Type_create_hvector(ny, 1, ROW, row, &plane);
    MPI_Type_create_hvector(nz, 1, PLANE, plane, &t);
    MPI_Type_free(&row);
    MPI_Type_free(&plane);
    return moved(t, START);
}

static MPI_Datatype indexed_block_rows(void)
{
    int displs[ny];
    MPI_Datatype plane, t;

    for (int y = 0; y < ny; y++)
        displs[y] = (sy + y) * NX + sx;
    MPI_Type_create_indexed_block(ny, nx, displs, MPI_DOUBLE, &plane);
    MPI_Type_create_hvector(nz, 1, PLANE, plane, &t);
    MPI_Type_free(&plane);
    return moved(t, sz * PLANE);
}

/* one list of all rows of all planes */
static MPI_Datatype hindexed_all_rows(void)
{
    int lens[ny * nz];
    MPI_Aint displs[ny * nz];
    MPI_Datatype t;

    for (int i = 0; i < ny * nz; i++) {
        lens[i] = nx;
        displs[i] = START + i / ny * PLANE + i % ny * ROW;
    }
    MPI_Type_create_hindexed(ny * nz, lens, displs, MPI_DOUBLE, &t);
    return t;
}

/* one list of all doubles, some in longer blocks, with empty blocks between */
static MPI_Datatype indexed_pieces(void)
{
    int lens[nx * ny * nz], displs[nx * ny * nz], n = 0;
    MPI_Datatype t;

    for (int i = 0; i < ny * nz; i++) {
        int at = START / EL + i / ny * NX * NY + i % ny * NX;

        lens[n] = 2;
        displs[n++] = at;
        lens[n] = 0;
        displs[n++] = 77;
        lens[n] = nx - 2;
        displs[n++] = at + 2;
    }
    MPI_Type_indexed(n, lens, displs, MPI_DOUBLE, &t);
    return t;
}

static MPI_Datatype struct_of_planes(void)
{
    int lens[nz];
    MPI_Aint displs[nz];
    MPI_Datatype types[nz], plane, t;

    MPI_Type_create_hvector(ny, nx, ROW, MPI_DOUBLE, &plane);
    for (int z = 0; z < nz; z++) {
        lens[z] = 1;
        displs[z] = START + z * PLANE;
        types[z] = plane;
    }
    MPI_Type_create_struct(nz, lens, displs, types, &t);
    MPI_Type_free(&plane);
    return t;
}

/* a struct whose members are the first plane, nothing, and all the others */
static MPI_Datatype struct_of_parts(void)
{
    int lens[] = { 1, 0, nz - 1 };
    MPI_Aint displs[] = { START, -5, START + PLANE };
    MPI_Datatype plane, wide, types[3], t;

    MPI_Type_vector(ny, nx, NX, MPI_DOUBLE, &plane);
    MPI_Type_create_resized(plane, 0, PLANE, &wide);
    types[0] = plane;
    types[1] = MPI_CHAR;
    types[2] = wide;
    MPI_Type_create_struct(3, lens, displs, types, &t);
    MPI_Type_free(&plane);
    MPI_Type_free(&wide);
    return t;
}

/* the box is the block of one process: 2 in x, 3 in y, 3 in z */
static MPI_Datatype darray_block(int order)
{
    int gsizes[] = { NZ, NY, NX }, dargs[] = { nz, ny, nx }, psizes[] = { 3, 4, 4 };
    int distribs[] = { MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_BLOCK };
    int coords[] = { sz / nz, sy / ny, sx / nx };
    MPI_Datatype t;

    if (order == MPI_ORDER_C) {
        MPI_Type_create_darray(48, (coords[0] * 4 + coords[1]) * 4 + coords[2], 3, gsizes,
                               distribs, dargs, psizes, MPI_ORDER_C, MPI_DOUBLE, &t);
    } else {
        int f_gsizes[] = { NX, NY, NZ }, f_dargs[] = { nx, ny, nz }, f_psizes[] = { 4, 4, 3 };

        MPI_Type_create_darray(48, (coords[2] * 4 + coords[1]) * 3 + coords[0], 3, f_gsizes,
                               distribs, f_dargs, f_psizes, MPI_ORDER_FORTRAN, MPI_DOUBLE, &t);
    }
    return t;
}

static MPI_Datatype darray_c(void)
{
    return darray_block(MPI_ORDER_C);
}

static MPI_Datatype darray_fortran(void)
{
    return darray_block(MPI_ORDER_FORTRAN);
}

static MPI_Datatype dup_of_all(void)
{
    MPI_Datatype row, row2, plane, t;

    MPI_Type_contiguous_c(nx, MPI_LONG_LONG, &row);
    MPI_Type_dup(row, &row2);
    MPI_Type_create_hvector_c(ny, 1, ROW, row2, &plane);
    MPI_Type_create_hvector_c(nz, 1, PLANE, plane, &t);
    MPI_Type_free(&row);
    MPI_Type_free(&row2);
    MPI_Type_free(&plane);
    return moved(t, START);
}

static const struct {
    const char *name;
    MPI_Datatype(*make) (void);
} ways[] = {
    {"subarray, C order", subarray_c},
    {"subarray, Fortran order", subarray_fortran},
    {"subarray of bytes", subarray_bytes},
    {"subarray of five dimensions", subarray_5d},
    {"subarray of subarrays", subarray_of_subarray},
    {"vector, hvector", vector_hvector},
    {"hvectors of contiguous bytes", hvector_hvector_contiguous},
    {"contiguous of resized", resized_contiguous},
    {"vectors of single elements", vectors_of_one},
    {"indexed block of rows", indexed_block_rows},
    {"hindexed of all rows", hindexed_all_rows},
    {"indexed of pieces of rows", indexed_pieces},
    {"struct of planes", struct_of_planes},
    {"struct of parts", struct_of_parts},
    {"darray, C order", darray_c},
    {"darray, Fortran order", darray_fortran},
    {"duplicates", dup_of_all}
};

int main(void)
{
    struct MPII_Gpudt_serial first;
    int nways = sizeof(ways) / sizeof(ways[0]);

    MPI_Init(NULL, NULL);
    for (int i = 0; i < nways; i++) {
        MPI_Datatype t = ways[i].make();
        struct MPII_Gpudt_serial serial;
        char *text;

        MPI_Type_commit(&t);
        unit_check_type(t, ways[i].name);
        if (!unit_serial(t, i == 0 ? &first : &serial))
            unit_fail("    in %s", ways[i].name);
        if (i > 0) {
            if (!unit_serial_equal(&first, &serial)) {
                MPII_Gpudt_debug_serial(&serial, 8, &text);
                unit_fail("%s differs:\n%s", ways[i].name, text);
                MPL_free(text);
            }
            MPII_Gpudt_serial_free(&serial);
        }
        MPI_Type_free(&t);
    }

    /* and they have the expected form: planes of rows */
    UNIT_CHECK(first.nrecords == 3 && first.lookaside_sz == 0 && first.base_displ == START);
    UNIT_CHECK(first.records[0].kind == MPII_GPUDT_KIND__VECTOR && first.records[0].count == nz &&
               first.records[0].stride == PLANE);
    UNIT_CHECK(first.records[1].kind == MPII_GPUDT_KIND__VECTOR && first.records[1].count == ny &&
               first.records[1].stride == ROW);
    UNIT_CHECK(first.records[2].kind == MPII_GPUDT_KIND__BLOCK && first.records[2].size == nx * EL);
    MPII_Gpudt_serial_free(&first);
    MPI_Finalize();
    return unit_done();
}
