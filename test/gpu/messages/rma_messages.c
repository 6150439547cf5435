/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Puts and gets whose data is a message of its own: each is counted, and its bytes are compared.
 *
 *     types      more datatypes of the target in turn than it keeps, long ones among them, freed while
 *                operations with them are under way
 *     many       more at a time than may be under way, by request forms, too
 *     threads    two threads, each with operations and flushes of its own
 *     posted     both processes post before the other one starts, and operations of one reach the other
 *                in between
 *     lengths    which lengths are messages by default; without the variables that change that
 *
 * A second argument, "host": the same with windows in host memory, which is for one node.
 *
 * Two processes. To be run with MPIR_CVAR_GPUDT_DIRECT=never, or on several nodes; but for `lengths` with
 * MPIR_CVAR_GPUDT_WIN_MSG_MIN=0 MPIR_CVAR_GPUDT_WIN_MSG_MIN_REMOTE=0. */

#include "report.h"
#include "side.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SZ (1 << 20)            /* bytes of a window, and of a buffer */
#define NTYPES 20
#define MANY 600
#define NTURNS 60

static int rank, other;
static int is_one_node;
static enum mem_kind window_kind = MEM__DEVICE;
static struct mem window, buffer;       /* the buffer is on the GPU */
static MPI_Win win;
static int *host;               /* as many bytes */

static unsigned long long nmessages(void)
{
    return report_variable("gpudt_window_messages");
}

static void begin(size_t sz)
{
    mem_alloc(&window, window_kind, sz);
    mem_alloc(&buffer, MEM__DEVICE, sz);
    host = calloc(1, sz);
    mem_write(&window, 0, host, sz);
    CHECK_MPI(MPI_Win_create(window.addr, (MPI_Aint) sz, sizeof(int), MPI_INFO_NULL,
                             MPI_COMM_WORLD, &win));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
}

static void end(void)
{
    CHECK_MPI(MPI_Win_free(&win));
    mem_free(&window);
    mem_free(&buffer);
    free(host);
}

/* Wait until the lock is granted: what is started before may go another way. */
static void locked(void)
{
    int any;

    CHECK_MPI(MPI_Fetch_and_op(NULL, &any, MPI_INT, other, 0, MPI_NO_OP, win));
    CHECK_MPI(MPI_Win_flush(other, win));
}

/* ---- datatypes ---- */

/* Every (t + 2)nd int; or, of the odd ones, ints at displacements that no stride describes. */
static MPI_Aint place(int t, int i)
{
    return t % 2 ? (MPI_Aint) i * (t + 2) + i * i % (t + 1) : (MPI_Aint) i * (t + 2);
}

static int type_n(int t)
{
    return t == 7 ? 9000 : 10 + t;
}

