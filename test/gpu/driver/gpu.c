/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Checks the loader's assumptions about a real driver, and measures the cost of its calls. A single
 * self-contained program, with substitutes for the two parts of the library that the loader needs.
 * Lines that begin with "fact" are informative; anything unexpected is an error. Fails without a
 * GPU. */

#include "driver_test.h"

int MPIR_CVAR_ENABLE_GPU = 1;

int MPIR_Err_create_code(int lastcode, int fatal, const char fcname[], int line, int error_class,
                         const char generic_msg[], const char specific_msg[], ...)
{
    va_list args;

    fprintf(stderr, "%s(%d): %s: ", fcname, line, generic_msg);
    va_start(args, specific_msg);
    vfprintf(stderr, specific_msg, args);
    va_end(args);
    fputc('\n', stderr);
    return error_class + (lastcode + fatal) * 0;
}

#define REPEAT 100000
#define TIMED(text_, call_)                                                     \
    do {                                                                        \
        double start_ = now_ns();                                               \
        for (int i_ = 0; i_ < REPEAT; i_++)                                     \
            call_;                                                              \
        printf("fact %-60s %7.1f ns\n", text_, (now_ns() - start_) / REPEAT);   \
    } while (0)

static CUmemorytype one_type;
static int host;

static CUresult one(const void *addr)
{
    static __typeof__(&cuPointerGetAttribute) call;

    if (call == NULL)
        call = APP(cuPointerGetAttribute);
    return call(&one_type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr) addr);
}

struct four {
    CUmemorytype type;
    int is_managed, device;
    CUcontext ctx;
};

static CUresult four(const void *addr, struct four *f)
{
    static __typeof__(&cuPointerGetAttributes) call;
    CUpointer_attribute names[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_CONTEXT
    };
    void *values[] = { &f->type, &f->is_managed, &f->device, &f->ctx };

    if (call == NULL)
        call = APP(cuPointerGetAttributes);
    memset(f, 0xff, sizeof(*f));
    return call(4, names, values, (CUdeviceptr) addr);
}

static int nthreads(void)
{
    char line[200];
    int n = -1;
    FILE *status = fopen("/proc/self/status", "r");

    while (status && fgets(line, sizeof(line), status))
        sscanf(line, "Threads: %d", &n);
    if (status)
        fclose(status);
    return n;
}

static void stage(const char *text)
{
    struct four f;
    CUresult a = one(&host), b = four(&host, &f);

    printf("fact %s: %d threads, single-threaded flag %d, host pointer: one attribute gives %d, "
           "four give %d (type %d, device %d)\n", text, nthreads(), MPII_Gpudt_driver_get() == NULL,
           a, b, f.type, f.device);
    CHECK(!is_gpu(&host));
}

static void show(const char *kind, const void *addr, MPIR_Gpudt_mem_e mem)
{
    struct four f;
    CUresult a = one(addr), b = four(addr, &f);
    MPIR_Gpudt_ptr_t ptr = { 0 };

    printf("fact %-22s one: %d (type %d)  four: %d (type %d managed %d device %d context %s)\n",
           kind, a, a ? 0 : one_type, b, f.type, f.is_managed, f.device, f.ctx ? "yes" : "none");
    OK(MPIR_Gpudt_query_ptr(addr, &ptr));
    if (ptr.mem != mem) {
        errs++;
        fprintf(stderr, "%s is taken for kind %d, not %d\n", kind, ptr.mem, mem);
    }
}

static void test_start(void)
{
    MPIR_Gpudt_ptr_t ptr;

    TIMED("query_ptr before libcuda is there, one thread", MPIR_Gpudt_query_ptr(&host, &ptr));
    CHECK(!process_has_libcuda());
    app_load();
    stage("libcuda loaded");
    OK(APP(cuInit) (0));
    stage("after cuInit");
    app_primary(0);
    stage("context made");
    CHECK(MPII_Gpudt_driver_get() != NULL);     /* a context implies threads */
    CHECK(nthreads() > 1);
}

