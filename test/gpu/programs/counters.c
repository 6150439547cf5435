/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that performance variables count what happened, and that control variables exist. With
 * "no-kernels", the driver has no kernels for the device, and that is counted. */

#include "gpu.h"
#include "report.h"
#include "strided.h"

#include <stdio.h>
#include <string.h>

#define N 500

enum var {
    VAR__PACKS, VAR__UNPACKS, VAR__LOCAL_COPIES, VAR__BYTES, VAR__LAUNCHES, VAR__COPIES,
    VAR__STAGED, VAR__CPU_BYTES, VAR__FALLBACKS_IMAGE, VAR__FALLBACKS_MIXED,
    VAR__PINNED_BYTES, VAR__DEVICE_BYTES, VAR__CACHED_TYPES, VAR__ENGINES, NVARS
};

static const struct {
    const char *name;
    int class;
} vars[NVARS] = {
    {"gpudt_packs", MPI_T_PVAR_CLASS_COUNTER}, {"gpudt_unpacks", MPI_T_PVAR_CLASS_COUNTER},
    {"gpudt_local_copies", MPI_T_PVAR_CLASS_COUNTER}, {"gpudt_bytes", MPI_T_PVAR_CLASS_COUNTER},
    {"gpudt_launches", MPI_T_PVAR_CLASS_COUNTER}, {"gpudt_copies", MPI_T_PVAR_CLASS_COUNTER},
    {"gpudt_staged", MPI_T_PVAR_CLASS_COUNTER}, {"gpudt_cpu_bytes", MPI_T_PVAR_CLASS_COUNTER},
    {"gpudt_fallbacks_image", MPI_T_PVAR_CLASS_COUNTER},
    {"gpudt_fallbacks_mixed", MPI_T_PVAR_CLASS_COUNTER},
    {"gpudt_pinned_bytes", MPI_T_PVAR_CLASS_LEVEL}, {"gpudt_device_bytes", MPI_T_PVAR_CLASS_LEVEL},
    {"gpudt_cached_types", MPI_T_PVAR_CLASS_LEVEL}, {"gpudt_engines", MPI_T_PVAR_CLASS_LEVEL}
};

static MPI_T_pvar_session session;
static MPI_T_pvar_handle handles[NVARS];
static unsigned long long before[NVARS];
static int without_kernels;

static void handles_open(void)
{
    CHECK_MPI(MPI_T_pvar_session_create(&session));
    for (int i = 0; i < NVARS; i++) {
        int index, count;

        if (MPI_T_pvar_get_index(vars[i].name, vars[i].class, &index) != MPI_SUCCESS)
            report_fail("there is no performance variable %s", vars[i].name);
        else
            CHECK_MPI(MPI_T_pvar_handle_alloc(session, index, NULL, &handles[i], &count));
    }
}

static unsigned long long read_var(enum var var)
{
    unsigned long long value = 0;

    if (handles[var])
        CHECK_MPI(MPI_T_pvar_read(session, handles[var], &value));
    return value;
}

static void remember(void)
{
    for (int i = 0; i < NVARS; i++)
        before[i] = read_var((enum var) i);
}

/* Increase of a variable since the last call. */
static long grown(enum var var)
{
    return (long) (read_var(var) - before[var]);
}

static void expect(const char *what, enum var var, long growth)
{
    if (grown(var) != growth)
        report_fail("%s: %s grew by %ld, expected %ld", what, vars[var].name, grown(var), growth);
}

static void packing_is_counted(void)
{
    struct strided s;

    strided_make(&s, MEM__DEVICE, MEM__DEVICE, N, 0);
    strided_fill_user(&s);
    remember();
    CHECK_MPI(strided_pack(&s));
    expect("pack", VAR__PACKS, 1);
    expect("pack", VAR__UNPACKS, 0);
    expect("pack", VAR__BYTES, N * 4);
    CHECK(grown(VAR__LAUNCHES) + grown(VAR__COPIES) > 0);
    CHECK(read_var(VAR__ENGINES) == 1);
    if (without_kernels) {
        expect("pack without kernels", VAR__LAUNCHES, 0);
        CHECK(grown(VAR__FALLBACKS_IMAGE) > 0);
    } else {
        expect("pack", VAR__FALLBACKS_IMAGE, 0);
    }
    remember();
    CHECK_MPI(strided_unpack(&s));
    expect("unpack", VAR__UNPACKS, 1);
    expect("unpack", VAR__PACKS, 0);
    strided_free(&s);
}

static void work_areas_are_counted(void)
{
    struct strided s;

    strided_make(&s, MEM__DEVICE, MEM__PAGEABLE, N, 0);
    strided_fill_user(&s);
    remember();
    CHECK_MPI(strided_pack(&s));
    expect("pack to pageable memory", VAR__STAGED, 1);
    expect("pack to pageable memory", VAR__CPU_BYTES, N * 4);
    CHECK(read_var(VAR__PINNED_BYTES) > 0);
    strided_free(&s);
}

static void cached_types_are_counted(void)
{
    struct strided s;

    strided_make(&s, MEM__DEVICE, MEM__DEVICE, N, 1);
    strided_fill_user(&s);
    remember();
    CHECK_MPI(strided_pack(&s));
    CHECK_MPI(strided_pack(&s));
    expect("irregular datatype", VAR__CACHED_TYPES, without_kernels ? 0 : 1);
    strided_free(&s);
    expect("irregular datatype freed", VAR__CACHED_TYPES, 0);
}

static void local_copies_are_counted(void)
{
    struct strided s;

    strided_make(&s, MEM__DEVICE, MEM__DEVICE, N, 0);
    strided_fill_user(&s);
    remember();
    CHECK_MPI(MPI_Allgather(s.user.addr, 1, s.type, s.packed.addr, N, MPI_INT, MPI_COMM_SELF));
    CHECK(grown(VAR__LOCAL_COPIES) + grown(VAR__PACKS) == 1);
    expect("local copy", VAR__BYTES, N * 4);
    strided_free(&s);
}

static void host_copies_are_not_counted(void)
{
    struct strided s;

    strided_make(&s, MEM__PAGEABLE, MEM__PINNED, N, 1);
    remember();
    strided_both_ways(&s);
    for (int i = 0; i < NVARS; i++)
        expect("host memory", (enum var) i, 0);
    strided_free(&s);
}

static void control_variables_exist(void)
{
    static const char *const names[] = {
        "STRATEGY", "FORBID", "ROUTE", "DEPTH", "PINNED_CHUNK", "PINNED_MAX", "DEVICE_CHUNK",
        "DEVICE_MAX", "SPARE_MAX", "MAX_BLOCKS", "PEER", "TRACE", "DUMP"
    };
    char name[80];
    int index;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(name, sizeof(name), "MPIR_CVAR_GPUDT_%s", names[i]);
        if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS)
            report_fail("there is no control variable %s", name);
    }
}

int main(int argc, char **argv)
{
    int provided;

    without_kernels = argc > 1 && strcmp(argv[1], "no-kernels") == 0;
    report_time_limit(60);
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(0);
    handles_open();
    packing_is_counted();
    work_areas_are_counted();
    cached_types_are_counted();
    local_copies_are_counted();
    host_copies_are_not_counted();
    control_variables_exist();
    for (int i = 0; i < NVARS; i++) {
        if (handles[i])
            MPI_T_pvar_handle_free(session, &handles[i]);
    }
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