static MPI_Datatype type_make(int t)
{
    const int n = type_n(t);
    int *displs = malloc((size_t) n * sizeof(*displs));
    MPI_Datatype type;

    for (int i = 0; i < n; i++)
        displs[i] = (int) place(t, i);
    if (t % 2)
        MPI_Type_create_indexed_block(n, 1, displs, MPI_INT, &type);
    else
        MPI_Type_vector(n, 1, t + 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    free(displs);
    return type;
}

static void types(void)
{
    const unsigned long long ntypes = report_variable("gpudt_cached_types");
    unsigned seed = 1;
    int *seen = malloc(SZ);

    begin(SZ);
    for (int turn = 0; turn < NTURNS; turn++) {
        /* some of the last few datatypes again, which are new handles */
        const int t = turn % 3 ? turn % NTYPES : turn % 5;
        const int n = type_n(t);
        const unsigned long long before = nmessages();
        MPI_Datatype type = type_make(t);

        memset(host, 0, SZ);
        for (int i = 0; i < n; i++)
            host[i] = (int) (seed++);
        if (rank == 0) {
            mem_write(&buffer, 0, host, SZ);
            CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, win));
            locked();
            CHECK_MPI(MPI_Put(buffer.addr, n, MPI_INT, other, turn, 1, type, win));
            CHECK_MPI(MPI_Win_flush(other, win));
            CHECK_MPI(MPI_Get((int *) buffer.addr + SZ / 8, n, MPI_INT, other, turn, 1, type, win));
            /* the second one finds it at the target */
            MPI_Type_free(&type);
            CHECK_MPI(MPI_Win_unlock(other, win));
            CHECK(nmessages() == before + 2);
            mem_read(&buffer, SZ / 2, seen, (size_t) n * sizeof(int));
            CHECK(memcmp(seen, host, (size_t) n * sizeof(int)) == 0);
        } else {
            MPI_Type_free(&type);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1) {
            mem_read(&window, 0, seen, SZ);
            for (int i = 0; i < n; i++) {
                CHECK(seen[turn + place(t, i)] == host[i]);
                seen[turn + place(t, i)] = 0;
            }
            for (int i = 0; i < SZ / (int) sizeof(int); i++)
                CHECK(seen[i] == 0);
            memset(seen, 0, SZ);
            mem_write(&window, 0, seen, SZ);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    free(seen);
    end();
    /* Those that the target has kept are freed with the window */
    CHECK(report_variable("gpudt_cached_types") == ntypes);
}

/* ---- many ---- */

/* Both processes put to each other, and get from each other what they did not put. */
static void many(void)
{
    const int n = SZ / 4 / MANY / (int) sizeof(int);    /* ints of an operation */
    const int quarter = SZ / 4 / (int) sizeof(int);
    const unsigned long long before = nmessages();
    static MPI_Request reqs[MANY];
    int nreqs = 0;

    begin(SZ);
    for (int i = 0; i < quarter; i++) {
        host[i] = 1000000 * (rank + 1) + i;     /* to be put to the first quarter */
        host[quarter + i] = -host[i];   /* to be got from the second one */
    }
    mem_write(&buffer, 0, host, SZ);
    mem_write(&window, SZ / 4, host + quarter, SZ / 4);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_MPI(MPI_Win_lock_all(0, win));
    locked();
    for (int i = 0; i < MANY; i++) {
        int *at = (int *) buffer.addr + i * n, *into = at + 2 * quarter;

        if (i % 3) {
            CHECK_MPI(MPI_Put(at, n, MPI_INT, other, i * n, n, MPI_INT, win));
            CHECK_MPI(MPI_Get(into, n, MPI_INT, other, quarter + i * n, n, MPI_INT, win));
        } else {
            CHECK_MPI(MPI_Rput(at, n, MPI_INT, other, i * n, n, MPI_INT, win, &reqs[nreqs++]));
            CHECK_MPI(MPI_Rget(into, n, MPI_INT, other, quarter + i * n, n, MPI_INT, win,
                               &reqs[nreqs++]));
        }
    }
    CHECK_MPI(MPI_Waitall(nreqs, reqs, MPI_STATUSES_IGNORE));
    CHECK_MPI(MPI_Win_unlock_all(win));
    CHECK(nmessages() == before + 2 * MANY);
    mem_read(&buffer, 0, host, SZ);
    for (int i = 0; i < MANY * n; i++)
        CHECK(host[2 * quarter + i] == -1000000 * (other + 1) - i);
    MPI_Barrier(MPI_COMM_WORLD);
    mem_read(&window, 0, host, SZ);
    for (int i = 0; i < MANY * n; i++)
        CHECK(host[i] == 1000000 * (other + 1) + i);
    end();
}

/* ---- threads ---- */

#define BLOCK 5000              /* ints */

/* Puts a block and gets it to where the next one is put from; the argument is the first int of the
 * thread's part of the buffers. */
static void *thread(void *arg)
{
    const int first = *(int *) arg;
    int *at = (int *) buffer.addr + first;

    for (int turn = 0; turn < NTURNS; turn++) {
        CHECK_MPI(MPI_Put(at, BLOCK, MPI_INT, other, first, BLOCK, MPI_INT, win));
        CHECK_MPI(MPI_Win_flush(other, win));
        at += BLOCK;
        CHECK_MPI(MPI_Get(at, BLOCK, MPI_INT, other, first, BLOCK, MPI_INT, win));
        CHECK_MPI(MPI_Win_flush(other, win));
    }
    return NULL;
}

static void threads(void)
{
    int first[] = { 0, (NTURNS + 1) * BLOCK };
    const unsigned long long before = nmessages();
    pthread_t id;

    if (!report_may_thread(NULL))
        return;
    begin(2 * (NTURNS + 1) * BLOCK * sizeof(int));
    for (int i = 0; i < BLOCK; i++)
        host[i] = 1000000 * (rank + 1) + i;
    for (int k = 0; k < 2; k++)
        mem_write(&buffer, (size_t) first[k] * sizeof(int), host, BLOCK * sizeof(int));
    CHECK_MPI(MPI_Win_lock_all(0, win));
    locked();
    pthread_create(&id, NULL, thread, &first[1]);
    thread(&first[0]);
    pthread_join(id, NULL);
    CHECK_MPI(MPI_Win_unlock_all(win));
    CHECK(nmessages() == before + 4 * NTURNS);
    for (int k = 0; k < 2; k++) {
        mem_read(&buffer, (size_t) (first[k] + NTURNS * BLOCK) * sizeof(int), host,
                 BLOCK * sizeof(int));
        for (int i = 0; i < BLOCK; i++)
            CHECK(host[i] == 1000000 * (rank + 1) + i);
    }
    end();
}

/* ---- posted ---- */

#define NPUTS 7                 /* of an epoch */

static void posted(void)
{
    const unsigned long long before = nmessages();
    int seen[NPUTS];
    MPI_Group all, group;

    begin(SZ);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &other, &group);
    for (int turn = 0; turn < NTURNS; turn++) {
        for (int i = 0; i < NPUTS; i++)
            host[i] = 1000000 * (rank + 1) + 100 * turn + i;
        mem_write(&buffer, 0, host, sizeof(seen));
        CHECK_MPI(MPI_Win_post(group, 0, win));
        for (int i = 0; rank == turn % 2 && i < 2000; i++) {
            int flag;
            MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        }
        CHECK_MPI(MPI_Win_start(group, 0, win));
        for (int i = 0; i < NPUTS; i++)
            CHECK_MPI(MPI_Put((int *) buffer.addr + i, 1, MPI_INT, other, i, 1, MPI_INT, win));
        CHECK_MPI(MPI_Win_complete(win));
        CHECK_MPI(MPI_Win_wait(win));
        mem_read(&window, 0, seen, sizeof(seen));
        for (int i = 0; i < NPUTS; i++)
            CHECK(seen[i] == 1000000 * (other + 1) + 100 * turn + i);
    }
    CHECK(nmessages() > before);
    MPI_Group_free(&all);
    MPI_Group_free(&group);
    end();
}

