/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests many operations in flight at once, with all kinds of types and memory, from one thread:
 * each has the same result as alone, in any order of completion. Small ones share launches, as the
 * counters show; with "off", MPIR_CVAR_GPUDT_BATCH is 0, and none do. Unpack operations do not
 * queue behind pack operations. Emulated driver only, with delayed operations: see check-gpu. */

#include "mpiimpl.h"
#include "gpudt.h"

#include "gpu.h"
#include "oracle.h"
#include "randtype.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

#define ROUNDS 6
#define TRANSFERS 40            /* in flight in a round */
#define MEM_SZ ((size_t) 1 << 13)
#define OFF 64                  /* of the lowest byte of the buffer, and of the packed data */
#define MANY 130                /* more than fit into a batch */

static const enum mem_kind kinds[] = {
    MEM__DEVICE, MEM__DEVICE, MEM__PINNED, MEM__PAGEABLE, MEM__MANAGED, MEM__OTHER_DEVICE
};
#define NKINDS ((int) (sizeof(kinds) / sizeof(kinds[0])))

struct transfer {
    struct mem user, packed;
    unsigned char user_image[MEM_SZ], packed_image[MEM_SZ];
    MPI_Aint lo, first, n;
    int is_unpack;
    MPIR_Gpudt_op *op;
};

static struct transfer transfers[MANY];
static struct rng rng;

static enum mem_kind kind_draw(void)
{
    enum mem_kind kind;

    do {
        kind = kinds[rng_range(&rng, 0, NKINDS - 1)];
    } while (!mem_exists(kind));
    return kind;
}

/* New contents of both sides, and the expected ones. */
static void transfer_fill(struct transfer *t, const oracle *map)
{
    static unsigned char bytes[MEM_SZ];

    for (size_t i = 0; i < MEM_SZ; i++) {
        t->user_image[i] = (unsigned char) rng_next(&rng);
        t->packed_image[i] = (unsigned char) rng_next(&rng);
    }
    mem_write(&t->user, 0, t->user_image, MEM_SZ);
    mem_write(&t->packed, 0, t->packed_image, MEM_SZ);
    if (t->is_unpack) {
        oracle_unpack(map, t->user_image + OFF - t->lo, 1, t->first, t->n, t->packed_image + OFF);
    } else {
        oracle_pack(map, t->user_image + OFF - t->lo, 1, t->first, t->n, bytes);
        memcpy(t->packed_image + OFF, bytes, t->n);
    }
}

/* By one of the two interfaces; the type may be freed afterwards. */
static void transfer_start(struct transfer *t, MPI_Datatype type)
{
    char *user = t->user.addr + (OFF - t->lo), *packed = t->packed.addr + OFF;
    MPIR_Gpudt_buffer *buffer = NULL;
    MPI_Aint actual;
    bool handled;

    t->op = NULL;
    if (t->n > 0 && rng_chance(&rng, 50))
        CHECK_MPI(MPIR_Gpudt_buffer_make(user, 1, type, &buffer));
    if (buffer) {
        CHECK_MPI(MPIR_Gpudt_buffer_move(buffer, t->first, t->n, packed, t->is_unpack, &t->op));
        MPIR_Gpudt_buffer_free(buffer);
    } else if (t->is_unpack) {
        CHECK_MPI(MPIR_Gpudt_iunpack(packed, t->n, user, 1, type, t->first, &actual, &t->op,
                                     &handled));
        CHECK(handled);
    } else {
        CHECK_MPI(MPIR_Gpudt_ipack(user, 1, type, t->first, packed, t->n, &actual, &t->op,
                                   &handled));
        CHECK(handled);
    }
}

static void transfer_end(struct transfer *t)
{
    int is_done = 0;

    if (t->op == NULL)
        return;
    if (rng_chance(&rng, 50)) {
        CHECK_MPI(MPIR_Gpudt_wait(t->op));
        is_done = 1;
    }
    while (!is_done)
        CHECK_MPI(MPIR_Gpudt_test(t->op, &is_done));
    t->op = NULL;
}

static void transfer_check(struct transfer *t)
{
    static unsigned char seen[MEM_SZ];

    mem_read(&t->user, 0, seen, MEM_SZ);
    report_compare(t->is_unpack ? "unpacked" : "source", seen, t->user_image, MEM_SZ);
    mem_read(&t->packed, 0, seen, MEM_SZ);
    report_compare(t->is_unpack ? "source" : "packed", seen, t->packed_image, MEM_SZ);
}

