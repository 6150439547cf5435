/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests when copies within a GPU that processes share are made, by how long those before have waited
 * (transfer/gpudt_timing.h). */

#include "unit.h"
#include "mpiimpl.h"
#include "transfer/gpudt_timing.h"

#include <stdbool.h>
#include <unistd.h>

#define LONG_US 2000
#define OTHER_US 50.0           /* without a copy */

/* A copy that waits.
 *   is_seen  (IN)  it is looked at when it has waited */
static void wait_make(bool is_alone, bool is_seen)
{
    struct MPII_Gpudt_timing t;

    MPII_Gpudt_timing_begin(&t, is_alone, 0);
    usleep(LONG_US);
    if (is_seen)
        MPII_Gpudt_timing_look(&t);
    MPII_Gpudt_timing_end(&t);
}

/* One that does not, unless this process loses its processor. */
static void quick_make(void)
{
    struct MPII_Gpudt_timing t;

    MPII_Gpudt_timing_begin(&t, false, 0);
    MPII_Gpudt_timing_end(&t);
}

/* Messages that pass without a copy until one is made. */
static int spare(void)
{
    int n = 0;

    while (n < 1000000 && !MPII_Gpudt_timing_is_good(OTHER_US))
        n++;
    return n;
}

int main(int argc, char **argv)
{
    int n;

    MPI_Init(&argc, &argv);

    /* What says nothing: the first ones, others among several, and those that nobody looked at */
    for (int i = 0; i < 8; i++)
        wait_make(true, true);
    wait_make(false, true);
    wait_make(true, false);
    UNIT_CHECK(MPII_Gpudt_timing_is_good(OTHER_US));

    /* One long wait counts for little, several for what they are */
    wait_make(true, true);
    n = spare();
    UNIT_CHECK(n > 0 && n < 50);
    for (int i = 0; i < 40; i++)
        wait_make(true, true);
    UNIT_CHECK(!MPII_Gpudt_timing_is_good(LONG_US / 2));
    wait_make(true, true);
    n = spare();
    UNIT_CHECK(n > LONG_US / 10 && n < 1000000);

    /* A short one makes all good again */
    for (int i = 0; i < 100 && !MPII_Gpudt_timing_is_good(OTHER_US); i++)
        quick_make();
    UNIT_CHECK(MPII_Gpudt_timing_is_good(OTHER_US));
    UNIT_CHECK(spare() == 0);

    MPI_Finalize();
    return unit_done();
}
