/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests the info key mpi_memory_alloc_kinds: what sessions, communicators, windows and files answer,
 * and MPI_Alloc_mem in GPU memory. Nothing but this, and answers to requests for CUDA's kinds, loads a
 * driver; before that, answers have these kinds if the node may have a GPU.
 *
 *   memory_kinds N    the program sees N devices
 *   memory_kinds off  MPI may not use them: MPIR_CVAR_ENABLE_GPU is 0
 *   memory_kinds faults  each driver call of an allocation fails once; emulated driver only */

#include "gpu.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY "mpi_memory_alloc_kinds"
#define SZ 10000
#define MAX_CALLS 100

static int has_gpu;

static MPI_Info info_of(const char *value)
{
    MPI_Info info;

    MPI_Info_create(&info);
    if (value)
        MPI_Info_set(info, KEY, value);
    return info;
}

/* ---- what MPI says ---- */

/* Whether a list has an element. */
static int has(const char *list, const char *element)
{
    const size_t n = strlen(element);
    int found = 0;

    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        found += strncmp(at, element, n) == 0 && (at[n] == '\0' || at[n] == ',');
    }
    if (found > 1)
        report_fail("%s is twice in %s", element, list);
    return found;
}

/* Check an answer and free it.
 *   more   (IN)  elements that it must have in any case; NULL: none
 *   gpu    (IN)  and those that it must have if there is a GPU
 * It must never have "rocm:device" and "mpi:nothing". */
static void check_answer(const char *whose, MPI_Info info, const char *more, const char *gpu)
{
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int flag = 0;

    MPI_Info_get(info, KEY, MPI_MAX_INFO_VAL, value, &flag);
    if (!flag || !has(value, "mpi") || !has(value, "system") || has(value, "cuda") != has_gpu ||
        has(value, "cuda:device") != has_gpu || has(value, "cuda:managed") != has_gpu ||
        has(value, "cuda:host") != has_gpu || has(value, "rocm:device") ||
        has(value, "mpi:nothing") || (more && !has(value, more)) ||
        (gpu && has(value, gpu) != has_gpu))
        report_fail("%s, with%s a GPU: %s", whose, has_gpu ? "" : "out", flag ? value : "nothing");
    MPI_Info_free(&info);
}