/* Random types; both memories of the given kind, or of any. */
static void round_run(int n, int is_any_kind)
{
    struct randtype_opts opts = { 4, 2048, MEM_SZ / 4, 1 };

    for (int i = 0; i < n; i++) {
        struct transfer *t = &transfers[i];
        MPI_Datatype type = randtype_make(&rng, &opts, NULL);
        oracle *map = oracle_create(type);
        MPI_Aint size, hi;

        mem_alloc(&t->user, is_any_kind ? kind_draw() : MEM__DEVICE, MEM_SZ);
        mem_alloc(&t->packed, is_any_kind && mem_is_gpu(t->user.kind) ? kind_draw() : MEM__DEVICE,
                  MEM_SZ);
        oracle_span(map, 1, &size, &t->lo, &hi);
        t->is_unpack = rng_chance(&rng, 50);
        t->first = rng_chance(&rng, 50) ? 0 : rng_range(&rng, 0, size);
        t->n = size - t->first;
        transfer_fill(t, map);
        t->op = NULL;
        if (t->n > 0)
            transfer_start(t, type);
        oracle_free(map);
        randtype_free(&type);
    }
    for (int i = 0, at = (int) rng_range(&rng, 0, n - 1); i < n; i++, at = (at + 1) % n)
        transfer_end(&transfers[at]);
    for (int i = 0; i < n; i++) {
        transfer_check(&transfers[i]);
        mem_free(&transfers[i].user);
        mem_free(&transfers[i].packed);
    }
}

static void vectors_make(int n, MPI_Datatype * type, oracle ** map)
{
    /* A 2-D copy by the driver is not applicable to it */
    MPI_Datatype row;
    MPI_Type_vector(4, 1, 3, MPI_INT, &row);
    MPI_Type_create_hvector(4, 1, 60, row, type);
    MPI_Type_free(&row);
    MPI_Type_commit(type);
    *map = oracle_create(*type);
    for (int i = 0; i < n; i++) {
        transfers[i] = (struct transfer) {.n = 64 };
        mem_alloc(&transfers[i].user, MEM__DEVICE, MEM_SZ);
        mem_alloc(&transfers[i].packed, MEM__PINNED, MEM_SZ);
    }
}

static void vectors_free(int n, MPI_Datatype * type, oracle * map)
{
    for (int i = 0; i < n; i++) {
        transfer_check(&transfers[i]);
        mem_free(&transfers[i].user);
        mem_free(&transfers[i].packed);
    }
    oracle_free(map);
    MPI_Type_free(type);
}

/* Complete MANY operations, of which some are cancelled: one launch, and then as few launches as
 * possible.
 *   launches  (IN)  before they were started */
static void many_end(const char *what, unsigned long long launches, int is_off)
{
    for (int i = 0; i < MANY; i++) {
        if (i % 7 == 3) {
            MPIR_Gpudt_free(transfers[i].op);   /* waits for it */
            transfers[i].op = NULL;
        } else {
            transfer_end(&transfers[i]);
        }
    }
    launches = report_variable("gpudt_launches") - launches;
    if (is_off ? launches != MANY : launches > 8)
        report_fail("%llu launches for %d small %s at once", launches, MANY, what);
}

/* Equal small packs. */
static void equal_packs(int is_off)
{
    unsigned long long launches = report_variable("gpudt_launches");
    MPI_Datatype type;
    oracle *map;

    vectors_make(MANY, &type, &map);
    for (int i = 0; i < MANY; i++)
        transfer_fill(&transfers[i], map);
    for (int i = 0; i < MANY; i++)
        transfer_start(&transfers[i], type);
    many_end("packs", launches, is_off);
    vectors_free(MANY, &type, map);
}

/* Small copies from datatype to datatype share launches, too. */
static void copies(int is_off)
{
    unsigned long long launches = report_variable("gpudt_launches");
    unsigned char bytes[64];
    MPI_Datatype type, wider;
    oracle *map, *wider_map;
    bool handled;

    vectors_make(MANY, &type, &map);
    MPI_Type_create_hvector(32, 1, 12, MPI_SHORT, &wider);
    MPI_Type_commit(&wider);
    wider_map = oracle_create(wider);
    for (int i = 0; i < MANY; i++) {
        struct transfer *t = &transfers[i];
        transfer_fill(t, map);
        oracle_pack(map, t->user_image + OFF, 1, 0, 64, bytes);
        mem_write(&t->packed, 0, t->packed_image, MEM_SZ);
        oracle_unpack(wider_map, t->packed_image + 2 * OFF, 1, 0, 64, bytes);
        CHECK_MPI(MPIR_Gpudt_ilocalcopy(t->user.addr + OFF, 1, type, t->packed.addr + 2 * OFF, 1,
                                        wider, 64, &t->op, &handled));
        CHECK(handled);
    }
    many_end("copies", launches, is_off);
    vectors_free(MANY, &type, map);
    oracle_free(wider_map);
    MPI_Type_free(&wider);
}

