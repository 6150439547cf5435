/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests random partitioned messages: other numbers of partitions and other datatypes at the two
 * ends, several between any two processes and of a process to itself, some with the same tag,
 * started again and made ready in any order, beside plain messages with the same tags. Any number
 * of processes. All of them make the same random choices.
 *
 *     part_random [-seed=N] [-cases=N] */

#include "mpi.h"
#include "mpitest.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MAX_CHANNELS 6
#define ALIEN (-7)

/* One end of a partitioned message. */
struct end {
    int nparts;
    int count;                  /* elements of a partition */
    int ints;                   /* of an element */
    int is_strided;
    MPI_Datatype type;
    MPI_Request request;
    int *buf;
};

struct channel {
    int source, dest, tag;
    int total;                  /* ints */
    struct end send, recv;
};

static struct channel channels[MAX_CHANNELS];
static int nchannels, rank, nprocs, errs = 0;
static unsigned shared;         /* state of the random numbers that all processes draw alike */
static unsigned own;

static int pick(unsigned *state, int n)
{
    *state = *state * 1103515245u + 12345u;
    return (int) ((*state >> 8) % (unsigned) n);
}

static void fail(const char *what, int channel, int at, int seen, int expected)
{
    if (errs++ < 10)
        fprintf(stderr, "rank %d, channel %d: %s %d is %d, expected %d\n", rank, channel, what, at,
                seen, expected);
}

static int value(int channel, int iteration, int i)
{
    return channel * 1000003 + iteration * 70001 + i;
}

static int gcd(int a, int b)
{
    return b ? gcd(b, a % b) : a;
}

/* ---- buffers ---- */

static int extent_of(const struct end *end)
{
    return end->is_strided ? 2 * end->ints : end->ints;
}

/* Where int i of the message is. */
static int *place(const struct end *end, int i)
{
    int step = end->is_strided ? 2 : 1;

    return end->buf + i / end->ints * extent_of(end) + i % end->ints * step;
}

static void end_make(struct end *end, int total)
{
    int n = total / end->ints * extent_of(end) + 1;
    MPI_Datatype vector;

    end->count = total / (end->nparts * end->ints);
    if (end->is_strided) {
        MPI_Type_vector(end->ints, 1, 2, MPI_INT, &vector);
        MPI_Type_create_resized(vector, 0, 2 * end->ints * (MPI_Aint) sizeof(int), &end->type);
        MPI_Type_free(&vector);
    } else {
        MPI_Type_contiguous(end->ints, MPI_INT, &end->type);
    }
    MPI_Type_commit(&end->type);
    end->buf = malloc(n * sizeof(int));
    for (int i = 0; i < n; i++)
        end->buf[i] = ALIEN;
}

static void end_free(struct end *end)
{
    MPI_Request_free(&end->request);
    free(end->buf);
}

static void fill(struct channel *c, int id, int iteration)
{
    if (rank == c->source) {
        for (int i = 0; i < c->total; i++)
            *place(&c->send, i) = value(id, iteration, i);
    }
    if (rank == c->dest) {
        for (int i = 0; i < c->total; i++)
            *place(&c->recv, i) = ALIEN;
    }
}

/* Ints first to last - 1 of a received message, and the gaps between them. */
static void check(const struct channel *c, int id, int iteration, int first, int last)
{
    for (int i = first; i < last; i++) {
        const int *seen = place(&c->recv, i);
        if (*seen != value(id, iteration, i))
            fail("int", id, i, *seen, value(id, iteration, i));
        if (c->recv.is_strided && seen[1] != ALIEN)
            fail("gap behind int", id, i, seen[1], ALIEN);
    }
}

/* ---- a case ---- */

static void end_choose(struct end *end)
{
    static const int sizes[] = { 1, 1, 2, 3, 4, 6, 300 };

    end->nparts = 1 + pick(&shared, 12);
    end->ints = sizes[pick(&shared, 7)];
    end->is_strided = pick(&shared, 2);
    end->request = MPI_REQUEST_NULL;
}

static void channel_make(struct channel *c)
{
    int a, b;

    c->source = pick(&shared, nprocs);
    c->dest = pick(&shared, nprocs);
    c->tag = pick(&shared, 2);
    end_choose(&c->send);
    end_choose(&c->recv);
    a = c->send.nparts * c->send.ints;
    b = c->recv.nparts * c->recv.ints;
    c->total = a / gcd(a, b) * b;
    if (c->total < 5000)
        c->total *= 1 + pick(&shared, 5000 / c->total + 1);
    if (pick(&shared, 20) == 0)
        c->total = 0;
    end_make(&c->send, c->total);
    end_make(&c->recv, c->total);
    if (rank == c->source)
        MPI_Psend_init(c->send.buf, c->send.nparts, c->send.count, c->send.type, c->dest, c->tag,
                       MPI_COMM_WORLD, MPI_INFO_NULL, &c->send.request);
    if (rank == c->dest)
        MPI_Precv_init(c->recv.buf, c->recv.nparts, c->recv.count, c->recv.type, c->source, c->tag,
                       MPI_COMM_WORLD, MPI_INFO_NULL, &c->recv.request);
    /* The requests keep them */
    MPI_Type_free(&c->send.type);
    MPI_Type_free(&c->recv.type);
}