static void check_objects(void)
{
    const char *more = getenv("MPIR_CVAR_GPUDT_MEMORY_ALLOC_KINDS");
    const char *asked = " mpi:alloc_mem:win_allocate , rocm:device,CUDA:Device:managed,mpi:nothing";
    MPI_Info info, answer;
    MPI_Session session;
    MPI_Comm comm;
    MPI_Win win;
    MPI_File file;
    char name[] = "/tmp/memory_kinds_XXXXXX";
    int mem;

    info = info_of(asked);
    CHECK_MPI(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
    CHECK_MPI(MPI_Session_get_info(session, &answer));
    check_answer("a session", answer, "mpi:alloc_mem:win_allocate", "cuda:device:managed");
    CHECK_MPI(MPI_Session_finalize(&session));
    CHECK_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    CHECK_MPI(MPI_Session_get_info(session, &answer));
    check_answer("a session without info", answer, more, NULL);
    CHECK_MPI(MPI_Session_finalize(&session));

    CHECK_MPI(MPI_Comm_get_info(MPI_COMM_WORLD, &answer));
    check_answer("MPI_COMM_WORLD", answer, more, NULL);
    MPI_Info_set(info, "mpi_assert_memory_alloc_kinds", "system");
    CHECK_MPI(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
    CHECK_MPI(MPI_Comm_set_info(comm, info));
    CHECK_MPI(MPI_Comm_get_info(comm, &answer));
    check_answer("a communicator", answer, more, NULL);
    CHECK_MPI(MPI_Win_create(&mem, sizeof(mem), 1, MPI_INFO_NULL, comm, &win));
    CHECK_MPI(MPI_Win_get_info(win, &answer));
    check_answer("a window", answer, more, NULL);
    CHECK_MPI(MPI_Win_free(&win));
    CHECK(mkstemp(name) >= 0);
    CHECK_MPI(MPI_File_open(comm, name, MPI_MODE_RDWR, info, &file));
    CHECK_MPI(MPI_File_get_info(file, &answer));
    check_answer("a file", answer, more, NULL);
    CHECK_MPI(MPI_File_close(&file));
    remove(name);
    MPI_Comm_free(&comm);
    MPI_Info_free(&info);
}

/* ---- what MPI allocates ---- */

static const struct wish {
    const char *kinds;          /* NULL: no info */
    int type;                   /* CUmemorytype; 0: memory that CUDA does not know */
    int is_managed;
} wishes[] = {
    {NULL, 0, 0}, {"", 0, 0}, {"system", 0, 0}, {"mpi,cuda:device", 0, 0},
    {"mpi:alloc_mem,cuda", 0, 0}, {"rocm:device", 0, 0}, {"cuda:nothing", 0, 0},
    {"cuda:device", CU_MEMORYTYPE_DEVICE, 0}, {"cuda", CU_MEMORYTYPE_DEVICE, 0},
    {" CUDA:device,system", CU_MEMORYTYPE_DEVICE, 0}, {"cuda:managed", CU_MEMORYTYPE_DEVICE, 1},
    {"rocm:device,cuda:host", CU_MEMORYTYPE_HOST, 0}, {"cuda:host:device", CU_MEMORYTYPE_HOST, 0}
};

#define NWISHES ((int) (sizeof(wishes) / sizeof(wishes[0])))

static int alloc(const char *kinds, MPI_Aint sz, char **mem)
{
    MPI_Info info = kinds ? info_of(kinds) : MPI_INFO_NULL;
    int err;

    *mem = NULL;
    err = MPI_Alloc_mem(sz, info, mem);
    if (kinds)
        MPI_Info_free(&info);
    return err;
}

static int attribute(CUpointer_attribute name, const void *mem)
{
    int value = 0;

    if (gpu.PointerGetAttribute(&value, name, (CUdeviceptr) (uintptr_t) mem) != CUDA_SUCCESS)
        return 0;
    return value;
}

/* Messages and the program can use it. */
static void check_use(char *mem, const struct wish *w)
{
    static char seen[SZ], expected[SZ];

    memset(expected, 0x5a, SZ);
    if (w->type && has_gpu) {
        CU(MemsetD8((CUdeviceptr) (uintptr_t) mem, 0x5a, SZ));
        CU(CtxSynchronize());
    } else {
        memset(mem, 0x5a, SZ);
    }
    CHECK_MPI(MPI_Sendrecv(mem, SZ, MPI_BYTE, 0, 0, seen, SZ, MPI_BYTE, 0, 0, MPI_COMM_SELF,
                           MPI_STATUS_IGNORE));
    report_compare(w->kinds ? w->kinds : "no info", seen, expected, SZ);
}

/* Allocate as each wish says; `device` is the expected one. */
static void check_memory(int device)
{
    char *mem[NWISHES], *empty;
    const CUcontext current = gpu_get_current();

    for (int i = 0; i < NWISHES; i++) {
        const struct wish *w = &wishes[i];

        CHECK_MPI(alloc(w->kinds, SZ, &mem[i]));
        CHECK(gpu_get_current() == current);
        CHECK(mem[i] != NULL);
        if (mem[i] == NULL)
            continue;
        if (attribute(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, mem[i]) != w->type ||
            (w->type && attribute(CU_POINTER_ATTRIBUTE_IS_MANAGED, mem[i]) != w->is_managed) ||
            (w->type && attribute(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, mem[i]) != device))
            report_fail("memory of the wish %s: type %d, managed %d, device %d", w->kinds,
                        attribute(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, mem[i]),
                        attribute(CU_POINTER_ATTRIBUTE_IS_MANAGED, mem[i]),
                        attribute(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, mem[i]));
        if (current)
            check_use(mem[i], w);
    }
    CHECK_MPI(alloc("cuda:device", 0, &empty));
    CHECK_MPI(MPI_Free_mem(empty));
    for (int i = NWISHES - 1; i >= 0; i -= 2)
        CHECK_MPI(MPI_Free_mem(mem[i]));
    for (int i = NWISHES - 2; i >= 0; i -= 2)
        CHECK_MPI(MPI_Free_mem(mem[i]));
    for (int i = 0; i < NWISHES; i++)
        CHECK(wishes[i].type == 0 || attribute(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, mem[i]) == 0);
    CHECK(gpu_get_current() == current);
}

/* Without a GPU: an error for each kind of CUDA's, with the kind, the size and a reason. */
static void check_no_memory(void)
{
    for (int i = 0; i < NWISHES; i++) {
        const struct wish *w = &wishes[i];
        char *mem;
        const int err = alloc(w->kinds, SZ, &mem);
        int class;

        MPI_Error_class(err, &class);
        if (w->type == 0) {
            CHECK(err == MPI_SUCCESS && mem);
            memset(mem, 1, SZ);
            CHECK_MPI(MPI_Free_mem(mem));
        } else if (class != MPI_ERR_NO_MEM || mem || !strstr(report_mpi_text(err), "10000 bytes") ||
                   !strstr(report_mpi_text(err), " cuda:") ||
                   !strstr(report_mpi_text(err), "No GPU can be used: ")) {
            report_fail("no GPU, %s: class %d, %s", w->kinds, class, report_mpi_text(err));
        }
    }
}

/* ---- failures ---- */

static void faults(const char *kinds)
{
    int fired = 1, nerrors = 0;

    for (long at = 1; fired && at < MAX_CALLS; at++) {
        char *mem;
        int err;

        gpu.emu_fail_set(NULL, at, 999, 1);
        err = alloc(kinds, SZ, &mem);
        fired = gpu.emu_failed_count() > 0;
        gpu.emu_fail_set(NULL, 0, 0, 1);
        if (err && (!fired || mem || !strstr(report_mpi_text(err), "CUDA")))
            report_fail("call %ld of %s fails: %s", at, kinds, report_mpi_text(err));
        nerrors += err != MPI_SUCCESS;
        if (err == MPI_SUCCESS)
            CHECK_MPI(MPI_Free_mem(mem));
    }
    CHECK(!fired && nerrors > 0);
    for (long at = 1; at < 8; at++) {
        char *mem;

        CHECK_MPI(alloc(kinds, SZ, &mem));
        gpu.emu_fail_set(NULL, at, 999, 1);
        if (MPI_Free_mem(mem) && !gpu.emu_failed_count())
            report_fail("MPI_Free_mem fails without a cause");
        gpu.emu_fail_set(NULL, 0, 0, 1);
    }
}

static void no_memory_left(void)
{
    char *mem;
    const int err = alloc("cuda:device", (MPI_Aint) 1 << 50, &mem);
    int class;

    MPI_Error_class(err, &class);
    CHECK(class == MPI_ERR_NO_MEM && mem == NULL);
    CHECK(strstr(report_mpi_text(err), "CUDA_ERROR_OUT_OF_MEMORY") != NULL);
}

/* The program resets the device, and leaves memory behind. */
static void leave_memory(void)
{
    char *mem, *host;

    CHECK_MPI(alloc("cuda:device", SZ, &mem));
    CHECK_MPI(alloc(NULL, SZ, &host));
    CU(DevicePrimaryCtxReset(0));
    gpu_forget(0);
    CHECK_MPI(MPI_Free_mem(mem));
    CHECK_MPI(MPI_Free_mem(host));
    gpu_set_current(0);
    CHECK_MPI(alloc("cuda:device", SZ, &mem));
    CHECK_MPI(alloc("cuda:host", SZ, &mem));
}

static int driver_is_loaded(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    int found = 0;

    while (maps && fgets(line, sizeof(line), maps))
        found |= strstr(line, "libcuda") != NULL;
    if (maps)
        fclose(maps);
    return found;
}

static void nothing_is_loaded(void)
{
    MPI_Session session;
    MPI_Comm comm;
    MPI_Win win;
    MPI_Info info = info_of("system,mpi:alloc_mem"), answer;
    char *mem;

    CHECK_MPI(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
    CHECK_MPI(MPI_Session_get_info(session, &answer));
    check_answer("a session of the host", answer, "mpi:alloc_mem", NULL);
    CHECK_MPI(MPI_Session_finalize(&session));
    MPI_Comm_dup_with_info(MPI_COMM_SELF, info, &comm);
    CHECK_MPI(MPI_Comm_get_info(comm, &answer));
    check_answer("a communicator of the host", answer, NULL, NULL);
    CHECK_MPI(MPI_Win_allocate(8, 1, info, comm, &mem, &win));
    CHECK_MPI(MPI_Win_get_info(win, &answer));
    check_answer("a window of the host", answer, NULL, NULL);
    CHECK_MPI(MPI_Win_free(&win));
    CHECK_MPI(alloc("system", SZ, &mem));
    CHECK_MPI(MPI_Free_mem(mem));
    MPI_Comm_free(&comm);
    MPI_Info_free(&info);
    CHECK(!driver_is_loaded());
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "1";
    const int ndevices = atoi(what);

    report_time_limit(60);
    /* hwloc's OpenCL component would load an installed driver */
    setenv("HWLOC_COMPONENTS", "-opencl,-cuda,-nvml,-gl", 1);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    has_gpu = strcmp(what, "off") != 0;
    nothing_is_loaded();
    has_gpu = ndevices > 0 || strcmp(what, "faults") == 0;
    check_objects();
    if (!has_gpu) {
        check_no_memory();
        MPI_Finalize();
        return report_done();
    }
    if (gpu_open() == 0)
        return 1;
    check_memory(0);
    for (int i = 0; i < ndevices; i++) {
        gpu_set_current(i);
        check_memory(i);
    }
    gpu_set_current(0);
    no_memory_left();
    if (gpu.emu_fail_set && strcmp(what, "faults") == 0) {
        faults("cuda:device");
        faults("cuda:managed");
        faults("cuda:host");
    }
    leave_memory();
    check_objects();
    MPI_Finalize();
    if (gpu.emu_live)
        CHECK(gpu.emu_live(NULL) == 0);
    return report_done();
}
