/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests messages from mapped virtual ranges, which receivers map by file descriptors. Two
 * processes, with a GPU each if the machine has two, and MPIR_CVAR_GPUDT_DIRECT=always.
 *
 * Usage: ranges WHAT
 *   remapped     other memory at the same address for each message
 *   several      pieces of memory side by side: messages from one, from some, from too many
 *   mixed        a piece beside one that is not to be shared
 *   closed       descriptors of memory that was freed are closed
 *   faults       with MPIR_CVAR_GPUDT_IPC_MAX=4: each driver call that only such messages make
 *                fails. Emulated driver only
 *   forbidden    the system does not permit to take descriptors: messages pass through host memory,
 *                and memory that is shared otherwise is still mapped */

#include "report.h"
#include "side.h"

#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NROUNDS 100
#define MAX_HANDLES 8           /* as MPII_GPUDT_MAX_HANDLES */
#define NPIECES (MAX_HANDLES + 2)
#define BOUND 4                 /* as MPIR_CVAR_GPUDT_IPC_MAX */

static int rank;
static size_t step;             /* bytes of a piece */
static CUmemAllocationProp prop;

static CUmemGenericAllocationHandle piece_map(CUdeviceptr at)
{
    CUmemAccessDesc access = {
        .location = prop.location,.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    };
    CUmemGenericAllocationHandle handle;

    CU(MemCreate(&handle, step, &prop, 0));
    CU(MemMap(at, step, 0, handle, 0));
    CU(MemSetAccess(at, step, &access, 1));
    return handle;
}

static void piece_unmap(CUdeviceptr at, CUmemGenericAllocationHandle handle)
{
    CU(MemUnmap(at, step));
    CU(MemRelease(handle));
}

static int number(int seed, size_t i)
{
    return (int) (seed * 7919u + i * 31u);
}

/* Send n ints from GPU memory. */
static void send_from(CUdeviceptr at, size_t n, int seed)
{
    int *host = malloc(n * sizeof(int));

    for (size_t i = 0; i < n; i++)
        host[i] = number(seed, i);
    CU(Memcpy(at, (CUdeviceptr) host, n * sizeof(int)));
    /* The driver cannot be told to complete copies to such memory before they return, and MPI waits
     * for them for 0.5 ms only */
    CU(StreamSynchronize(NULL));
    CHECK_MPI(MPI_Ssend((void *) at, (int) n, MPI_INT, 1, seed, MPI_COMM_WORLD));
    free(host);
}

