/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * See gpudt_across.h. The numbers are in gpudt_tuning.h; the test unit/gpudt_across compares the cheapest
 * way with the fastest one of the measurements that they were fitted to.
 */

#include "gpudt_across.h"
#include "tuning/gpudt_tuning.h"

/* Reading a block costs at most this many bytes more within MPII_GPUDT_ACROSS_REACH. */
#define REST_MAX (MPII_GPUDT_ACROSS_SECTOR_REST + MPII_GPUDT_ACROSS_REQUEST_REST)

static double min_of(double a, double b)
{
    return a < b ? a : b;
}

static double max_of(double a, double b)
{
    return a > b ? a : b;
}

double MPII_Gpudt_block_spacing(const struct MPII_Gpudt_serial *serial,
                                const struct MPII_Gpudt_record *top, double average)
{
    const struct MPII_Gpudt_record *r = top;

    while (r->child >= 0 && serial->records[r->child].kind != MPII_GPUDT_KIND__BLOCK)
        r = &serial->records[r->child];
    if (r->kind == MPII_GPUDT_KIND__VECTOR && r->child >= 0)
        return r->stride < 0 ? -(double) r->stride : (double) r->stride;
    return average;
}

/* Each of these returns bytes for a block. */

static double read_across(double block, double spacing, int is_aligned)
{
    const double rest = (is_aligned ? 0 : MPII_GPUDT_ACROSS_SECTOR_REST) +
        MPII_GPUDT_ACROSS_REQUEST_REST * max_of(0, 1 - block / MPII_GPUDT_ACROSS_LINE);

    return min_of(rest, spacing - block);
}

static double write_across(double block, double spacing, int is_aligned)
{
    const double nblocks = MPII_GPUDT_ACROSS_LINE / spacing;    /* in a line */

    if (spacing >= MPII_GPUDT_ACROSS_LINE)
        return MPII_GPUDT_ACROSS_PACKET_REST * max_of(0, 1 - block / MPII_GPUDT_ACROSS_LINE) +
            (is_aligned ? 0 :
             MPII_GPUDT_ACROSS_SPLIT_REST * min_of(1, block / MPII_GPUDT_ACROSS_LINE));
    return max_of(0,
                  spacing + (block + MPII_GPUDT_ACROSS_MASKED_REST - spacing) / nblocks - block);
}

/* At either end of the link. */
static double far_access(double span)
{
    return MPII_GPUDT_ACROSS_REACH_REST * max_of(0, 1 - MPII_GPUDT_ACROSS_REACH / span);
}

/* The part of a line that there is to each block. */
static double line_part(double average)
{
    return min_of(1, average / MPII_GPUDT_ACROSS_LINE);
}

/* The link moves the block meanwhile. */
static double own_access(double line, double block, double average)
{
    return max_of(0, line * line_part(average) - block);
}

/* The link moves nothing of it meanwhile. */
static double own_pack(double block, double average)
{
    return MPII_GPUDT_ACROSS_LINE_READ * line_part(average) *
        max_of(0, 1 - block / MPII_GPUDT_ACROSS_LINE);
}

void MPII_Gpudt_access_find(const struct MPII_Gpudt_serial *serial,
                            const struct MPII_Gpudt_record *top, int64_t span, int64_t size,
                            int64_t n, struct MPII_Gpudt_access *access)
{
    double blocks, block, spacing, average, far;
    int is_aligned;

    *access = (struct MPII_Gpudt_access) { 0 };
    if (serial == NULL)
        return;
    block = (double) serial->size / (double) serial->nblocks;
    blocks = (double) n / block;
    /* Pulling costs less than asking for a push. The rest matters only beside a long buffer or one
     * that cannot be mapped, and there by little more than that */
    if (blocks * REST_MAX < MPII_GPUDT_ACROSS_PUSH_COST && span <= MPII_GPUDT_ACROSS_REACH)
        return;
    average = max_of(block, (double) span / ((double) size / block));
    spacing = max_of(block, MPII_Gpudt_block_spacing(serial, top, average));
    is_aligned = serial->block_gcd % MPII_GPUDT_ACROSS_SECTOR == 0 &&
        serial->displ_gcd % MPII_GPUDT_ACROSS_SECTOR == 0;
    far = far_access(blocks * average);
    access->read_across = (int64_t) (blocks * (read_across(block, spacing, is_aligned) + far));
    access->write_across = (int64_t) (blocks * (write_across(block, spacing, is_aligned) + far));
    if (blocks * min_of(MPII_GPUDT_ACROSS_LINE, average) > MPII_GPUDT_ACROSS_CACHE) {
        access->read = (int64_t) (blocks * own_access(MPII_GPUDT_ACROSS_LINE_READ, block, average));
        access->write = (int64_t) (blocks * own_access(MPII_GPUDT_ACROSS_LINE_WRITE, block, average));
        access->pack = (int64_t) (blocks * own_pack(block, average));
    }
}

int64_t MPII_Gpudt_pull_cost(int64_t read_across, const struct MPII_Gpudt_access *to)
{
    return read_across > to->write ? read_across : to->write;
}

int64_t MPII_Gpudt_push_cost(int64_t read, const struct MPII_Gpudt_access *to)
{
    return MPII_GPUDT_ACROSS_PUSH_COST + (read > to->write_across ? read : to->write_across);
}

int64_t MPII_Gpudt_stage_cost(int64_t n, int64_t segment, int64_t pack, int may_be_early,
                              int nothers)
{
    /* While one segment is packed, the one before is read */
    const int64_t first = n > segment ? pack / ((n + segment - 1) / segment) : pack;
    const double later = max_of(0, (double) (n - 2 * segment));
    int64_t among;

    if (may_be_early && nothers == 0)
        return MPII_GPUDT_ACROSS_EARLY_COST + first +
            (int64_t) (MPII_GPUDT_ACROSS_EARLY_SHARE * ((double) n - later) +
                       MPII_GPUDT_ACROSS_EARLY_SHARE_LATER * later);
    among = (MPII_GPUDT_ACROSS_STAGE_COST +
             (int64_t) (MPII_GPUDT_ACROSS_STAGE_SHARE * (double) n) + first) / (1 + nothers);
    return among > MPII_GPUDT_ACROSS_STAGE_EACH - n ? among : MPII_GPUDT_ACROSS_STAGE_EACH - n;
}
