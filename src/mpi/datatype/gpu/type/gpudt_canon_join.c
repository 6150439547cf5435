/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Joins list entries that continue each other, in one pass. Knows no nodes. */

#include "mpiimpl.h"
#include "gpudt_canon_join.h"
#include "gpudt_error.h"
#include "gpudt_gcd.h"

int MPII_Gpudt_list_join(struct MPII_Gpudt_list *list, struct MPII_Gpudt_list_shape *shape)
{
    int mpi_errno = MPI_SUCCESS;
    int64_t *prefix = list->prefix, *displ = list->displ;
    int64_t begin = prefix[0], end = 0, span, divisor = 0;
    int64_t m = 0;
    bool overflow = false;

    prefix[0] = 0;
    for (int64_t i = 0; i < list->n; i++) {
        int64_t len = prefix[i + 1] - begin;

        begin = prefix[i + 1];
        if (len == 0)
            continue;
        overflow |= __builtin_mul_overflow(len, list->extent, &span);
        if (m > 0 && displ[i] == end) {
            prefix[m] += len;
            overflow |= __builtin_add_overflow(end, span, &end);
        } else {
            overflow |= __builtin_add_overflow(displ[i], span, &end);
            displ[m] = displ[i];
            prefix[m + 1] = prefix[m] + len;
            m++;
        }
    }
    MPII_GPUDT_ERR_OVERFLOW(overflow, mpi_errno);

    for (int64_t i = 0; i < m && divisor != 1; i++) {
        int64_t len = prefix[i + 1] - prefix[i];

        if (len != divisor)
            divisor = MPII_Gpudt_gcd(len, divisor);
    }
    list->n = m;
    shape->total = prefix[m];
    shape->divisor = divisor;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Runs of entries that continue each other. */
struct runs {
    int64_t n;
    int64_t divisor;            /* greatest common divisor of the entries in a run */
};

/* Count the runs of entries that are `step` bytes long. */
static int runs_count(const int64_t * displ, int64_t n, int64_t step, struct runs *runs)
{
    int mpi_errno = MPI_SUCCESS;
    int64_t end, first = 0, divisor = 0, count = 1;
    bool overflow;

    overflow = __builtin_add_overflow(displ[0], step, &end);
    for (int64_t i = 1; i < n; i++) {
        if (displ[i] != end) {
            if (divisor != 1 && i - first != divisor)
                divisor = MPII_Gpudt_gcd(i - first, divisor);
            first = i;
            count++;
        }
        overflow |= __builtin_add_overflow(displ[i], step, &end);
    }
    MPII_GPUDT_ERR_OVERFLOW(overflow, mpi_errno);
    if (n - first != divisor)
        divisor = MPII_Gpudt_gcd(n - first, divisor);
    runs->n = count;
    runs->divisor = divisor;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPII_Gpudt_list_join_equal(struct MPII_Gpudt_list *list, struct MPII_Gpudt_list_shape *shape)
{
    int mpi_errno = MPI_SUCCESS;
    const int64_t *displ = list->displ;
    int64_t n = list->n, step, m = 0;
    struct runs runs;
    int64_t *area;

    MPII_GPUDT_ERR_OVERFLOW(__builtin_mul_overflow(list->len, list->extent, &step), mpi_errno);
    shape->total = n * list->len;
    shape->divisor = list->len;
    mpi_errno = runs_count(displ, n, step, &runs);
    MPII_GPUDT_ERR_CHECK(mpi_errno);
    if (runs.divisor == 1 && n <= 2 * runs.n)
        goto fn_exit;

    area = MPL_malloc((2 * runs.n + 1) * sizeof(int64_t), MPL_MEM_DATATYPE);
    MPII_GPUDT_ERR_NOMEM(area == NULL, mpi_errno, "joined list of a datatype");
    area[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        if (i == 0 || displ[i] != displ[i - 1] + step) {
            area[runs.n + 1 + m] = displ[i];
            area[m + 1] = area[m];
            m++;
        }
        area[m] += list->len;
    }
    MPL_free(list->owned);
    list->owned = area;
    list->prefix = area;
    list->displ = area + runs.n + 1;
    list->n = runs.n;
    shape->divisor = runs.divisor * list->len;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
