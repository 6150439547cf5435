/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests the tables of memory that is attached to dynamic windows: their bounds, and that a reader
 * sees each region as a whole or not at all while the owner changes the table. */

#include "mpidimpl.h"
#include "mpidi_gpudt_window_impl.h"

#include "report.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { ROOM = 256, NWORDS = MPIR_GPUDT_EXPOSURE_SZ / sizeof(uint64_t) };
enum { NCHANGING = 8, NLOOKUPS = 3000000 };
#define APART ((uint64_t) 1 << 32)
#define SIZE ((uint64_t) 4096)

static struct MPIDI_Gpudt_regions *table;
static atomic_int is_over;

static uint64_t base_of(int i)
{
    return (uint64_t) (i + 1) * APART;
}

/* Add region i, whose exposure tells which one it is, and when it was added. */
static void add(int i, uint64_t when)
{
    struct MPIDI_Gpudt_region region = {.base = base_of(i),.size = SIZE };

    for (int k = 0; k < NWORDS; k++)
        region.exposure[k] = base_of(i) + when % APART;
    MPIDI_Gpudt_region_add(table, &region, true);
}

/* Look an address of region i up. What is found must be all of that region. */
static bool find(int i, uint64_t at)
{
    struct MPIDI_Gpudt_region region;

    if (!MPIDI_Gpudt_region_find(table, base_of(i) + at, &region))
        return false;
    if (region.base != base_of(i) || region.size != SIZE)
        report_fail("region %d: found %llx, %llu bytes", i, (unsigned long long) region.base,
                    (unsigned long long) region.size);
    for (int k = 0; k < NWORDS; k++) {
        if (region.exposure[k] != region.exposure[0] || region.exposure[k] / APART != i + 1) {
            report_fail("region %d: its exposure is not its own, or of two times", i);
            break;
        }
    }
    return true;
}

static void bounds(void)
{
    struct MPIDI_Gpudt_region region = {.base = base_of(3) + SIZE / 2,.size = SIZE };

    CHECK(!MPIDI_Gpudt_regions_exist(table) && !find(0, 0));
    MPIDI_Gpudt_region_remove(table, base_of(0));
    MPIDI_Gpudt_region_add(table, &region, false);
    CHECK(!MPIDI_Gpudt_regions_exist(table));
    for (int i = 0; i < ROOM + 1; i++)
        add(i, 0);
    CHECK(MPIDI_Gpudt_regions_exist(table));
    for (int i = 0; i < ROOM; i++)
        CHECK(find(i, 0) && find(i, SIZE - 1) && !find(i, SIZE) && !find(i, (uint64_t) - 1));
    CHECK(!find(ROOM, 0));
    MPIDI_Gpudt_region_remove(table, base_of(0) + 1);
    CHECK(find(0, 0));
    MPIDI_Gpudt_region_remove(table, base_of(0));
    CHECK(!find(0, 0) && find(1, 0) && find(ROOM - 1, 0));
    add(ROOM, 0);
    CHECK(find(ROOM, 0));
    /* memory that was freed but not removed */
    MPIDI_Gpudt_region_add(table, &region, false);
    CHECK(!find(3, 0) && find(2, 0) && find(4, 0));
    for (int i = 0; i <= ROOM; i++)
        MPIDI_Gpudt_region_remove(table, base_of(i));
    CHECK(MPIDI_Gpudt_regions_exist(table) && !find(1, 0));
}

static void *change(void *arg)
{
    for (uint64_t when = 1; !atomic_load(&is_over); when++) {
        const int i = (int) (when % NCHANGING);
        MPIDI_Gpudt_region_remove(table, base_of(i));
        add(i, when);
    }
    return arg;
}

/* The region that stays is moved all the time. A reader gives up after some time. */
static void changes(void)
{
    pthread_t owner;
    int nfound = 0, nothers = 0;

    for (int i = 0; i <= NCHANGING; i++)
        add(i, 0);
    pthread_create(&owner, NULL, change, NULL);
    for (int i = 0; i < NLOOKUPS && report_failures == 0; i++) {
        nfound += find(NCHANGING, 0);
        nothers += find(i % NCHANGING, 0);
    }
    atomic_store(&is_over, 1);
    pthread_join(owner, NULL);
    CHECK(nfound > NLOOKUPS / 10 * 9 && nothers > 0);
}

/* The owner dies in the middle of a change: the version, which comes first, stays odd. */
static void dies(void)
{
    CHECK(find(NCHANGING, 0));
    *(volatile uint64_t *) table |= 1;
    CHECK(!find(NCHANGING, 0));
}

int main(void)
{
    report_time_limit(120);
    MPI_Init(NULL, NULL);
    table = calloc(1, MPIDI_Gpudt_regions_sz());
    bounds();
    changes();
    dies();
    free(table);
    MPI_Finalize();
    return report_done();
}
