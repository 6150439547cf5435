/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Compares fetch-and-op and get-accumulate by the origin's GPU, which maps the target's window, with
 * what the CPU computes: all operations, many datatypes, origins and results in host and GPU memory,
 * aligned as the window is or not, elements in the window that are contiguous or not. Two processes, each of which is the origin for the other one, or
 * sometimes for itself. To be run with MPIR_CVAR_GPUDT_DIRECT=always. */

#include "report.h"
#include "side.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, other;
static enum mem_kind kind = MEM__DEVICE;

static unsigned long long ndirect(void)
{
    return report_variable("gpudt_window_direct");
}

enum { MAX_N = 70, MAX_BYTES = 16 * (MAX_N + 1) };

/* Groups of datatypes that MPI defines operations for. */
enum { INTEGER = 1, LOGICAL = 2, REAL = 4, COMPLEX = 8, BYTE = 16, PAIR = 32, ANY = 63 };

static const struct {
    MPI_Datatype type;
    int group;
    char values;                /* i: any bytes, b: 0 or 1, f, d, l: real numbers */
} types[] = {
    {MPI_SIGNED_CHAR, INTEGER, 'i'}, {MPI_UNSIGNED_CHAR, INTEGER, 'i'}, {MPI_SHORT, INTEGER, 'i'},
    {MPI_UINT16_T, INTEGER, 'i'}, {MPI_INT, INTEGER, 'i'}, {MPI_UNSIGNED, INTEGER, 'i'},
    {MPI_LONG, INTEGER, 'i'}, {MPI_UINT64_T, INTEGER, 'i'}, {MPI_AINT, INTEGER, 'i'},
    {MPI_C_BOOL, LOGICAL, 'b'}, {MPI_BYTE, BYTE, 'i'}, {MPI_FLOAT, REAL, 'f'},
    {MPI_DOUBLE, REAL, 'd'}, {MPI_LONG_DOUBLE, REAL, 'l'}, {MPI_C_FLOAT_COMPLEX, COMPLEX, 'f'},
    {MPI_C_DOUBLE_COMPLEX, COMPLEX, 'd'}, {MPI_2INT, PAIR, 'i'}, {MPI_FLOAT_INT, PAIR, 'f'},
    {MPI_SHORT_INT, PAIR, 'i'}, {MPI_LONG_INT, PAIR, 'i'}, {MPI_DOUBLE_INT, PAIR, 'd'}
};
static const struct {
    MPI_Op op;
    int groups;
} ops[] = {
    {MPI_SUM, INTEGER | REAL | COMPLEX}, {MPI_PROD, INTEGER | REAL | COMPLEX},
    {MPI_MAX, INTEGER | REAL}, {MPI_MIN, INTEGER | REAL}, {MPI_LAND, INTEGER | LOGICAL},
    {MPI_LOR, INTEGER | LOGICAL}, {MPI_LXOR, INTEGER | LOGICAL}, {MPI_BAND, INTEGER | BYTE},
    {MPI_BOR, INTEGER | BYTE}, {MPI_BXOR, INTEGER | BYTE}, {MPI_MAXLOC, PAIR}, {MPI_MINLOC, PAIR},
    {MPI_REPLACE, ANY}, {MPI_NO_OP, ANY}
};

static void values_fill(char *mem, char values, unsigned seed)
{
    long double l;

    srand(seed);
    for (size_t at = 0; at < MAX_BYTES; at += 16) {
        float f[4] = { (float) (rand() % 9 - 4), 1, (float) (rand() % 9 - 4), 3 };
        double d[2] = { rand() % 9 - 4, rand() % 9 - 4 };
        l = rand() % 9 - 4;
        for (int i = 0; i < 16; i++)
            mem[at + i] = (char) (values == 'b' ? rand() % 2 : rand());
        if (values != 'i' && values != 'b')
            memcpy(mem + at, values == 'f' ? (void *) f : values == 'd' ? (void *) d : &l, 16);
        if (values == 'l' && LDBL_MANT_DIG == 64)
            memset(mem + at + 10, 0, 6);        /* the gap at the end */
    }
}

/* What an operation leaves, by the CPU. */
static void expected_get(const char *origin, char *window, int n, MPI_Datatype type, MPI_Op op)
{
    if (op == MPI_REPLACE)
        CHECK_MPI(MPI_Sendrecv(origin, n, type, 0, 0, window, n, type, 0, 0, MPI_COMM_SELF,
                               MPI_STATUS_IGNORE));
    else if (op != MPI_NO_OP)
        CHECK_MPI(MPI_Reduce_local(origin, window, n, type, op));
}