static void channel_free(struct channel *c)
{
    if (rank == c->source)
        end_free(&c->send);
    else
        free(c->send.buf);
    if (rank == c->dest)
        end_free(&c->recv);
    else
        free(c->recv.buf);
}

/* Make partitions ready in random order, by any of the three calls. */
static void make_ready(struct end *end)
{
    int order[12], n = end->nparts;

    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int j = pick(&own, i + 1), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
    if (pick(&own, 3) == 0) {
        int low = pick(&own, n);
        MPI_Pready_range(low, n - 1, end->request);
        for (int i = 0; i < n; i++) {
            if (order[i] < low)
                MPI_Pready(order[i], end->request);
        }
    } else {
        int at = pick(&own, n + 1);
        MPI_Pready_list(at, order, end->request);
        for (int i = at; i < n; i++)
            MPI_Pready(order[i], end->request);
    }
}

static void poll_arrival(struct channel *c, int id, int iteration)
{
    int part = pick(&own, c->recv.nparts), flag;
    int ints = c->recv.count * c->recv.ints;

    MPI_Parrived(c->recv.request, part, &flag);
    if (flag)
        check(c, id, iteration, part * ints, (part + 1) * ints);
}

/* A plain message with a tag of the partitioned ones, around all processes. */
static void plain(int iteration)
{
    int to = iteration, from = -1;

    MPI_Sendrecv(&to, 1, MPI_INT, (rank + 1) % nprocs, 0, &from, 1, MPI_INT,
                 (rank + nprocs - 1) % nprocs, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (from != iteration)
        fail("plain message", -1, iteration, from, iteration);
}

static void complete(MPI_Request * requests, MPI_Status * statuses, int n)
{
    int flag = 0, index;

    switch (pick(&own, 3)) {
        case 0:
            MPI_Waitall(n, requests, statuses);
            break;
        case 1:
            while (!flag)
                MPI_Testall(n, requests, &flag, statuses);
            break;
        default:
            for (int i = 0; i < n; i++) {
                MPI_Status status;
                MPI_Waitany(n, requests, &index, &status);
                statuses[index] = status;
            }
            break;
    }
}

static void iterate(int iteration)
{
    MPI_Request requests[2 * MAX_CHANNELS];
    MPI_Status statuses[2 * MAX_CHANNELS];
    int n = 0, k = 0, count;

    for (int i = 0; i < nchannels; i++) {
        fill(&channels[i], i, iteration);
        if (rank == channels[i].source)
            requests[n++] = channels[i].send.request;
        if (rank == channels[i].dest)
            requests[n++] = channels[i].recv.request;
    }
    MPI_Startall(n, requests);
    for (int i = 0; i < nchannels; i++) {
        struct channel *c = &channels[(i + iteration) % nchannels];
        if (rank == c->source)
            make_ready(&c->send);
        for (int j = 0; j < nchannels; j++) {
            if (rank == channels[j].dest)
                poll_arrival(&channels[j], j, iteration);
        }
    }
    plain(iteration);
    complete(requests, statuses, n);
    for (int i = 0; i < nchannels; i++) {
        struct channel *c = &channels[i];
        k += rank == c->source;
        if (rank != c->dest)
            continue;
        check(c, i, iteration, 0, c->total);
        MPI_Get_elements(&statuses[k], MPI_INT, &count);
        if (count != c->total)
            fail("count of status", i, k, count, c->total);
        if (statuses[k].MPI_SOURCE != c->source || statuses[k].MPI_TAG != c->tag)
            fail("source of status", i, k, statuses[k].MPI_SOURCE, c->source);
        k++;
    }
}

int main(int argc, char *argv[])
{
    MTestArgList *args;
    int seed, cases;

    MTest_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    args = MTestArgListCreate(argc, argv);
    seed = MTestArgListGetInt_with_default(args, "seed", (int) (time(NULL) % 1000000));
    cases = MTestArgListGetInt_with_default(args, "cases", 60);
    MTestArgListDestroy(args);
    MPI_Bcast(&seed, 1, MPI_INT, 0, MPI_COMM_WORLD);

    for (int i = 0; i < cases && errs == 0; i++) {
        shared = (unsigned) (seed + i) * 2654435761u;
        own = shared + rank;
        nchannels = 1 + pick(&shared, MAX_CHANNELS);
        for (int j = 0; j < nchannels; j++)
            channel_make(&channels[j]);
        for (int j = pick(&shared, 4); j > 0; j--)
            iterate(j);
        for (int j = 0; j < nchannels; j++)
            channel_free(&channels[j]);
        if (errs)
            fprintf(stderr, "again: part_random -seed=%d -cases=1\n", seed + i);
    }
    MTest_Finalize(errs);
    return MTestReturnValue(errs);
}
