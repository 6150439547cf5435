/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Nonblocking collectives by copies from the other processes' memory (MPIR_CVAR_GPUDT_COLL): many in
 * flight on communicators that overlap, with blocking ones between them, with datatypes and
 * communicators that are freed meanwhile, and with a process that comes late. Every result is
 * computed. Performance variables tell whether they went that way. */

#include "collectives.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_PENDING 48

static int rank, nprocs;
static enum mem_kind kind = MEM__DEVICE;        /* of this process: one of two GPUs */

#define NLATE 4                 /* kinds of calls that are made with a process that comes late */

static void computed_end(struct computed *p)
{
    computed_check(p);
    computed_free(p);
}

/* The GPU becomes idle whatever MPI has in flight. */
static void gpu_synchronize(void)
{
    CU(CtxSynchronize());
}

/* Wait for calls in a random order, now and then with a single test or with the GPU idle. */
static void pending_complete(struct computed *p, int n, struct rng *rng)
{
    MPI_Request *requests = malloc((size_t) n * sizeof(MPI_Request));
    int index, is_done;

    for (int i = 0; i < n; i++)
        requests[i] = p[i].request;
    for (int left = n; left > 0; left--) {
        if (rng_chance(rng, 20))
            gpu_synchronize();
        if (rng_chance(rng, 50)) {
            index = (int) rng_range(rng, 0, n - 1);
            is_done = 0;
            while (requests[index] == MPI_REQUEST_NULL)
                index = (index + 1) % n;
            CHECK_MPI(MPI_Test(&requests[index], &is_done, MPI_STATUS_IGNORE));
            if (!is_done)
                CHECK_MPI(MPI_Wait(&requests[index], MPI_STATUS_IGNORE));
        } else {
            CHECK_MPI(MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE));
        }
        computed_end(&p[index]);
    }
    free(requests);
}

/* All kinds of calls in flight on all communicators, freed ones as well. Some have a process with host
 * memory, and so have blocking ones between them. */
static void together_run(const MPI_Comm * comms, int ncomms, unsigned long seed, int may_be_host)
{
    static struct computed p[MAX_PENDING];
    struct rng common, own;
    int n = 0, in, out;

    rng_init(&common, seed);
    rng_init(&own, seed * 64 + (unsigned long) rank + 1);
    for (int i = 0; i < MAX_PENDING; i++) {
        enum what what = computed_whats[rng_range(&common, 0, NCOMPUTED - 1)];
        MPI_Comm comm = comms[rng_range(&common, 0, ncomms - 1)], copy;
        int is_freed = rng_chance(&common, 20), host = may_be_host && rng_chance(&common, 15) ?
            (int) rng_range(&common, 0, nprocs - 1) : -1;
        int is_blocking = rng_chance(&common, 10);

        if (comm == MPI_COMM_NULL)
            continue;
        if (is_freed)
            MPI_Comm_dup(comm, &copy);
        computed_make(&p[n], what, i, rank == host ? MEM__PAGEABLE : kind, comm);
        CHECK_MPI(computed_start(&p[n++], MODE__NONBLOCKING, is_freed ? copy : comm));
        if (is_freed)
            MPI_Comm_free(&copy);
        if (is_blocking) {
            in = rank;
            CHECK_MPI(MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_MAX, comm));
            CHECK(out >= rank);
        }
        if (rng_chance(&own, 10))
            gpu_synchronize();
    }
    pending_complete(p, n, &own);
}

/* A process calls late. The others get on, and can synchronize their GPU. Returns whether all of them
 * did so in time. */
static int late_once(MPI_Comm comm, enum what what, int late)
{
    enum { USECONDS = 300000 };
    struct computed p;
    double start;
    int is_done, is_in_time = 1;

    computed_make(&p, what, late, kind, comm);
    MPI_Barrier(comm);
    if (rank == late)
        usleep(USECONDS);
    start = MPI_Wtime();
    CHECK_MPI(computed_start(&p, MODE__NONBLOCKING, comm));
    if (rank != late) {
        CHECK_MPI(MPI_Test(&p.request, &is_done, MPI_STATUS_IGNORE));
        gpu_synchronize();
        is_in_time = MPI_Wtime() - start < USECONDS * 0.5e-6;
    }
    CHECK_MPI(MPI_Wait(&p.request, MPI_STATUS_IGNORE));
    computed_end(&p);
    CHECK_MPI(MPI_Allreduce(MPI_IN_PLACE, &is_in_time, 1, MPI_INT, MPI_MIN, comm));
    return is_in_time;
}

/* Again if others keep the processors busy. */
static void late_run(MPI_Comm comm, enum what what)
{
    for (int late = 0; late < nprocs; late += nprocs - 1) {
        int tries = 5, is_in_time;

        do {
            is_in_time = late_once(comm, what, late);
        } while (!is_in_time && --tries);
        if (!is_in_time)
            report_fail("%s waited for a process that was late", call_name(what));
    }
}

static void begin(void)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    if (mem_exists(MEM__OTHER_DEVICE) && rank % 2)
        kind = MEM__OTHER_DEVICE;
}

void pending_run(unsigned long seed)
{
    MPI_Comm comms[4];
    long before;

    begin();
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, nprocs - rank, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, rank > 0 || nprocs == 2 ? 0 : MPI_UNDEFINED, rank, &comms[2]);
    MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : MPI_UNDEFINED, rank, &comms[3]);
    before = direct_count();
    for (int i = 0; i < 4; i++)
        together_run(comms, 4, seed * 10 + (unsigned long) i, i % 2);
    if (direct_count() - before < 2 * MAX_PENDING)
        report_fail("only %ld parts and blocks were done directly", direct_count() - before);
    before = direct_count();
    for (int i = 0; i < NLATE; i++)
        late_run(comms[0], computed_whats[i]);
    if (direct_count() - before < 2 * NLATE)
        report_fail("only %ld parts and blocks were done directly with late processes",
                    direct_count() - before);
    for (int i = 0; i < 4; i++) {
        if (comms[i] != MPI_COMM_NULL)
            MPI_Comm_free(&comms[i]);
    }
}
