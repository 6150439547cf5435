/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 *
 * See gpudt_across.h. The numbers were fitted to doc/data/ways-h100x2.csv and ways-types-h100x2.csv, of
 * two H100s whose link moves 337 GB/s; the test unit/gpudt_across compares the cheapest way with the
 * fastest one.
 */

#include "gpudt_across.h"

/* A GPU reads memory of another one by requests for whole sectors of a line. Of the sectors of a
 * narrow block SECTOR_REST bytes are not asked for; each request costs as much as REQUEST_REST
 * more, which contiguous data has once a line, too. */
#define SECTOR 32               /* bytes */
#define SECTOR_REST 24.0
#define REQUEST_REST 18.0
#define LINE 128                /* bytes */

/* A store to another GPU takes a packet of its own if no other block is in its line. Blocks of one
 * line go in one packet, from the first one to the last one, with a mask of its bytes. */
#define PACKET_REST 24.0        /* bytes */
#define MASKED_REST 32.0
#define SPLIT_REST 48.0         /* of a block that two lines share */

/* Of memory of another GPU that is spread over more than REACH bytes, each access to the rest costs
 * as much as REACH_REST bytes more, as the translation of its address is not at hand. */
#define REACH (672.0 * (1 << 20))
#define REACH_REST 64.0

/* Bytes that the link moves while a GPU reads or writes a part of a line of its own memory. Of less
 * than CACHE bytes of lines the cache has most from before. */
#define CACHE (48 << 20)
#define LINE_READ 12.5
#define LINE_WRITE 25.0

/* What pushing costs: the packet that asks the sender for it (1 us). And what staging costs: its kernels
 * and packets (14 us), and a share of the message, as a segment is packed before it is read. Both pass
 * while the link moves other messages, if there are any, but the processors cannot stage messages faster
 * than one in STAGE_EACH (10 us). Of a message that is packed early the kernels take 5 us, and the share
 * is less of what follows the first two segments. */
#define PUSH_COST (320 << 10)
#define STAGE_COST (9 << 19)
#define STAGE_SHARE 0.25
#define EARLY_COST (13 << 17)
#define EARLY_SHARE 0.375
#define EARLY_SHARE_LATER 0.1875
#define STAGE_EACH (13 << 18)

/* Reading a block costs at most this many bytes more within REACH. */
#define REST_MAX (SECTOR_REST + REQUEST_REST)

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
    const double rest = (is_aligned ? 0 : SECTOR_REST) +
        REQUEST_REST * max_of(0, 1 - block / LINE);

    return min_of(rest, spacing - block);
}

static double write_across(double block, double spacing, int is_aligned)
{
    const double nblocks = LINE / spacing;      /* in a line */

    if (spacing >= LINE)
        return PACKET_REST * max_of(0, 1 - block / LINE) +
            (is_aligned ? 0 : SPLIT_REST * min_of(1, block / LINE));
    return max_of(0, spacing + (block + MASKED_REST - spacing) / nblocks - block);
}

/* At either end of the link. */
static double far_access(double span)
{
    return REACH_REST * max_of(0, 1 - REACH / span);
}

/* The part of a line that there is to each block. */
static double line_part(double average)
{
    return min_of(1, average / LINE);
}

/* The link moves the block meanwhile. */
static double own_access(double line, double block, double average)
{
    return max_of(0, line * line_part(average) - block);
}

/* The link moves nothing of it meanwhile. */
static double own_pack(double block, double average)
{
    return LINE_READ * line_part(average) * max_of(0, 1 - block / LINE);
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
    if (blocks * REST_MAX < PUSH_COST && span <= REACH)
        return;
    average = max_of(block, (double) span / ((double) size / block));
    spacing = max_of(block, MPII_Gpudt_block_spacing(serial, top, average));
    is_aligned = serial->block_gcd % SECTOR == 0 && serial->displ_gcd % SECTOR == 0;
    far = far_access(blocks * average);
    access->read_across = (int64_t) (blocks * (read_across(block, spacing, is_aligned) + far));
    access->write_across = (int64_t) (blocks * (write_across(block, spacing, is_aligned) + far));
    if (blocks * min_of(LINE, average) > CACHE) {
        access->read = (int64_t) (blocks * own_access(LINE_READ, block, average));
        access->write = (int64_t) (blocks * own_access(LINE_WRITE, block, average));
        access->pack = (int64_t) (blocks * own_pack(block, average));
    }
}

int64_t MPII_Gpudt_pull_cost(int64_t read_across, const struct MPII_Gpudt_access *to)
{
    return read_across > to->write ? read_across : to->write;
}

int64_t MPII_Gpudt_push_cost(int64_t read, const struct MPII_Gpudt_access *to)
{
    return PUSH_COST + (read > to->write_across ? read : to->write_across);
}

int64_t MPII_Gpudt_stage_cost(int64_t n, int64_t segment, int64_t pack, int may_be_early,
                              int nothers)
{
    /* While one segment is packed, the one before is read */
    const int64_t first = n > segment ? pack / ((n + segment - 1) / segment) : pack;
    const double later = max_of(0, (double) (n - 2 * segment));
    int64_t among;

    if (may_be_early && nothers == 0)
        return EARLY_COST + first + (int64_t) (EARLY_SHARE * ((double) n - later) +
                                               EARLY_SHARE_LATER * later);
    among = (STAGE_COST + (int64_t) (STAGE_SHARE * (double) n) + first) / (1 + nothers);
    return among > STAGE_EACH - n ? among : STAGE_EACH - n;
}
