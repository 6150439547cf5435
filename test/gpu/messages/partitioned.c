/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests random partitioned messages between buffers of any kind of memory: other numbers of
 * partitions and other datatypes at the two ends, several in flight in both directions, started
 * several times, beside plain messages; and between buffers at MPI_BOTTOM in host and GPU memory. Two
 * processes, which make the same random choices.
 *
 *     partitioned SEED CASES */

#include "randtype.h"
#include "report.h"
#include "side.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_CHANNELS 4

static int rank, other;
static struct rng rng;          /* draws alike in both processes */

/* A partitioned message from process 0 or 1; one of its ends is here. */
struct channel {
    int source;
    int nparts;                 /* of my end */
    int count;
    MPI_Datatype type;
    struct side side;
    MPI_Request request;
};

static int pick(int n)
{
    return (int) rng_range(&rng, 0, n - 1);
}

static int gcd(int a, int b)
{
    return b ? gcd(b, a % b) : a;
}

static MPI_Datatype type_make(int ints, int layout)
{
    MPI_Datatype type, part;

    if (layout == 0)
        MPI_Type_contiguous(ints, MPI_INT, &type);
    else if (layout == 1) {
        MPI_Type_vector(ints, 1, 2, MPI_INT, &part);
        MPI_Type_create_resized(part, 0, 8 * (MPI_Aint) ints, &type);
        MPI_Type_free(&part);
    } else {
        MPI_Type_create_hvector(ints, 1, 12, MPI_INT, &part);
        MPI_Type_create_resized(part, 0, 12 * (MPI_Aint) ints + 8, &type);
        MPI_Type_free(&part);
    }
    MPI_Type_commit(&type);
    return type;
}

static enum mem_kind kind_pick(void)
{
    enum mem_kind kind = pick(2) ? MEM__DEVICE : pick(MEM__NKINDS);

    return mem_exists(kind) ? kind : MEM__PAGEABLE;
}

static void channel_make(struct channel *c)
{
    static const int sizes[] = { 1, 2, 3, 5, 400, 3000 };
    int nparts[2], ints[2], layout[2], total, mine;
    enum mem_kind kinds[2];

    c->source = pick(2);
    for (int i = 0; i < 2; i++) {
        nparts[i] = 1 + pick(9);
        ints[i] = sizes[pick(6)];
        layout[i] = pick(3);
        kinds[i] = kind_pick();
    }
    total = nparts[0] * ints[0] / gcd(nparts[0] * ints[0], nparts[1] * ints[1]);
    total *= nparts[1] * ints[1];
    if (total < 30000)
        total *= 1 + pick(30000 / total + 1);

    mine = rank == c->source ? 0 : 1;
    c->nparts = nparts[mine];
    c->count = total / (nparts[mine] * ints[mine]);
    c->type = type_make(ints[mine], layout[mine]);
    side_make(&c->side, kinds[mine], c->type, c->nparts * (MPI_Aint) c->count, 0);
    if (mine == 0)
        CHECK_MPI(MPI_Psend_init(c->side.buf, c->nparts, c->count, c->type, other, 0,
                                 MPI_COMM_WORLD, MPI_INFO_NULL, &c->request));
    else
        CHECK_MPI(MPI_Precv_init(c->side.buf, c->nparts, c->count, c->type, other, 0,
                                 MPI_COMM_WORLD, MPI_INFO_NULL, &c->request));
}

static void channel_free(struct channel *c)
{
    CHECK_MPI(MPI_Request_free(&c->request));
    side_free(&c->side);
    MPI_Type_free(&c->type);
}

/* All partitions, in an order that depends on the round. */
static void make_ready(struct channel *c, int round)
{
    int first = round % c->nparts;

    for (int i = first; i < c->nparts; i++)
        CHECK_MPI(MPI_Pready(i, c->request));
    if (first > 0)
        CHECK_MPI(MPI_Pready_range(0, first - 1, c->request));
}

