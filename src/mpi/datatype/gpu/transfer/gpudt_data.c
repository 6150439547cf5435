/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Converts a caller's description of a buffer to a side of a transfer: the location of its data.
 * Must not know what memory that is. */

#include "mpiimpl.h"
#include "gpudt_data.h"
#include "gpudt_error.h"
#include "gpudt_host.h"
#include "driver/gpudt_near.h"
#include "type/gpudt_canon.h"

void MPII_Gpudt_data_measure(struct MPII_Gpudt_data *b)
{
    MPIR_Datatype *dtp;
    MPI_Aint true_lb = 0, true_ub, reach;

    /* An empty buffer may be one of MPI_DATATYPE_NULL, whose basic size is 0 */
    if (HANDLE_IS_BUILTIN(b->datatype) || b->datatype == MPI_DATATYPE_NULL) {
        b->size = true_ub = reach = MPIR_Datatype_get_basic_size(b->datatype);
        b->is_contig = true;
    } else {
        MPIR_Datatype_get_ptr(b->datatype, dtp);
        b->size = dtp->size;
        b->is_contig = dtp->is_contig;
        true_lb = dtp->true_lb;
        true_ub = dtp->true_ub;
        reach = dtp->extent;
    }
    b->is_absolute = b->addr == MPI_BOTTOM && !b->is_contig;

    /* The last datatype may be below the first. An overflow here means that no such buffer exists,
     * and NULL may be the address of an empty one. */
    reach = (MPI_Aint) ((uint64_t) reach * (uint64_t) (b->count - 1));
    b->low = (char *) ((uintptr_t) b->addr + (uintptr_t) true_lb +
                       (uintptr_t) MPL_MIN(reach, 0));
    b->high = (char *) ((uintptr_t) b->addr + (uintptr_t) true_ub +
                        (uintptr_t) MPL_MAX(reach, 0));
}

bool MPIR_Gpudt_is_near(const void *buf, MPI_Aint count, MPI_Datatype datatype)
{
    struct MPII_Gpudt_data b = {.addr = buf,.count = count,.datatype = datatype };

    if (HANDLE_IS_BUILTIN(datatype))
        return MPII_Gpudt_is_near(buf);
    MPII_Gpudt_data_measure(&b);
    return !b.is_absolute && MPII_Gpudt_is_near(b.low);
}

bool MPIR_Gpudt_near_add(const void *mem, size_t sz)
{
    return MPII_Gpudt_near_add(mem, sz);
}

int64_t MPII_Gpudt_data_size(const struct MPII_Gpudt_data *b)
{
    int64_t size;

    return __builtin_mul_overflow(b->count, b->size, &size) ? INT64_MAX : size;
}

void MPII_Gpudt_side_place(const struct MPII_Gpudt_data *b, int64_t n, struct MPII_Gpudt_side *side)
{
    side->type = NULL;
    side->engine = NULL;
    side->reached_by = NULL;
    side->is_exact = HANDLE_IS_BUILTIN(b->datatype) && b->is_contig;
    side->first = b->first;
    side->addr = (char *) b->addr;
    side->low = b->low;
    side->high = b->high;
    if (b->is_contig) {
        side->addr = side->low = b->low + b->first;
        side->high = side->low + n;
    }
}

/* An address relative to a buffer's, which may be that of no memory, as of one at MPI_BOTTOM in the
 * memory of another process, mapped here. */
static char *address(const void *addr, int64_t displ)
{
    return (char *) ((uintptr_t) addr + (uintptr_t) displ);
}

int MPII_Gpudt_side_set(const struct MPII_Gpudt_data *b, int64_t n, struct MPII_Gpudt_side *side)
{
    int mpi_errno = MPI_SUCCESS;
    const struct MPII_Gpudt_serial *serial;
    int64_t reach;

    if (side->is_exact)
        goto fn_exit;
    mpi_errno = MPII_Gpudt_type_get(b->datatype, &side->type);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    serial = &side->type->serial;
    mpi_errno = MPII_Gpudt_canon_count(serial, b->count, &side->top);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    /* Sizes must agree, since a range beyond the stream would be outside of the buffer */
    MPIR_ERR_CHKANDJUMP(b->first + n > side->top.size, mpi_errno, MPI_ERR_INTERN, "**gpudt_size");

    if (side->top.kind == MPII_GPUDT_KIND__BLOCK) {
        side->addr = side->low = address(b->addr, serial->base_displ + b->first);
        side->high = side->low + n;
        MPII_Gpudt_type_release(side->type);
        side->type = NULL;
    } else {
        side->addr = (char *) b->addr;
        reach = serial->extent * (b->count - 1);
        side->low = address(b->addr, serial->true_lb + MPL_MIN(reach, 0));
        side->high = address(b->addr, serial->true_lb + serial->true_extent + MPL_MAX(reach, 0));
    }
    side->is_exact = true;

  fn_exit:
    return mpi_errno;
  fn_fail:
    if (side->type)
        MPII_Gpudt_type_release(side->type);
    side->type = NULL;
    goto fn_exit;
}
