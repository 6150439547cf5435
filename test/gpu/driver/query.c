/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests the library's report about the driver: none, a stub, an old one, one without devices, one
 * that does not start, a working one. Without MPI_Init, as for mpichversion. Run as
 *   query DIR_WITH_EMULATED DIR_WITH_OLD [DIR_WITH_STUB] */

#include "driver_test.h"

/* The emulated driver's version by default. */
#define VERSION STRING(CUDA_VERSION)
#define STRING(x_) STRING_OF(x_)
#define STRING_OF(x_) #x_

static int query_child(const char *expected)
{
    MPIR_Gpudt_info_t info;
    const MPII_Gpudt_driver_t *drv;
    const char *reason = NULL;
    char got[600];

    memset(&info, 0xee, sizeof(info));
    CHECK(MPIR_Gpudt_query(&info) == MPI_SUCCESS);
    CHECK(info.built == 1 && info.cuda_version == CUDA_VERSION);
    CHECK((info.ndevices == 0) == (info.reason[0] != '\0'));
    CHECK(MPIR_Gpudt_is_usable() == (info.ndevices > 0));
    CHECK(strchr(info.reason, '\n') == NULL);

    drv = MPII_Gpudt_driver_init(&reason);
    CHECK((drv != NULL) == (info.ndevices > 0));
    CHECK(strcmp(reason, info.reason) == 0);

    snprintf(got, sizeof(got), "%d %d %d %s", info.driver_found, info.driver_version,
             info.ndevices, info.reason);
    if (strncmp(got, expected, strlen(expected)) != 0) {
        errs++;
        fprintf(stderr, "expected \"%s\", got \"%s\"\n", expected, got);
    }

    /* That there is no driver is final, and not checked again. */
    if (drv == NULL) {
        CHECK(MPII_Gpudt_driver_get() == NULL);
        CHECK(MPII_Gpudt_driver_init(NULL) == NULL);
    }
    return errs != 0;
}

static void expect(const char *dir, const char *name, const char *value, const char *expected)
{
    setenv("LD_LIBRARY_PATH", dir, 1);
    if (child_exec("query", expected, name, value) != 0) {
        errs++;
        fprintf(stderr, "in %s with %s=%s: wrong\n", dir, name ? name : "nothing",
                value ? value : "");
    }
}

int main(int argc, char *argv[])
{
    const char *emulated, *old, *stub;

    if (argc == 3 && strcmp(argv[1], "query") == 0)
        return query_child(argv[2]);
    if (argc < 3)
        return 2;
    emulated = argv[1];
    old = argv[2];
    stub = argc > 3 ? argv[3] : NULL;

    expect("/nonexistent", NULL, NULL, "0 0 0 libcuda.so.1: cannot open shared object file");
    expect(old, NULL, NULL, "0 0 0 the installed CUDA driver is too old: it has no cuDriverGet");
    if (stub)
        expect(stub, NULL, NULL, "1 0 0 cuInit: error 34 (this libcuda.so.1 is a stub");
    expect(emulated, NULL, NULL, "1 " VERSION " 1 ");
    expect(emulated, "EMU_DEVICES", "3", "1 " VERSION " 3 ");
    expect(emulated, "EMU_VERSION", "12080", "1 12080 1 ");
    expect(emulated, "EMU_DEVICES", "0",
           "1 " VERSION " 0 cuInit: CUDA_ERROR_NO_DEVICE (no CUDA-capable");
    expect(emulated, "CUDA_VISIBLE_DEVICES", "", "1 " VERSION " 0 cuInit: CUDA_ERROR_NO_DEVICE");
    expect(emulated, "CUDA_VISIBLE_DEVICES", "GPU-e0e0e0e0-0000", "1 " VERSION " 1 ");
    expect(emulated, "EMU_INIT_ERROR", "803",
           "1 " VERSION " 0 cuInit: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH");
    expect(emulated, "EMU_INIT_ERROR", "802",
           "1 " VERSION " 0 cuInit: CUDA_ERROR_SYSTEM_NOT_READY");
    expect(emulated, "EMU_INIT_ERROR", "777", "1 " VERSION " 0 cuInit: error 777 (no description)");
    /* Symbols by dlsym if cuGetProcAddress does not find them; both must give the right version. */
    expect(emulated, "EMU_HIDE", "cuMemAlloc,cuMemFree,cuDeviceGetUuid", "1 " VERSION " 1 ");
    setenv("EMU_FAIL_AT", "1", 1);
    setenv("EMU_FAIL_TIMES", "0", 1);
    expect(emulated, "EMU_FAIL_FN", "cuGetProcAddress", "1 " VERSION " 1 ");
    expect(emulated, "EMU_FAIL_FN", "cuDeviceGetCount",
           "1 " VERSION " 0 cuDeviceGetCount: CUDA_ERROR_UNKNOWN");
    return test_end();
}