/* ---- lengths ---- */

static void lengths(void)
{
    const bool is_gpu = window_kind == MEM__DEVICE;
    const int least = !is_one_node ? 131072 : is_gpu ? 4096 : 16 * 4096;
    unsigned long long before;
    char *sent = malloc(least), *seen = malloc(least);

    begin(SZ);
    for (int i = 0; i < least; i++)
        sent[i] = (char) side_byte((unsigned) rank, i);
    mem_write(&buffer, 0, sent, least);
    CHECK_MPI(MPI_Win_lock_all(0, win));
    locked();
    before = nmessages();
    CHECK_MPI(MPI_Put(buffer.addr, least - 1, MPI_BYTE, other, 0, least - 1, MPI_BYTE, win));
    CHECK(nmessages() == before);
    CHECK_MPI(MPI_Win_flush(other, win));
    CHECK_MPI(MPI_Put(buffer.addr, least, MPI_BYTE, other, 0, least, MPI_BYTE, win));
    CHECK(nmessages() == before + (is_one_node || is_gpu));
    CHECK_MPI(MPI_Win_flush(other, win));
    /* to host memory, only from GPUs of the node */
    CHECK_MPI(MPI_Get(host, least, MPI_BYTE, other, 0, least, MPI_BYTE, win));
    CHECK(nmessages() == before + (is_one_node || is_gpu) + (is_one_node && is_gpu));
    CHECK_MPI(MPI_Win_unlock_all(win));
    report_compare("what was got", host, sent, least);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < least; i++)
        sent[i] = (char) side_byte((unsigned) other, i);
    mem_read(&window, 0, seen, least);
    report_compare("a window", seen, sent, least);
    free(sent);
    free(seen);
    end();
}

int main(int argc, char **argv)
{
    static const struct report_case cases[] = {
        {"types", types}, {"many", many}, {"threads", threads}, {"posted", posted},
        {"lengths", lengths}
    };
    MPI_Comm node;
    int provided;

    report_time_limit(120);
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &is_one_node);
    is_one_node = is_one_node == 2;
    MPI_Comm_free(&node);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    if (argc > 2 && strcmp(argv[2], "host") == 0)
        window_kind = MEM__PAGEABLE;
    report_case_run(cases, sizeof(cases) / sizeof(cases[0]), argc > 1 ? argv[1] : NULL);
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
