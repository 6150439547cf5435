/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* What changes between operations that are otherwise alike, and errors. */

#include "scene.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

/* ---- other things change ---- */

/* A datatype gets the handle of the one before it. */
static void other_types(struct scene *s)
{
    MPI_Datatype type, last = MPI_DATATYPE_NULL, line;
    int nsame = 0;

    MPI_Type_contiguous(16, MPI_INT, &line);
    MPI_Type_commit(&line);
    for (int turn = 0; turn < 4; turn++) {
        opener(s, 1, false);
        for (int i = 0; i < 40; i++) {
            const size_t at = OPENER + 1024 * (size_t) i;
            /* of which one is contiguous */
            MPI_Type_vector(16, 1, 1 + i / 2 % 3, MPI_INT, &type);
            MPI_Type_commit(&type);
            nsame += type == last;
            last = type;
            CHECK_MPI(move(s, &s->buf, at, turn % 2 ? line : type, 1, at,
                           turn >= 2 ? line : type, false));
            MPI_Type_free(&type);
        }
        CHECK_MPI(MPI_Win_flush(1, s->win));
    }
    MPI_Type_free(&line);
    CHECK(nsame > 100);
}

/* Puts and gets of one datatype, of several counts. */
static void other_counts(struct scene *s)
{
    opener(s, 1, false);
    opener(s, 1, true);
    for (int i = 0; i < 90; i++) {
        const size_t at = OPENER + 512 * (size_t) i;
        CHECK_MPI(move_some(s, &s->buf, at, MPI_DOUBLE, 1, at, MPI_DOUBLE, i % 2, 1 + i / 2 % 3));
    }
    CHECK_MPI(MPI_Win_flush(1, s->win));
}

/* The targets have other units of displacements. */
static void other_targets(struct scene *s)
{
    opener(s, 1, false);
    for (int i = 0; i < 30 * (nranks - 1); i++) {
        const size_t at = OPENER + 512 * (size_t) i;
        CHECK_MPI(move(s, &s->buf, at, MPI_DOUBLE, 1 + i % (nranks - 1), at, MPI_DOUBLE, false));
    }
    CHECK_MPI(MPI_Win_flush_all(s->win));
}

/* The buffer is in memory of another kind each time, or in another allocation. Returns whether those in
 * the first one have joined each other. */
static bool other_memory(struct scene *s, MPI_Datatype type)
{
    struct buffer others[MEM__NKINDS];
    const unsigned long long before = njoined();
    int n = 0;

    for (int k = 0; k < MEM__NKINDS; k++) {
        if (mem_exists((enum mem_kind) k))
            buffer_make(&others[n++], (enum mem_kind) k, 4096);
    }
    opener(s, 1, false);
    for (int i = 0; i < 4 * n; i++) {
        const size_t at = OPENER + 2048 * (size_t) i;
        CHECK_MPI(move(s, &s->buf, at, type, 1, at, type, false));
        CHECK_MPI(move(s, &s->buf, at + 512, type, 1, at + 512, type, false));
        CHECK_MPI(move(s, &others[i % n], 512 * (size_t) (i / n), type, 1, at + 1024, type, false));
    }
    CHECK_MPI(MPI_Win_flush(1, s->win));
    for (int i = 0; i < n; i++)
        buffer_free(&others[i]);
    return njoined() >= before + 2 * (unsigned) n;
}

/* Operations from two allocations, in turns. Returns whether those from each have joined each other. */
static bool in_turns(struct scene *s, MPI_Datatype type)
{
    const unsigned long long before = njoined();
    struct buffer b;

    buffer_make(&b, MEM__DEVICE, 1 << 16);
    opener(s, 1, false);
    for (int i = 0; i < 40; i++) {
        const size_t at = OPENER + 512 * (size_t) i;
        CHECK_MPI(move(s, i % 2 ? &s->buf : &b, at, type, 1, at, type, false));
    }
    CHECK_MPI(MPI_Win_flush(1, s->win));
    buffer_free(&b);
    return njoined() >= before + 36;
}

/* Memory is freed after a flush, and what comes next may be at its address. */
static void renewed_memory(struct scene *s)
{
    static const enum mem_kind kinds[] = { MEM__DEVICE, MEM__OTHER_DEVICE, MEM__PINNED, MEM__MANAGED };
    struct buffer b;

    for (int i = 0; i < 24; i++) {
        const enum mem_kind next = kinds[i / 2 % 4];
        if (!mem_exists(next))
            continue;
        buffer_make(&b, next, 1 << 20);
        opener(s, 1, false);
        for (int k = 0; k < 3; k++) {
            const size_t at = OPENER + 4096 * (size_t) i + 1024 * (size_t) k;
            CHECK_MPI(move(s, i % 2 ? &s->buf : &b, at, MPI_INT, 1, at, MPI_INT, false));
            CHECK_MPI(move(s, &b, at + 512, MPI_INT, 1, at + 512, MPI_INT, false));
        }
        CHECK_MPI(MPI_Win_flush(1, s->win));
        buffer_free(&b);
    }
}

