/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Which kernel does a predefined operation on a predefined datatype. The groups of datatypes are
 * MPICH's own. Must not know where operands are. */

#include "mpiimpl.h"
#include "mpir_op_util.h"
#include "mpii_fortlogical.h"
#include "gpudt_reduce_impl.h"
#include "kernel/gpudt_args.h"
#include "kernel/gpudt_kernel_list.h"

#define NONE (-1)

/* A type of elements, and the bytes and alignment of one. */
struct element {
    int kernel;                 /* NONE: no kernel */
    int size, align;
};

static int op_of(MPI_Op op)
{
    switch (op) {
#define OP(name_)                                       \
        case MPI_##name_:                               \
            return MPII_GPUDT_REDUCE__##name_;
            OP(SUM)
            OP(PROD)
            OP(MAX)
            OP(MIN)
            OP(LAND)
            OP(LOR)
            OP(LXOR)
            OP(BAND)
            OP(BOR)
            OP(BXOR)
            OP(MAXLOC)
            OP(MINLOC)
#undef OP
        default:
            return NONE;
    }
}

#define ELEMENT(name_, size_, align_)   \
    ((struct element) { MPII_GPUDT_KERNEL__REDUCE_##name_, (size_), (align_) })
#define NO_ELEMENT ((struct element) { NONE, 0, 0 })

/* Signed integers differ from unsigned ones in their order alone. */
static struct element integer(size_t size, bool is_signed, int op)
{
    const bool order = is_signed && (op == MPII_GPUDT_REDUCE__MAX || op == MPII_GPUDT_REDUCE__MIN);

    switch (size) {
        case 1:
            return order ? ELEMENT(i8, 1, 1) : ELEMENT(u8, 1, 1);
        case 2:
            return order ? ELEMENT(i16, 2, 2) : ELEMENT(u16, 2, 2);
        case 4:
            return order ? ELEMENT(i32, 4, 4) : ELEMENT(u32, 4, 4);
        case 8:
            return order ? ELEMENT(i64, 8, 8) : ELEMENT(u64, 8, 8);
        default:
            return NO_ELEMENT;
    }
}

/* Neither long double nor 128-bit formats exist on GPUs. */
static struct element real(size_t size)
{
    switch (size) {
        case 2:
            return ELEMENT(f16, 2, 2);
        case 4:
            return ELEMENT(f32, 4, 4);
        case 8:
            return ELEMENT(f64, 8, 8);
        default:
            return NO_ELEMENT;
    }
}

/* The product; the sum is that of the parts. */
static struct element complex_product(size_t size)
{
    switch (size) {
        case 8:
            return ELEMENT(c32, 8, 4);
        case 16:
            return ELEMENT(c64, 16, 8);
        default:
            return NO_ELEMENT;
    }
}

/* MPI_LOGICAL is an integer where true is 1 and false 0. */
static struct element logical(MPI_Datatype datatype, size_t size, int op)
{
#ifdef HAVE_FORTRAN_BINDING
    if (datatype == MPI_LOGICAL && (F77_TRUE_VALUE != 1 || F77_FALSE_VALUE != 0))
        return NO_ELEMENT;
#endif
    return integer(size, false, op);
}

/* Values with their locations. */
static struct element located(MPI_Datatype datatype)
{
    switch (datatype) {
        case MPI_2INT:
            return ELEMENT(i32_i32, 8, 4);
        case MPI_FLOAT_INT:
            return ELEMENT(f32_i32, 8, 4);
        case MPI_SHORT_INT:
            return ELEMENT(i16_i32, 8, 4);
        case MPI_LONG_INT:
            return sizeof(long) == 8 ? ELEMENT(i64_i32, 16, 8) : ELEMENT(i32_i32, 8, 4);
        case MPI_DOUBLE_INT:
            return ELEMENT(f64_i32, 16, 8);
#if defined(HAVE_FORTRAN_BINDING) && !defined(HAVE_NO_FORTRAN_MPI_TYPES_IN_C)
        case MPI_2INTEGER:
            return sizeof(MPI_Fint) == 4 ? ELEMENT(i32_i32, 8, 4) : NO_ELEMENT;
        case MPI_2REAL:
            return sizeof(MPIR_FC_REAL_CTYPE) == 4 ? ELEMENT(f32_f32, 8, 4) : NO_ELEMENT;
        case MPI_2DOUBLE_PRECISION:
            return sizeof(MPIR_FC_DOUBLE_CTYPE) == 8 ? ELEMENT(f64_f64, 16, 8) : NO_ELEMENT;
#endif
        default:
            return NO_ELEMENT;
    }
}

/* The elements of a datatype of one of MPICH's groups.
 *   parts  (OUT)  of them, in one of the datatype */
static struct element element_of(MPI_Datatype datatype, int op, int *parts)
{
    *parts = 1;
    switch (datatype) {
#undef MPIR_OP_TYPE_MACRO
#define MPIR_OP_TYPE_MACRO(mpi_type_, c_type_, type_name_)      \
        case mpi_type_:                                         \
            return integer(sizeof(c_type_), (c_type_) -1 < (c_type_) 1, op);
            MPIR_OP_TYPE_GROUP(C_INTEGER)
                MPIR_OP_TYPE_GROUP(C_INTEGER_EXTRA)
                MPIR_OP_TYPE_GROUP(FORTRAN_INTEGER)
                MPIR_OP_TYPE_GROUP(FORTRAN_INTEGER_EXTRA)
                MPIR_OP_TYPE_GROUP(BYTE)
#undef MPIR_OP_TYPE_MACRO
#define MPIR_OP_TYPE_MACRO(mpi_type_, c_type_, type_name_)      \
        case mpi_type_:                                         \
            return real(sizeof(c_type_));
                MPIR_OP_TYPE_GROUP(FLOATING_POINT)
                MPIR_OP_TYPE_GROUP(FLOATING_POINT_EXTRA)
#undef MPIR_OP_TYPE_MACRO
#define MPIR_OP_TYPE_MACRO(mpi_type_, c_type_, type_name_)      \
        case mpi_type_:                                         \
            return logical(datatype, sizeof(c_type_), op);
                MPIR_OP_TYPE_GROUP(LOGICAL)
#undef MPIR_OP_TYPE_MACRO
#define MPIR_OP_TYPE_MACRO(mpi_type_, c_type_, type_name_)      \
        case mpi_type_:                                         \
            if (op == MPII_GPUDT_REDUCE__PROD)                  \
                return complex_product(sizeof(c_type_));        \
            *parts = 2;                                         \
            return real(sizeof(c_type_) / 2);
                MPIR_OP_TYPE_GROUP(COMPLEX)
                MPIR_OP_TYPE_GROUP(COMPLEX_EXTRA)
#undef MPIR_OP_TYPE_MACRO
        default:
            return located(datatype);
    }
}

/* Whether the kernels for real numbers have an operation. MPICH accepts others for them. */
static bool is_for_reals(int op)
{
    return op == MPII_GPUDT_REDUCE__SUM || op == MPII_GPUDT_REDUCE__PROD ||
        op == MPII_GPUDT_REDUCE__MAX || op == MPII_GPUDT_REDUCE__MIN;
}

static bool is_real(int kernel)
{
    return kernel == MPII_GPUDT_KERNEL__REDUCE_f16 || kernel == MPII_GPUDT_KERNEL__REDUCE_f32 ||
        kernel == MPII_GPUDT_KERNEL__REDUCE_f64;
}

/* Fill in what follows from the elements. */
static void reduction_set(struct element e, struct MPII_Gpudt_reduction *r)
{
    r->kernel = e.kernel;
    r->size = e.size;
    r->align = e.align;
    r->is_dense = e.kernel != MPII_GPUDT_KERNEL__REDUCE_i16_i32 &&
        e.kernel != MPII_GPUDT_KERNEL__REDUCE_i64_i32 &&
        e.kernel != MPII_GPUDT_KERNEL__REDUCE_f64_i32;
    r->last = e.size * r->parts;
    if (e.kernel == MPII_GPUDT_KERNEL__REDUCE_i64_i32 ||
        e.kernel == MPII_GPUDT_KERNEL__REDUCE_f64_i32)
        r->last = 12;
}

bool MPII_Gpudt_reduction_find(MPI_Op op, MPI_Datatype datatype, struct MPII_Gpudt_reduction *r)
{
    struct element e;

    r->op = HANDLE_IS_BUILTIN(op) ? op_of(op) : NONE;
    if (r->op == NONE)
        return false;
    e = element_of(datatype, r->op, &r->parts);
    if (e.kernel == NONE || (is_real(e.kernel) && !is_for_reals(r->op)))
        return false;
    reduction_set(e, r);
    return true;
}

bool MPII_Gpudt_update_find(MPI_Op op, MPI_Datatype datatype, struct MPII_Gpudt_reduction *r)
{
    struct element e;

    if (op != MPI_REPLACE && op != MPI_NO_OP && op != MPI_OP_NULL) {
        if (!HANDLE_IS_BUILTIN(op) || (*MPIR_OP_HDL_TO_DTYPE_FN(op)) (datatype) != MPI_SUCCESS ||
            !MPII_Gpudt_reduction_find(op, datatype, r))
            return false;
    } else {
        r->op = op == MPI_REPLACE ? MPII_GPUDT_REDUCE__REPLACE :
            op == MPI_NO_OP ? MPII_GPUDT_REDUCE__NO_OP : MPII_GPUDT_REDUCE__CAS;
        e = element_of(datatype, r->op, &r->parts);
        if (e.kernel == NONE || (op == MPI_OP_NULL && (r->parts != 1 || e.size > 8)))
            return false;
        reduction_set(e, r);
    }
    r->kernel = MPII_GPUDT_KERNEL_UPDATE_OF(r->kernel);
    return true;
}