/* Receive them in GPU memory, and compare. */
static void receive(size_t n, int seed)
{
    int *host = malloc(n * sizeof(int));
    struct mem mem;
    size_t nwrong = 0;

    mem_alloc(&mem, mem_exists(MEM__OTHER_DEVICE) ? MEM__OTHER_DEVICE : MEM__DEVICE,
              n * sizeof(int));
    CHECK_MPI(MPI_Recv(mem.addr, (int) n, MPI_INT, 0, seed, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CU(Memcpy((CUdeviceptr) host, (CUdeviceptr) mem.addr, n * sizeof(int)));
    for (size_t i = 0; i < n; i++)
        nwrong += host[i] != number(seed, i);
    CHECK(nwrong == 0);
    mem_free(&mem);
    free(host);
}

static void remapped(void)
{
    CUdeviceptr at;

    CU(MemAddressReserve(&at, step, 0, 0, 0));
    for (int i = 0; i < NROUNDS; i++) {
        if (rank == 0) {
            CUmemGenericAllocationHandle handle = piece_map(at);
            send_from(at + 256, 3000, i);
            piece_unmap(at, handle);
        } else {
            receive(3000, i);
        }
    }
    CU(MemAddressFree(at, step));
    if (rank == 1) {
        CHECK(report_variable("gpudt_direct_pulls") == NROUNDS);
        CHECK(report_variable("gpudt_ipc_opens") == NROUNDS);
        CHECK(report_variable("gpudt_ipc_failures") == 0);
    } else {
        CHECK(report_variable("gpudt_direct_hidden") == 0);
    }
}

/* A message of some bytes at any place of a row of pieces. */
static void part(CUdeviceptr at, size_t sz, int seed)
{
    if (rank == 0)
        send_from(at, sz / sizeof(int), seed);
    else
        receive(sz / sizeof(int), seed);
}

/* Rows of which some are in one piece and some in the next, to contiguous memory and to rows. */
static void rows(CUdeviceptr border)
{
    enum { ROWS = 16, ROW = 512, PITCH = 1024, SPAN = ROWS * PITCH };   /* ints */
    int host[SPAN];
    MPI_Datatype type;
    struct mem mem;
    size_t nwrong = 0;

    MPI_Type_vector(ROWS, ROW, PITCH, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int is_strided = 0; is_strided < 2; is_strided++) {
        if (rank == 0) {
            CUdeviceptr at = border - sizeof(host) / 2;
            for (int i = 0; i < SPAN; i++)
                host[i] = number(9 + is_strided, i);
            CU(Memcpy(at, (CUdeviceptr) host, sizeof(host)));
            CU(StreamSynchronize(NULL));
            CHECK_MPI(MPI_Ssend((void *) at, 1, type, 1, 9, MPI_COMM_WORLD));
            continue;
        }
        mem_alloc(&mem, mem_exists(MEM__OTHER_DEVICE) ? MEM__OTHER_DEVICE : MEM__DEVICE,
                  sizeof(host));
        CHECK_MPI(MPI_Recv(mem.addr, is_strided ? 1 : ROWS * ROW, is_strided ? type : MPI_INT, 0, 9,
                           MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CU(Memcpy((CUdeviceptr) host, (CUdeviceptr) mem.addr, sizeof(host)));
        for (int i = 0; i < ROWS * ROW; i++) {
            int at = i / ROW * PITCH + i % ROW;
            nwrong += host[is_strided ? at : i] != number(9 + is_strided, at);
        }
        mem_free(&mem);
    }
    CHECK(nwrong == 0);
    MPI_Type_free(&type);
}

static void several(void)
{
    CUmemGenericAllocationHandle handle[NPIECES];
    unsigned long long hidden;
    CUdeviceptr at;

    CU(MemAddressReserve(&at, NPIECES * step, 0, 0, 0));
    for (int i = NPIECES - 1; i >= 0; i--)
        handle[i] = piece_map(at + i * step);
    part(at, step, 1);
    part(at + step, step, 2);
    part(at, 2 * step, 3);
    part(at + step - 128, 256, 4);      /* of the same pieces */
    part(at + step / 2, MAX_HANDLES * step - step / 2, 5);
    CHECK(report_variable("gpudt_direct_hidden") == 0);
    if (rank == 1) {
        CHECK(report_variable("gpudt_direct_pulls") == 5);
        CHECK(report_variable("gpudt_ipc_opens") == 4);
        CHECK(report_variable("gpudt_ipc_hits") == 1);
    }
    part(at, (MAX_HANDLES + 1) * step, 6);

    /* Another piece in the place of one in the middle */
    hidden = report_variable("gpudt_direct_hidden");
    CHECK(hidden == (rank == 0));
    piece_unmap(at + step, handle[1]);
    handle[1] = piece_map(at + step);
    part(at, 3 * step, 7);
    part(at + step / 2, step, 8);
    rows(at + step);
    CHECK(report_variable("gpudt_direct_hidden") == hidden);
    if (rank == 1)
        CHECK(report_variable("gpudt_direct_pulls") == 9);
    for (int i = 0; i < NPIECES; i++)
        piece_unmap(at + i * step, handle[i]);
    CU(MemAddressFree(at, NPIECES * step));
}

/* The next piece is no longer there, or cannot be shared. */
static void mixed(void)
{
    CUmemAllocationHandleType type = prop.requestedHandleTypes;
    CUmemGenericAllocationHandle handle[2];
    CUdeviceptr at;

    CU(MemAddressReserve(&at, 2 * step, 0, 0, 0));
    handle[0] = piece_map(at);
    part(at, step, 1);
    prop.requestedHandleTypes = 0;
    handle[1] = piece_map(at + step);
    part(at, 2 * step, 2);
    prop.requestedHandleTypes = type;
    piece_unmap(at + step, handle[1]);
    handle[1] = piece_map(at + step);
    part(at, 2 * step, 3);
    if (rank == 1)
        CHECK(report_variable("gpudt_direct_pulls") == 2);
    else
        CHECK(report_variable("gpudt_direct_hidden") == 1);
    for (int i = 0; i < 2; i++)
        piece_unmap(at + i * step, handle[i]);
    CU(MemAddressFree(at, 2 * step));
}

static int descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    while (dir && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n;
}

/* The first message may open others. */
static void closed(void)
{
    const unsigned long long pulls = report_variable("gpudt_direct_pulls");
    int before = 0;

    for (int i = 0; i < 6 * NROUNDS; i++) {
        if (rank == 0) {
            struct mem mem;
            mem_alloc(&mem, MEM__SHAREABLE, step);
            send_from((CUdeviceptr) mem.addr, 10, i);
            mem_free(&mem);
        } else {
            receive(10, i);
        }
        if (i == 0)
            before = descriptors();
    }
    CHECK(descriptors() <= before + 4);
    CHECK(report_variable("gpudt_direct_pulls") - pulls == (rank == 1 ? 6 * NROUNDS : 0));
}

/* One message from new memory, in two pieces. */
static void message(int seed)
{
    CUmemGenericAllocationHandle handle[2];
    CUdeviceptr at;

    CU(MemAddressReserve(&at, 2 * step, 0, 0, 0));
    for (int i = 0; i < 2; i++)
        handle[i] = piece_map(at + i * step);
    part(at + step / 2, step, seed);
    for (int i = 0; i < 2; i++)
        piece_unmap(at + i * step, handle[i]);
    CU(MemAddressFree(at, 2 * step));
}

static void faults(void)
{
    static const char *const names[] = {
        "cuMemGetAddressRange", "cuMemRetainAllocationHandle", "cuMemExportToShareableHandle",
        "cuMemImportFromShareableHandle", "cuMemAddressReserve", "cuMemMap", "cuMemSetAccess",
        "cuMemUnmap", "cuMemRelease", "cuMemAddressFree"
    };
    unsigned long long pulls;
    long nfired = 0;

    CHECK(gpu.is_emulated);
    for (int i = 0; i < BOUND + 1; i++)
        message(i);
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        for (int nth = 1; nth <= 4; nth++) {
            gpu.emu_fail_set(names[i], nth, CUDA_ERROR_UNKNOWN, 1);
            message(10 * i + nth);
            nfired += gpu.emu_failed_count() > 0;
            gpu.emu_fail_set(NULL, 0, 0, 1);
        }
    }
    CHECK(nfired >= (rank == 0 ? 10 : 9));
    pulls = report_variable("gpudt_direct_pulls");
    message(1000);
    if (rank == 1)
        CHECK(report_variable("gpudt_direct_pulls") == pulls + 1);
}

/* Let the system refuse a call, as it does where processes may not debug each other. */
static void pidfd_getfd_forbid(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_getfd, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),       /* EPERM */
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
    };
    struct sock_fprog program = {.len = 4,.filter = filter };

    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void forbidden(void)
{
    static const enum mem_kind kinds[] = { MEM__SHAREABLE, MEM__DEVICE };

    if (rank == 1)
        pidfd_getfd_forbid();
    for (int i = 0; i < NROUNDS; i++) {
        if (rank == 0) {
            struct mem mem;
            mem_alloc(&mem, kinds[i >= NROUNDS / 2], step);
            send_from((CUdeviceptr) mem.addr, 3000, i);
            mem_free(&mem);
        } else {
            receive(3000, i);
        }
        if (rank == 1 && i == NROUNDS / 2 - 1)
            CHECK(report_variable("gpudt_direct_pulls") == 0);
    }
    if (rank == 1) {
        CHECK(report_variable("gpudt_direct_pulls") == NROUNDS / 2);
        CHECK(report_variable("gpudt_ipc_failures") == 3);
        CHECK(report_variable("gpudt_direct_refused") > 0);
    }
}

int main(int argc, char **argv)
{
    static const struct report_case tests[] = {
        {"remapped", remapped}, {"several", several}, {"mixed", mixed},
        {"closed", closed}, {"faults", faults}, {"forbidden", forbidden}
    };
    int provided;

    report_time_limit(120);
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (gpu_open() == 0)
        return 1;
    gpu_set_current(rank == 1 && mem_exists(MEM__OTHER_DEVICE));
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CU(MemGetAllocationGranularity(&step, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    report_case_run(tests, sizeof(tests) / sizeof(tests[0]), argc > 1 ? argv[1] : NULL);
    MPI_T_finalize();
    MPI_Finalize();
    return report_done();
}