/* Wait for a partition; its data must be there. */
static void see_arrive(struct channel *c, int part, unsigned seed)
{
    MPI_Aint sz = c->side.size / c->nparts, extent, lb;
    unsigned char *seen = malloc(sz);
    int flag = 0, position = 0;

    while (!flag)
        CHECK_MPI(MPI_Parrived(c->request, part, &flag));
    MPI_Type_get_extent(c->type, &lb, &extent);
    CHECK_MPI(MPI_Pack(c->side.buf + part * c->count * extent, c->count, c->type, seen, (int) sz,
                       &position, MPI_COMM_SELF));
    for (MPI_Aint i = 0; i < sz; i++) {
        if (seen[i] != side_byte(seed, part * sz + i)) {
            report_fail("byte %ld of partition %d is wrong when it arrives", (long) i, part);
            break;
        }
    }
    free(seen);
}

static void plain_message(unsigned seed)
{
    struct side s;

    side_make(&s, MEM__DEVICE, MPI_INT, 5000, 0);
    if (rank == 0) {
        side_fill(&s, seed);
        CHECK_MPI(MPI_Send(s.buf, 5000, MPI_INT, other, 0, MPI_COMM_WORLD));
    } else {
        side_clear(&s, seed);
        CHECK_MPI(MPI_Recv(s.buf, 5000, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        side_check(&s, "a plain message", seed, s.size);
    }
    side_free(&s);
}

static void iterate(struct channel *channels, int n, int round, unsigned seed)
{
    MPI_Request requests[MAX_CHANNELS];
    MPI_Status statuses[MAX_CHANNELS];
    MPI_Count got;

    for (int i = 0; i < n; i++) {
        requests[i] = channels[i].request;
        if (rank == channels[i].source)
            side_fill(&channels[i].side, seed + i);
        else
            side_clear(&channels[i].side, seed + i);
    }
    CHECK_MPI(MPI_Startall(n, requests));
    for (int i = 0; i < n; i++) {
        if (rank == channels[i].source)
            make_ready(&channels[i], round);
    }
    plain_message(seed);
    for (int i = 0; i < n; i++) {
        if (rank != channels[i].source && round != 1)
            see_arrive(&channels[i], (int) (seed % channels[i].nparts), seed + i);
    }
    CHECK_MPI(MPI_Waitall(n, requests, statuses));
    for (int i = 0; i < n; i++) {
        if (rank == channels[i].source)
            continue;
        side_check(&channels[i].side, "a received buffer", seed + i, channels[i].side.size);
        MPI_Get_elements_x(&statuses[i], MPI_BYTE, &got);
        CHECK(got == channels[i].side.size && statuses[i].MPI_SOURCE == other);
    }
}

static void run_case(unsigned seed)
{
    struct channel channels[MAX_CHANNELS];
    int before = report_failures, n;

    rng_init(&rng, seed);
    n = 1 + pick(MAX_CHANNELS);
    for (int i = 0; i < n; i++)
        channel_make(&channels[i]);
    for (int round = 0; round < 3; round++)
        iterate(channels, n, round, seed * 20 + round * 5);
    for (int i = 0; i < n; i++)
        channel_free(&channels[i]);
    if (report_failures != before)
        fprintf(stderr, "again: partitioned %u 1\n", seed);
}

/* ---- buffers at MPI_BOTTOM: each partition has integers of host memory and of GPU memory ---- */

#define INTS 1500
#define NPARTS 4

struct both {
    int host[NPARTS * INTS];
    struct mem gpu;
    MPI_Datatype type;
};

static void both_make(struct both *b)
{
    MPI_Datatype part;
    MPI_Aint displs[2];

    mem_alloc(&b->gpu, MEM__DEVICE, sizeof(b->host));
    MPI_Get_address(b->host, &displs[0]);
    MPI_Get_address(b->gpu.addr, &displs[1]);
    MPI_Type_create_hindexed_block(2, INTS, displs, MPI_INT, &part);
    MPI_Type_create_resized(part, 0, INTS * sizeof(int), &b->type);
    MPI_Type_free(&part);
    MPI_Type_commit(&b->type);
}

static void both_fill(struct both *b, int from)
{
    static int values[NPARTS * INTS];

    for (int i = 0; i < NPARTS * INTS; i++) {
        b->host[i] = from ? from + i : 0;
        values[i] = -b->host[i];
    }
    mem_write(&b->gpu, 0, values, sizeof(values));
}

static void both_check(const struct both *b, int from)
{
    static int values[NPARTS * INTS];

    mem_read(&b->gpu, 0, values, sizeof(values));
    for (int i = 0; i < NPARTS * INTS; i++) {
        if (b->host[i] != from + i || values[i] != -b->host[i]) {
            report_fail("integers %d of a buffer at MPI_BOTTOM are %d and %d", i, b->host[i],
                        values[i]);
            break;
        }
    }
}

static void run_absolute(void)
{
    static struct both b;
    MPI_Request req;

    both_make(&b);
    if (rank == 0)
        CHECK_MPI(MPI_Psend_init(MPI_BOTTOM, NPARTS, 1, b.type, other, 0, MPI_COMM_WORLD,
                                 MPI_INFO_NULL, &req));
    else
        CHECK_MPI(MPI_Precv_init(MPI_BOTTOM, NPARTS, 1, b.type, other, 0, MPI_COMM_WORLD,
                                 MPI_INFO_NULL, &req));
    for (int round = 1; round < 3; round++) {
        both_fill(&b, rank == 0 ? round * 100000 : 0);
        CHECK_MPI(MPI_Start(&req));
        if (rank == 0)
            CHECK_MPI(MPI_Pready_range(0, NPARTS - 1, req));
        CHECK_MPI(MPI_Wait(&req, MPI_STATUS_IGNORE));
        if (rank != 0)
            both_check(&b, round * 100000);
    }
    CHECK_MPI(MPI_Request_free(&req));

    /* from partitions that are messages of their own */
    if (rank == 0) {
        int *ints = malloc(2 * sizeof(b.host));

        for (int i = 0; i < NPARTS; i++) {
            for (int k = 0; k < INTS; k++) {
                ints[2 * i * INTS + k] = 500000 + i * INTS + k;
                ints[(2 * i + 1) * INTS + k] = -500000 - i * INTS - k;
            }
        }
        CHECK_MPI(MPI_Psend_init(ints, NPARTS, 2 * INTS, MPI_INT, other, 0, MPI_COMM_WORLD,
                                 MPI_INFO_NULL, &req));
        CHECK_MPI(MPI_Start(&req));
        CHECK_MPI(MPI_Pready_range(0, NPARTS - 1, req));
        CHECK_MPI(MPI_Wait(&req, MPI_STATUS_IGNORE));
        free(ints);
    } else {
        both_fill(&b, 0);
        CHECK_MPI(MPI_Precv_init(MPI_BOTTOM, NPARTS, 1, b.type, other, 0, MPI_COMM_WORLD,
                                 MPI_INFO_NULL, &req));
        CHECK_MPI(MPI_Start(&req));
        CHECK_MPI(MPI_Wait(&req, MPI_STATUS_IGNORE));
        both_check(&b, 500000);
    }
    CHECK_MPI(MPI_Request_free(&req));
    MPI_Type_free(&b.type);
    mem_free(&b.gpu);
}

int main(int argc, char *argv[])
{
    unsigned seed = argc > 1 ? (unsigned) strtoul(argv[1], NULL, 10) : 1;
    int cases = argc > 2 ? atoi(argv[2]) : 20;

    MPI_Init(&argc, &argv);
    report_time_limit(300);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    for (int i = 0; i < cases && report_failures == 0; i++)
        run_case(seed + i);
    run_absolute();
    MPI_Finalize();
    return report_done();
}