void changes(void)
{
    MPI_Datatype types[NTYPES];
    struct scene s;
    bool have_joined, have_in_turns;

    types_make(types);
    for (int i = 0; i < 4; i++) {
        scene_make(&s, WINDOW);
        locks_get(&s);
        if (rank == 0) {
            other_types(&s);
            other_counts(&s);
            other_targets(&s);
            have_joined = !are_all_direct;
            for (int k = 0; k < TRIES && (k == 0 || !have_joined); k++)
                have_joined |= other_memory(&s, types[i]);
            CHECK(have_joined);
            have_in_turns = !are_all_direct;
            for (int k = 0; k < TRIES && !have_in_turns; k++)
                have_in_turns = in_turns(&s, types[i]);
            CHECK(have_in_turns);
            renewed_memory(&s);
        }
        CHECK_MPI(MPI_Win_unlock_all(s.win));
        scene_check(&s, "a window");
        scene_free(&s);
    }
    for (int i = 0; i < NTYPES; i++)
        MPI_Type_free(&types[i]);
}

/* ---- errors ---- */

/* Memory that is freed is found, and data outside of the window goes by a message, which the release does
 * not check. */
static void wrong_addresses(struct scene *s)
{
    const size_t half = WINDOW / 2;
    unsigned long long before, refused;
    struct buffer gone;
    int position = 0;
    double seen;
    char *addr;

    buffer_make(&gone, MEM__DEVICE, 4 << 20);
    addr = gone.mem.addr;
    /* MPI does not know that addresses were a GPU's which it has never seen */
    CHECK_MPI(MPI_Pack(addr, 1, MPI_DOUBLE, &seen, sizeof(seen), &position, MPI_COMM_SELF));
    opener(s, 1, false);
    for (int i = 0; i < 3; i++)
        CHECK_MPI(move(s, &s->buf, OPENER + 512 * (size_t) i, MPI_DOUBLE, 1,
                       OPENER + 512 * (size_t) i, MPI_DOUBLE, false));
    before = njoined();
    refused = report_variable("gpudt_window_refused");
    CHECK_MPI(move(s, &s->buf, half - 16, MPI_DOUBLE, 1, half, MPI_DOUBLE, false));
    CHECK(njoined() == before);
    CHECK(report_variable("gpudt_window_refused") == refused + 1);
    CHECK_MPI(move(s, &s->buf, half - 16, MPI_DOUBLE, 1, half - 16, MPI_DOUBLE, false));
    mem_free(&gone.mem);
    CHECK(MPI_Put(addr, 1, MPI_DOUBLE, 1, OPENER / unit_of(1), 1, MPI_DOUBLE, s->win) !=
          MPI_SUCCESS);
    CHECK_MPI(move(s, &s->buf, half - 32, MPI_DOUBLE, 1, half - 32, MPI_DOUBLE, false));
    CHECK(njoined() <= before + 2);
    CHECK_MPI(MPI_Win_flush(1, s->win));
    free(gone.copy);
}

static void ten_puts(struct scene *s)
{
    for (int i = 0; i < 10; i++) {
        const size_t at = WINDOW / 4 + 512 * (size_t) i;
        CHECK_MPI(move(s, &s->buf, at, MPI_INT64_T, 1, at, MPI_INT64_T, false));
    }
}

/* The launch of all of them fails, which the flush reports, and only it. Returns whether there was a
 * launch. */
static bool wrong_launch(struct scene *s)
{
    bool has_failed;
    int err;

    opener(s, 1, false);
    gpu.emu_fail_set("cuLaunchKernel", 1, 999, 1);
    ten_puts(s);
    err = MPI_Win_flush(1, s->win);
    has_failed = gpu.emu_failed_count() > 0;
    gpu.emu_fail_set(NULL, 0, 0, 1);
    CHECK((err != MPI_SUCCESS) == has_failed);
    opener(s, 1, false);
    ten_puts(s);
    CHECK_MPI(MPI_Win_flush(1, s->win));
    return has_failed;
}

void errors(void)
{
    struct scene s;
    bool has_failed = false;

    scene_make(&s, WINDOW / 2);
    locks_get(&s);
    if (rank == 0) {
        wrong_addresses(&s);
        for (int i = 0; i < TRIES && gpu.is_emulated && are_all_direct && !has_failed; i++)
            has_failed = wrong_launch(&s);
        CHECK(has_failed || !gpu.is_emulated || !are_all_direct);
        CHECK(MPI_Put(s.buf.mem.addr, 1, MPI_DOUBLE, nranks, 0, 1, MPI_DOUBLE, s.win) !=
              MPI_SUCCESS);
        wrong_addresses(&s);
    }
    CHECK_MPI(MPI_Win_unlock_all(s.win));
    if (rank == 0)
        CHECK(MPI_Put(s.buf.mem.addr, 1, MPI_DOUBLE, 1, 0, 1, MPI_DOUBLE, s.win) != MPI_SUCCESS);
    scene_check(&s, "after errors");
    scene_free(&s);
}
