/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Collectives on many arrays in turn, each in an allocation of its own, as programs have them. After some
 * rounds, in which mapping them has paid off, reductions and broadcasts are direct, and processes do not
 * tell each other again where the data of broadcasts is. What is remembered of earlier calls is
 * replaced by more arrays than it has room for, in another order in each process, and by other roots. */

#include "collectives.h"
#include "report.h"

#define MAX_ARRAYS 320
#define FEW 5                   /* of broadcasts */
#define N 480                   /* ints of an array; a multiple of twice the number of processes */
#define WARM_UP 11              /* rounds */
#define ROUNDS 3
#define MAX_PERIOD 7            /* of a process in all-to-alls */

static int rank, nprocs;
static struct mem from[MAX_ARRAYS], to;
static MPI_Datatype strided;    /* every second of N ints */

/* Compare every step-th element with a * i + b, and the others with -1. */
static void check(const char *what, int number, const struct mem *mem, int step, int a, int b)
{
    int values[N];

    mem_read(mem, 0, values, sizeof(values));
    for (int i = 0; i < N; i++) {
        const int expected = i % step ? -1 : a * i + b;
        if (values[i] != expected) {
            report_fail("%s %d: element %d is %d, expected %d", what, number, i, values[i], expected);
            return;
        }
    }
}

/* Set element i to a * i + b. */
static void fill(struct mem *mem, int a, int b)
{
    int values[N];

    for (int i = 0; i < N; i++)
        values[i] = a * i + b;
    mem_write(mem, 0, values, sizeof(values));
}

static void reductions_run(int narrays, int round)
{
    for (int k = 0; k < narrays; k++) {
        fill(&from[k], k, round + rank);
        CHECK_MPI(MPI_Allreduce(from[k].addr, to.addr, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        check("reduction", k, &to, 1, nprocs * k, nprocs * round + nprocs * (nprocs - 1) / 2);
    }
}

static void bcasts_run(int round, int root)
{
    for (int k = 0; k < FEW; k++) {
        fill(&from[k], rank == root ? k : 0, rank == root ? round : -1);
        CHECK_MPI(MPI_Bcast(from[k].addr, 1, strided, root, MPI_COMM_WORLD));
        check("broadcast", k, &from[k], rank == root ? 1 : 2, k, round);
    }
}

/* Each process takes its arrays in turn with a period of its own. */
static void alltoalls_run(int ncalls)
{
    const int n = N / 2 / nprocs, period = MAX_PERIOD - rank % 4;
    MPI_Datatype type;
    int values[N], expected[N];

    MPI_Type_vector(n, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int k = 0; k < ncalls; k++) {
        fill(&from[k % period], k, rank);
        fill(&to, 0, -1);
        CHECK_MPI(MPI_Alltoall(from[k % period].addr, 1, type, to.addr, n, MPI_INT, MPI_COMM_WORLD));
        for (int i = 0; i < N; i++) {
            const int other = i / n, extent = 2 * n - 1;
            expected[i] = other < nprocs ? k * (rank * extent + i % n * 2) + other : -1;
        }
        mem_read(&to, 0, values, sizeof(values));
        report_compare("an all-to-all", values, expected, sizeof(values));
    }
    MPI_Type_free(&type);
}

static void reductions_check(int narrays)
{
    const int nworkers = mem_exists(MEM__OTHER_DEVICE) && nprocs == 2 ? 2 : 1;
    long before, n;

    for (int i = 0; i < WARM_UP; i++)
        reductions_run(narrays, i);
    before = direct_count();
    for (int i = 0; i < ROUNDS; i++)
        reductions_run(narrays, WARM_UP + i);
    n = direct_count() - before;
    if (n < ROUNDS * narrays * nworkers)
        report_fail("%ld of %d parts of reductions are direct", n, ROUNDS * narrays * nworkers);
}

/* On a GPU that processes share they go by messages. */
static void bcasts_check(void)
{
    unsigned long long kept;
    long before, n;

    for (int i = 0; i < WARM_UP; i++)
        bcasts_run(i, nprocs - 1);
    before = direct_count();
    kept = report_variable("gpudt_offers_kept");
    for (int i = 0; i < ROUNDS; i++)
        bcasts_run(WARM_UP + i, nprocs - 1);
    kept = report_variable("gpudt_offers_kept") - kept;
    n = direct_count() - before;
    if (mem_exists(MEM__OTHER_DEVICE) && nprocs == 2 && (n != ROUNDS * FEW || kept != ROUNDS * FEW))
        report_fail("%ld of %d broadcasts are direct, %llu without an exchange", n, ROUNDS * FEW,
                    kept);
}

void in_turn_run(void)
{
    enum mem_kind kind;
    int narrays;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    kind = rank % 2 && mem_exists(MEM__OTHER_DEVICE) ? MEM__OTHER_DEVICE : MEM__DEVICE;
    narrays = MAX_ARRAYS / 2 / (nprocs - 1);
    for (int k = 0; k < MAX_ARRAYS; k++)
        mem_alloc(&from[k], kind, N * sizeof(int));
    mem_alloc(&to, kind, N * sizeof(int));
    MPI_Type_vector(N / 2, 1, 2, MPI_INT, &strided);
    MPI_Type_commit(&strided);

    reductions_check(narrays);
    for (int i = 0; i < 2; i++)
        reductions_run(2 * narrays, i);
    bcasts_check();
    for (int i = 0; i < 4 * nprocs; i++)
        bcasts_run(i, i % nprocs);
    alltoalls_run(200);

    MPI_Type_free(&strided);
    mem_free(&to);
    for (int k = 0; k < MAX_ARRAYS; k++)
        mem_free(&from[k]);
}