/* Contiguous copies of any length share launches: whole words apart, so that there are no others in the
 * batch, or, with is_mixed, at any addresses. */
static void contiguous(int is_mixed)
{
    enum { MOST = 34, ROOM = 1 << 15, SZ = MOST * ROOM };       /* ROOM for each copy */
    static unsigned char source[SZ], expected[SZ], seen[SZ];
    const int n = (int) rng_range(&rng, 2, MOST);
    MPIR_Gpudt_op *ops[MOST];
    struct mem from, to;
    bool handled;

    mem_alloc(&from, MEM__DEVICE, SZ);
    mem_alloc(&to, MEM__DEVICE, SZ);
    for (size_t i = 0; i < SZ; i++)
        source[i] = (unsigned char) rng_next(&rng);
    memset(expected, 0xa5, SZ);
    mem_write(&from, 0, source, SZ);
    mem_write(&to, 0, expected, SZ);
    for (int i = 0; i < n; i++) {
        const long len = rng_range(&rng, 1, 1 << rng_range(&rng, 0, 14));
        const long at = i * ROOM + rng_range(&rng, 0, 64);
        const long start = 4 * rng_range(&rng, 0, ROOM / 4) + (is_mixed ? rng_range(&rng, 0, 3) : at % 4);

        memcpy(expected + at, source + start, (size_t) len);
        CHECK_MPI(MPIR_Gpudt_ilocalcopy(from.addr + start, len, MPI_BYTE, to.addr + at, len,
                                        MPI_BYTE, len, &ops[i], &handled));
        CHECK(handled);
    }
    for (int i = 0; i < n; i++)
        CHECK_MPI(MPIR_Gpudt_wait(ops[i]));
    mem_read(&to, 0, seen, SZ);
    if (memcmp(seen, expected, SZ) != 0)
        report_fail("%d contiguous copies at once have moved wrong bytes", n);
    mem_free(&from);
    mem_free(&to);
}

/* An unpack started after several packs completes before them, since each operation is delayed by
 * itself. */
static void two_directions(void)
{
    enum { n = 8, tries = 20 };
    MPI_Datatype type;
    oracle *map;
    int npacked = n;

    vectors_make(n, &type, &map);
    transfers[n - 1].is_unpack = 1;
    /* First once without counting: new memory may cause a wait */
    for (int i = 0; i < n; i++) {
        transfer_start(&transfers[i], type);
        transfer_end(&transfers[i]);
    }
    /* and again if others keep the processors busy */
    for (int try = 0; try < tries && npacked > n / 2; try++) {
        int is_done, are_done[n];

        for (int i = 0; i < n; i++)
            transfer_fill(&transfers[i], map);
        for (int i = 0; i < n; i++)
            transfer_start(&transfers[i], type);
        is_done = transfers[n - 1].op == NULL;
        while (!is_done)
            CHECK_MPI(MPIR_Gpudt_test(transfers[n - 1].op, &is_done));
        npacked = 0;
        for (int i = 0; i < n - 1; i++) {
            are_done[i] = transfers[i].op == NULL;
            if (!are_done[i])
                CHECK_MPI(MPIR_Gpudt_test(transfers[i].op, &are_done[i]));
            npacked += are_done[i];
        }
        for (int i = 0; i < n - 1; i++) {
            if (!are_done[i])
                CHECK_MPI(MPIR_Gpudt_wait(transfers[i].op));
        }
    }
    if (npacked > n / 2)
        report_fail("an unpack waited for %d packs that came before it", npacked);
    vectors_free(n, &type, map);
}

int main(int argc, char **argv)
{
    int is_off = argc > 1 && strcmp(argv[1], "off") == 0, provided;

    if (is_off)
        setenv("MPIR_CVAR_GPUDT_BATCH", "0", 1);
    report_time_limit(120);
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    rng_init(&rng, 5);

    equal_packs(is_off);
    copies(is_off);
    for (int i = 0; i < ROUNDS && !is_off; i++)
        contiguous(i % 2);
    if (is_off)
        two_directions();
    for (int i = 0; i < ROUNDS; i++)
        round_run(TRANSFERS, i % 2);
    if (is_off ? report_variable("gpudt_batches") != 0 :
        report_variable("gpudt_batched") < 2 * MANY + ROUNDS / 2 * TRANSFERS / 2)
        report_fail("%llu batches of %llu operations", report_variable("gpudt_batches"),
                    report_variable("gpudt_batched"));
    MPI_T_finalize();
    CHECK_MPI(MPI_Finalize());
    return report_done();
}