static void test_kinds(void)
{
    CUdeviceptr d, managed, pool, mapped;
    CUmemAllocationProp prop = { 0 };
    CUmemAccessDesc access = { 0 };
    CUmemGenericAllocationHandle handle;
    size_t granularity;
    struct four f;
    MPIR_Gpudt_ptr_t ptr;
    static char registered[8192];
    void *pinned, *pageable = malloc(1 << 20);

    OK(APP(cuMemAlloc) (&d, 1000));
    OK(APP(cuMemAllocManaged) (&managed, 1000, CU_MEM_ATTACH_GLOBAL));
    OK(APP(cuMemAllocAsync) (&pool, 1000, NULL));
    OK(APP(cuMemHostAlloc) (&pinned, 1000, CU_MEMHOSTALLOC_PORTABLE));
    OK(APP(cuMemHostRegister) (registered, sizeof(registered), CU_MEMHOSTREGISTER_PORTABLE));
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    OK(APP(cuMemGetAllocationGranularity) (&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    OK(APP(cuMemAddressReserve) (&mapped, granularity, 0, 0, 0));
    OK(APP(cuMemCreate) (&handle, granularity, &prop, 0));
    OK(APP(cuMemMap) (mapped, granularity, 0, handle, 0));
    access.location = prop.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    OK(APP(cuMemSetAccess) (mapped, granularity, &access, 1));

    for (int round = 0; round < 2; round++) {
        printf("fact %s\n", round ? "-- no context current" : "-- primary context current");
        show("device", (void *) (d + 999), MPIR_GPUDT_MEM__DEVICE);
        show("managed", (void *) managed, MPIR_GPUDT_MEM__MANAGED);
        show("pool", (void *) pool, MPIR_GPUDT_MEM__DEVICE);
        show("mapped range", (void *) mapped, MPIR_GPUDT_MEM__DEVICE);
        show("pinned", pinned, MPIR_GPUDT_MEM__PINNED);
        show("registered", registered, MPIR_GPUDT_MEM__PINNED);
        show("pageable", pageable, MPIR_GPUDT_MEM__HOST);
        show("stack", &d, MPIR_GPUDT_MEM__HOST);
        TIMED("one attribute, host", one(&host));
        TIMED("four attributes, host", four(&host, &f));
        TIMED("query_ptr, host", MPIR_Gpudt_query_ptr(&host, &ptr));
        TIMED("query_ptr, heap", MPIR_Gpudt_query_ptr(pageable, &ptr));
        TIMED("query_ptr, device", MPIR_Gpudt_query_ptr((void *) d, &ptr));
        OK(APP(cuCtxSetCurrent) (NULL));
    }
    app_primary(0);
    OK(APP(cuMemFree) (d));
    CHECK(MPIR_Gpudt_query_ptr((void *) d, &ptr) != MPI_SUCCESS);
    OK(APP(cuMemHostUnregister) (registered));
    show("unregistered", registered, MPIR_GPUDT_MEM__HOST);
    free(pageable);
}

static unsigned long long id_of(CUdeviceptr addr)
{
    unsigned long long id = 0;

    OK(APP(cuPointerGetAttribute) (&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, addr));
    return id;
}

/* Two handles side by side in one reservation. */
static void ranges_check(CUdeviceptr at, size_t sz, const CUmemGenericAllocationHandle * handle)
{
    for (int i = 0; i < 2; i++) {
        CUdeviceptr piece = at + i * sz, base = 0;
        CUmemGenericAllocationHandle retained = 0;
        CUmemoryPool pool = NULL;
        unsigned long long types = 0;
        size_t found = 0;

        OK(APP(cuMemGetAddressRange) (&base, &found, piece + sz - 1));
        CHECK(base == piece && found == sz);
        OK(APP(cuMemRetainAllocationHandle) (&retained, (void *) (piece + 5)));
        CHECK(retained == handle[i]);
        OK(APP(cuMemRelease) (retained));
        OK(APP(cuPointerGetAttribute) (&types, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, piece));
        CHECK(types & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
        if (APP(cuPointerGetAttribute) (&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, piece) ==
            CUDA_SUCCESS)
            CHECK(pool == NULL);
    }
    CHECK(id_of(at) && id_of(at) != id_of(at + sz));
}

/* What the library relies on when it shares mapped ranges. */
static void test_ranges(void)
{
    CUmemAllocationProp prop = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}
    };
    const CUmemAccessDesc access = {
        .location = prop.location,.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    };
    CUmemGenericAllocationHandle handle[2];
    unsigned long long before;
    double start;
    size_t sz;
    CUdeviceptr at;
    CUresult res;
    int fd = -1;

    OK(APP(cuMemGetAllocationGranularity) (&sz, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    res = APP(cuMemCreate) (&handle[0], sz, &prop, 0);
    printf("fact memory to be shared by a file descriptor: %d\n", res);
    if (res != CUDA_SUCCESS)
        return;
    OK(APP(cuMemCreate) (&handle[1], sz, &prop, 0));
    OK(APP(cuMemAddressReserve) (&at, 2 * sz, 0, 0, 0));
    for (int i = 0; i < 2; i++)
        OK(APP(cuMemMap) (at + i * sz, sz, 0, handle[i], 0));
    /* The driver knows no address range before */
    OK(APP(cuMemSetAccess) (at, 2 * sz, &access, 1));
    ranges_check(at, sz, handle);

    start = now_ns();
    OK(APP(cuMemExportToShareableHandle) (&fd, handle[0],
                                          CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    printf("fact export to a file descriptor: %.1f us\n", (now_ns() - start) * 1e-3);
    close(fd);

    before = id_of(at);
    OK(APP(cuMemUnmap) (at, sz));
    OK(APP(cuMemMap) (at, sz, 0, handle[0], 0));
    CHECK(id_of(at) > before);
    for (int i = 0; i < 2; i++) {
        OK(APP(cuMemUnmap) (at + i * sz, sz));
        OK(APP(cuMemRelease) (handle[i]));
    }
    OK(APP(cuMemAddressFree) (at, 2 * sz));
}

static void test_contexts(void)
{
    const MPII_Gpudt_driver_t *drv = MPII_Gpudt_driver_get();
    CUcontext own, current;
    CUdeviceptr d;
    MPIR_Gpudt_ptr_t ptr;
    MPII_Gpudt_ctx_t entered;
    unsigned flags;
    int active;

    OK(APP(cuCtxCreate) (&own, NULL, 0, 0));
    OK(APP(cuMemAlloc) (&d, 1000));
    OK(APP(cuCtxPopCurrent) (&current));
    app_primary(0);
    OK(MPIR_Gpudt_query_ptr((void *) d, &ptr));
    CHECK(ptr.ctx == own);
    OK(MPII_Gpudt_ctx_enter(drv, ptr.device, ptr.ctx, &entered));
    OK(drv->cuCtxGetCurrent(&current));
    CHECK(current == own);
    MPII_Gpudt_ctx_leave(drv, &entered);
    OK(drv->cuCtxGetCurrent(&current));
    CHECK(current != own);
    TIMED("enter and leave another context", {
          MPII_Gpudt_ctx_enter(drv, 0, own, &entered); MPII_Gpudt_ctx_leave(drv, &entered);});
    TIMED("enter and leave the current context", {
          MPII_Gpudt_ctx_enter(drv, 0, current, &entered); MPII_Gpudt_ctx_leave(drv, &entered);});
    TIMED("enter and leave by ordinal", {
          MPII_Gpudt_ctx_enter(drv, 0, NULL, &entered); MPII_Gpudt_ctx_leave(drv, &entered);});
    OK(APP(cuCtxDestroy) (own));

    /* A reset ends the context, and the library's reference holds the next one. */
    OK(MPII_Gpudt_ctx_enter(drv, 0, NULL, &entered));
    MPII_Gpudt_ctx_leave(drv, &entered);
    OK(APP(cuDevicePrimaryCtxReset) (0));
    OK(APP(cuDevicePrimaryCtxGetState) (0, &flags, &active));
    printf("fact after a reset: active %d\n", active);
    CHECK(!active);
    OK(MPII_Gpudt_ctx_enter(drv, 0, NULL, &entered));
    OK(drv->cuMemAlloc(&d, 10));
    OK(drv->cuMemFree(d));
    MPII_Gpudt_ctx_leave(drv, &entered);
    MPII_Gpudt_ctx_finalize();
}

static void test_capture(void)
{
    const MPII_Gpudt_driver_t *drv = MPII_Gpudt_driver_get();
    CUcontext ctx = app_primary(0);
    MPII_Gpudt_ctx_t entered;
    CUstream stream;
    CUgraph graph = NULL;
    CUdeviceptr d;
    CUresult res;

    OK(APP(cuStreamCreate) (&stream, CU_STREAM_NON_BLOCKING));
    OK(APP(cuStreamBeginCapture) (stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(MPII_Gpudt_ctx_enter(drv, 0, ctx, &entered));
    OK(drv->cuMemAlloc(&d, 100));
    OK(drv->cuMemFree(d));
    MPII_Gpudt_ctx_leave(drv, &entered);
    OK(APP(cuStreamEndCapture) (stream, &graph));

    OK(APP(cuStreamBeginCapture) (stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    res = APP(cuMemAlloc) (&d, 100);
    printf("fact allocation in a capture, without enter: %d; end of capture: %d\n", res,
           APP(cuStreamEndCapture) (stream, &graph));
    OK(APP(cuStreamDestroy) (stream));
}

static void test_fork(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        printf("fact in a forked child: one attribute gives %d, cuInit %d\n", one(&host),
               APP(cuInit) (0));
        fflush(stdout);
        _exit(is_gpu(&host));
    }
    CHECK(child_wait(pid) == 0);
}

/* The last test: a kernel that stores through a null pointer breaks the context. */
static void test_broken_context(void)
{
    static const char ptx[] = ".version 6.4\n.target sm_75\n.address_size 64\n"
        ".visible .entry selftest_null_store()\n{\n.reg .b64 %p;\n.reg .b32 %v;\nmov.b64 %p, 0;\n"
        "mov.b32 %v, 1;\nst.global.b32 [%p], %v;\nret;\n}\n";
    CUdeviceptr d;
    CUmodule module;
    CUfunction f;
    struct four values;
    MPIR_Gpudt_ptr_t ptr = { 0 };

    app_primary(0);
    OK(APP(cuMemAlloc) (&d, 100));
    OK(APP(cuModuleLoadData) (&module, ptx));
    OK(APP(cuModuleGetFunction) (&f, module, "selftest_null_store"));
    OK(APP(cuLaunchKernel) (f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    printf("fact after an illegal access: synchronize %d", APP(cuCtxSynchronize) ());
    printf(", one attribute: device pointer %d, host pointer %d", one((void *) d), one(&host));
    printf(", four: device pointer %d", four((void *) d, &values));
    printf(", host pointer %d\n", four(&host, &values));
    printf("fact query_ptr: error class of a device pointer %d, of a host pointer %d\n",
           MPIR_Gpudt_query_ptr((void *) d, &ptr), MPIR_Gpudt_query_ptr(&host, &ptr));
}

static int visible_child(void)
{
    MPIR_Gpudt_info_t info;

    MPIR_Gpudt_query(&info);
    printf("fact CUDA_VISIBLE_DEVICES=%s: %d devices, driver %d, built with %d%s%s\n",
           getenv("CUDA_VISIBLE_DEVICES") ? getenv("CUDA_VISIBLE_DEVICES") : "(unset)",
           info.ndevices, info.driver_version, info.cuda_version, info.reason[0] ? ", " : "",
           info.reason);
    return info.ndevices;
}

static void test_visible(void)
{
    MPIR_Gpudt_info_t info;
    CUuuid uuid;
    char text[64];
    int n = 0, at;

    MPIR_Gpudt_query(&info);
    CHECK(info.ndevices >= 1);
    OK(APP(cuDeviceGetUuid) (&uuid, 0));
    n += snprintf(text + n, sizeof(text) - (size_t) n, "GPU-");
    for (at = 0; at < 16; at++)
        n += snprintf(text + n, sizeof(text) - (size_t) n, "%s%02x",
                      at == 4 || at == 6 || at == 8 || at == 10 ? "-" : "",
                      (unsigned char) uuid.bytes[at]);
    CHECK(child_exec("visible", NULL, NULL, NULL) == info.ndevices);
    CHECK(child_exec("visible", NULL, "CUDA_VISIBLE_DEVICES", "") == 0);
    CHECK(child_exec("visible", NULL, "CUDA_VISIBLE_DEVICES", "0") == 1);
    CHECK(child_exec("visible", NULL, "CUDA_VISIBLE_DEVICES", text) == 1);
    CHECK(child_exec("visible", NULL, "CUDA_VISIBLE_DEVICES", "0,99") == 1);
    CHECK(child_exec("visible", NULL, "CUDA_VISIBLE_DEVICES", "no-such") == 0);
}

int main(int argc, char *argv[])
{
    if (argc > 1 && strcmp(argv[1], "visible") == 0)
        return visible_child();

    setvbuf(stdout, NULL, _IOLBF, 0);
    test_start();
    test_kinds();
    test_ranges();
    test_contexts();
    test_capture();
    test_fork();
    test_visible();
    test_broken_context();
    return test_end();
}