/* One operation of each process on the other's window, or on its own. */
static void op_check(int t, MPI_Op op, int n, unsigned seed, struct mem *mem, MPI_Win win)
{
    static char window[MAX_BYTES], origin[MAX_BYTES], theirs[MAX_BYTES], result[MAX_BYTES],
        fetched[MAX_BYTES], got[MAX_BYTES];
    const MPI_Datatype type = types[t].type;
    enum mem_kind kinds[] = { seed % 3 ? kind : MEM__PAGEABLE, seed % 2 ? kind : MEM__PAGEABLE };
    struct mem from, to;
    const int peer = seed % 5 ? other : rank;
    MPI_Aint lb, extent, at;

    MPI_Type_get_extent(type, &lb, &extent);
    at = seed % 4 ? extent : 0; /* aligned as the origin is, or not */
    values_fill(window, types[t].values, 4 * seed + rank);
    values_fill(theirs, types[t].values, 4 * seed + 2 + peer);
    values_fill(origin, types[t].values, 4 * seed + 2 + rank);
    memset(result, 85, MAX_BYTES);
    mem_alloc(&from, kinds[0], MAX_BYTES);
    mem_alloc(&to, kinds[1], MAX_BYTES);
    mem_write(&from, 0, origin, MAX_BYTES);
    mem_write(&to, 0, result, MAX_BYTES);
    mem_write(mem, 0, window, MAX_BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
    if (n == 1)
        CHECK_MPI(MPI_Fetch_and_op(from.addr, to.addr, type, peer, at, op, win));
    else
        CHECK_MPI(MPI_Get_accumulate(from.addr, n, type, to.addr, n, type, peer, at, n, type,
                                     op, win));
    CHECK_MPI(MPI_Win_flush(peer, win));
    MPI_Barrier(MPI_COMM_WORLD);
    expected_get(theirs, window + at, n, type, op);
    mem_read(mem, 0, got, MAX_BYTES);
    values_fill(origin, types[t].values, 4 * seed + peer);
    MPI_Sendrecv(origin + at, n, type, 0, 0, result, n, type, 0, 0, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
    mem_read(&to, 0, fetched, MAX_BYTES);
    if (!report_compare("a window", got, window, MAX_BYTES) ||
        !report_compare("a result", fetched, result, MAX_BYTES))
        fprintf(stderr, "... type %d, operation %x, %d elements, seed %u\n", t, op, n, seed);
    mem_free(&from);
    mem_free(&to);
}

/* The same with every second element of the window, of which the others must not change. */
static void apart_check(int t, MPI_Op op, int n, unsigned seed, struct mem *mem, MPI_Win win)
{
    static char window[MAX_BYTES], origin[MAX_BYTES], theirs[MAX_BYTES], result[MAX_BYTES],
        fetched[MAX_BYTES], got[2 * MAX_BYTES], apart[2 * MAX_BYTES];
    const MPI_Datatype type = types[t].type;
    const int peer = seed % 5 ? other : rank;
    struct mem from, to;
    MPI_Datatype second;

    MPI_Type_vector(n, 1, 2, type, &second);
    MPI_Type_commit(&second);
    values_fill(window, types[t].values, 4 * seed + rank);
    values_fill(theirs, types[t].values, 4 * seed + 2 + peer);
    values_fill(origin, types[t].values, 4 * seed + 2 + rank);
    memset(result, 85, MAX_BYTES);
    memset(apart, 17, sizeof(apart));
    MPI_Sendrecv(window, n, type, 0, 0, apart, 1, second, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    mem_alloc(&from, seed % 3 ? kind : MEM__PAGEABLE, MAX_BYTES);
    mem_alloc(&to, seed % 2 ? kind : MEM__PAGEABLE, MAX_BYTES);
    mem_write(&from, 0, origin, MAX_BYTES);
    mem_write(&to, 0, result, MAX_BYTES);
    mem_write(mem, 0, apart, sizeof(apart));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_MPI(MPI_Get_accumulate(from.addr, n, type, to.addr, n, type, peer, 0, 1, second, op,
                                 win));
    CHECK_MPI(MPI_Win_flush(peer, win));
    MPI_Barrier(MPI_COMM_WORLD);
    expected_get(theirs, window, n, type, op);
    MPI_Sendrecv(window, n, type, 0, 0, apart, 1, second, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    mem_read(mem, 0, got, sizeof(got));
    values_fill(origin, types[t].values, 4 * seed + peer);
    MPI_Sendrecv(origin, n, type, 0, 0, result, n, type, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    mem_read(&to, 0, fetched, MAX_BYTES);
    if (!report_compare("a window", got, apart, sizeof(apart)) ||
        !report_compare("a result", fetched, result, MAX_BYTES))
        fprintf(stderr, "... apart, type %d, operation %x, %d elements, seed %u\n", t, op, n, seed);
    mem_free(&from);
    mem_free(&to);
    MPI_Type_free(&second);
}

/* Whether a kernel can do operations on a type, also with elements apart. */
static int is_direct(MPI_Datatype type, int is_apart)
{
    MPI_Aint lb, extent;
    int sz;

    MPI_Type_get_extent(type, &lb, &extent);
    MPI_Type_size(type, &sz);
    return type != MPI_LONG_DOUBLE && (!is_apart || sz == extent);
}

static void all_ops(void)
{
    unsigned long long nops = 0;
    unsigned seed = 1;
    struct mem mem;
    MPI_Win win;

    mem_alloc(&mem, kind, 2 * MAX_BYTES);
    CHECK_MPI(MPI_Win_create(mem.addr, 2 * MAX_BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    CHECK_MPI(MPI_Win_lock_all(0, win));
    /* until all locks are granted */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int t = 0; t < (int) (sizeof(types) / sizeof(types[0])); t++) {
        for (int i = 0; i < (int) (sizeof(ops) / sizeof(ops[0])); i++) {
            if (!(ops[i].groups & types[t].group))
                continue;
            for (int n = 1; n <= MAX_N; n += 23, seed++) {
                op_check(t, ops[i].op, n, seed, &mem, win);
                apart_check(t, ops[i].op, n, seed, &mem, win);
                nops += is_direct(types[t].type, 0) + is_direct(types[t].type, 1);
            }
        }
    }
    CHECK_MPI(MPI_Win_unlock_all(win));
    CHECK(ndirect() == nops);
    CHECK_MPI(MPI_Win_free(&win));
    mem_free(&mem);
}

int main(void)
{
    int provided;

    report_time_limit(120);
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    if (gpu_open() == 0)
        return 1;
    if (rank == 1 && mem_exists(MEM__OTHER_DEVICE))
        kind = MEM__OTHER_DEVICE;
    gpu_set_current(kind == MEM__OTHER_DEVICE);
    all_ops();
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
