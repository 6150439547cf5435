/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* See gpu.h. Must not know MPI. */

#include "gpu.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_DEVICES 16
#define STAGING_SZ ((size_t) 4 << 20)   /* bytes copied in or out at a time */
#define PAGE_SZ ((size_t) 4096)

struct gpu_driver gpu;

static int ndevices;
static CUcontext primaries[MAX_DEVICES];
static CUcontext other_ctx;     /* of MEM__OTHER_CTX */
static int may_go_on;           /* the stream of gpu_stream_hold */

/* For access to memory that the CPU cannot reach: one stream per context, and a pinned buffer; one
 * thread at a time. */
static pthread_mutex_t copy_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    CUcontext ctx;
    CUstream stream;
} streams[MAX_DEVICES + 1];
static char *staging;
static CUcontext staging_ctx;

void gpu_quiet(int on)
{
    if (gpu.emu_quiet)
        gpu.emu_quiet(on);
}

void gpu_judge(CUresult res, const char *call, const char *file, int line)
{
    const char *name = "unknown error";

    if (res == CUDA_SUCCESS)
        return;
    if (gpu.GetErrorName)
        gpu.GetErrorName(res, &name);
    fprintf(stderr, "%s:%d: the test's own call cu%s failed: %s\n", file, line, call, name);
    exit(3);
}

static void emu_functions_find(void *library)
{
    *(void **) &gpu.emu_quiet = dlsym(library, "emu_quiet");
    *(void **) &gpu.emu_fail_set = dlsym(library, "emu_fail_set");
    *(void **) &gpu.emu_call_count = dlsym(library, "emu_call_count");
    *(void **) &gpu.emu_failed_count = dlsym(library, "emu_failed_count");
    *(void **) &gpu.emu_live = dlsym(library, "emu_live");
    *(void **) &gpu.emu_ipc_count = dlsym(library, "emu_ipc_count");
    *(void **) &gpu.emu_peek = dlsym(library, "emu_peek");
    *(void **) &gpu.emu_device_lose = dlsym(library, "emu_device_lose");
    gpu.is_emulated = gpu.emu_quiet != NULL;
}

static void function_find(PFN_cuGetProcAddress_v12000 find, const char *name, int version,
                          void **function)
{
    if (find(name, function, version, 0, NULL) != CUDA_SUCCESS || *function == NULL) {
        fprintf(stderr, "the CUDA driver has no function %s of version %d\n", name, version);
        exit(3);
    }
}

/* What GPUs whose memory cannot be shared do not have. */
static void kinds_find(void)
{
    CUdevice dev;
    int types, has_files;

    CU(DeviceGet(&dev, 0));
    CU(DeviceGetAttribute(&types, CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, dev));
    CU(DeviceGetAttribute(&has_files, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
                          dev));
    if (!(types & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
        mem_without(MEM__SHARED_POOL);
    if (!has_files)
        mem_without(MEM__SHAREABLE);
}

int gpu_open(void)
{
    PFN_cuGetProcAddress_v12000 find;
    const char *name = "unknown error";
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    CUresult res;

    if (library == NULL) {
        fprintf(stderr, "no GPU: %s\n", dlerror());
        return 0;
    }
    emu_functions_find(library);
    *(void **) &find = dlsym(library, "cuGetProcAddress_v2");
    if (find == NULL) {
        fprintf(stderr, "no GPU: the CUDA driver is older than CUDA 12\n");
        return 0;
    }
#define FIND(name_, proto_, ask_) function_find(find, "cu" #name_, ask_, (void **) &gpu.name_);
    GPU_FUNCTIONS(FIND)
#undef FIND
    gpu_quiet(1);
    res = gpu.Init(0);
    gpu_quiet(0);
    if (res != CUDA_SUCCESS) {
        gpu.GetErrorName(res, &name);
        fprintf(stderr, "no GPU: cuInit gave %s\n", name);
        return 0;
    }
    CU(DeviceGetCount(&ndevices));
    if (ndevices > MAX_DEVICES)
        ndevices = MAX_DEVICES;
    if (ndevices > 0)
        kinds_find();
    return ndevices;
}

CUcontext gpu_primary(int device)
{
    CUdevice dev;

    if (primaries[device] == NULL) {
        CU(DeviceGet(&dev, device));
        CU(DevicePrimaryCtxRetain(&primaries[device], dev));
    }
    return primaries[device];
}

int gpu_peers_enable(void)
{
    int can[2] = { 0, 0 };
    CUcontext before = gpu_get_current();

    if (ndevices < 2)
        return 0;
    CU(DeviceCanAccessPeer(&can[0], 0, 1));
    CU(DeviceCanAccessPeer(&can[1], 1, 0));
    for (int i = 0; i < 2 && can[0] && can[1]; i++) {
        CU(CtxSetCurrent(gpu_primary(i)));
        CU(CtxEnablePeerAccess(gpu_primary(1 - i), 0));
    }
    CU(CtxSetCurrent(before));
    return can[0] && can[1];
}

void gpu_set_current(int device)
{
    CU(CtxSetCurrent(gpu_primary(device)));
}

static void CUDA_CB held(void *unused)
{
    (void) unused;
    while (!__atomic_load_n(&may_go_on, __ATOMIC_ACQUIRE))
        usleep(1000);
}

CUstream gpu_stream_hold(void)
{
    CUstream stream;

    __atomic_store_n(&may_go_on, 0, __ATOMIC_RELEASE);
    CU(StreamCreate(&stream, CU_STREAM_DEFAULT));
    CU(LaunchHostFunc(stream, held, NULL));
    return stream;
}

void gpu_stream_release(CUstream stream)
{
    __atomic_store_n(&may_go_on, 1, __ATOMIC_RELEASE);
    CU(StreamSynchronize(stream));
    CU(StreamDestroy(stream));
}

void gpu_forget(int device)
{
    CUcontext ended = primaries[device];
    int n = 0;

    primaries[device] = NULL;
    for (int i = 0; streams[i].ctx; i++) {
        if (streams[i].ctx != ended)
            streams[n++] = streams[i];
    }
    for (; n <= MAX_DEVICES; n++)
        streams[n].ctx = NULL;
    if (staging_ctx == ended)
        staging = NULL;
}

CUcontext gpu_get_current(void)
{
    CUcontext ctx;

    CU(CtxGetCurrent(&ctx));
    return ctx;
}

static CUcontext other_ctx_get(void)
{
    CUdevice dev;

    if (other_ctx == NULL) {
        CUcontext popped;

        CU(DeviceGet(&dev, 0));
        CU(CtxCreate(&other_ctx, NULL, 0, dev));
        CU(CtxPopCurrent(&popped));
    }
    return other_ctx;
}

/* ---- kinds ---- */

static const struct {
    const char *name;
    int is_gpu;
    int device;                 /* device that must exist */
} kinds[] = {
    [MEM__PAGEABLE] = {"pageable", 0, 0},
    [MEM__PINNED] = {"pinned", 0, 0},
    [MEM__REGISTERED] = {"registered", 0, 0},
    [MEM__DEVICE] = {"device", 1, 0},
    [MEM__OTHER_DEVICE] = {"other-device", 1, 1},
    [MEM__OTHER_CTX] = {"other-context", 1, 0},
    [MEM__MANAGED] = {"managed", 1, 0},
    [MEM__POOL] = {"pool", 1, 0},
    [MEM__SHARED_POOL] = {"shared-pool", 1, 0},
    [MEM__MAPPED] = {"mapped", 1, 0},
    [MEM__SHAREABLE] = {"shareable", 1, 0}
};

const char *mem_name(enum mem_kind kind)
{
    return kinds[kind].name;
}

enum mem_kind mem_named(const char *name)
{
    int kind = 0;

    while (kind < MEM__NKINDS && strcmp(name, kinds[kind].name) != 0)
        kind++;
    return (enum mem_kind) kind;
}

int mem_is_gpu(enum mem_kind kind)
{
    return kinds[kind].is_gpu;
}

static int is_without[MEM__NKINDS];

int mem_exists(enum mem_kind kind)
{
    return kinds[kind].device < ndevices && !is_without[kind];
}

void mem_without(enum mem_kind kind)
{
    is_without[kind] = 1;
}

/* ---- memory ---- */

static size_t round_up(size_t sz, size_t step)
{
    return (sz + step - 1) / step * step;
}

static CUmemAllocationProp mapped_prop(enum mem_kind kind)
{
    CUmemAllocationProp prop;

    memset(&prop, 0, sizeof(prop));
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = 0;
    if (kind == MEM__SHAREABLE)
        prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return prop;
}

static void mapped_alloc(struct mem *mem)
{
    CUmemAllocationProp prop = mapped_prop(mem->kind);
    CUmemAccessDesc access = {
        .location = prop.location,.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    };
    CUdeviceptr addr;
    size_t step;

    CU(MemGetAllocationGranularity(&step, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    mem->sz = round_up(mem->sz, step);
    CU(MemAddressReserve(&addr, mem->sz, 0, 0, 0));
    CU(MemCreate(&mem->handle, mem->sz, &prop, 0));
    CU(MemMap(addr, mem->sz, 0, mem->handle, 0));
    CU(MemSetAccess(addr, mem->sz, &access, 1));
    mem->addr = (char *) addr;
}

/* The pool of MEM__SHARED_POOL, which exists until the program ends. */
static CUmemoryPool shared_pool(void)
{
    static CUmemoryPool pool;
    CUmemPoolProps props;

    if (pool == NULL) {
        memset(&props, 0, sizeof(props));
        props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
        props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        CU(MemPoolCreate(&pool, &props));
    }
    return pool;
}

static char *pageable_alloc(size_t sz)
{
    /* Not from the heap: registration affects whole pages, which may hold other data */
    void *addr = mmap(NULL, sz, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (addr == MAP_FAILED) {
        perror("the test's own memory");
        exit(3);
    }
    return addr;
}

void mem_alloc(struct mem *mem, enum mem_kind kind, size_t sz)
{
    CUdeviceptr addr = 0;
    void *host = NULL;
    CUcontext popped;

    memset(mem, 0, sizeof(*mem));
    mem->kind = kind;
    mem->sz = round_up(sz, PAGE_SZ);
    if (kind == MEM__PAGEABLE) {
        mem->addr = mem->cpu = pageable_alloc(mem->sz);
        return;
    }

    mem->ctx = kind == MEM__OTHER_CTX ? other_ctx_get() : gpu_primary(kind == MEM__OTHER_DEVICE);
    CU(CtxPushCurrent(mem->ctx));
    switch (kind) {
        case MEM__PINNED:
            CU(MemHostAlloc(&host, mem->sz, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
            mem->addr = mem->cpu = host;
            break;
        case MEM__REGISTERED:
            mem->addr = mem->cpu = pageable_alloc(mem->sz);
            CU(MemHostRegister(mem->addr, mem->sz,
                               CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP));
            break;
        case MEM__MANAGED:
            CU(MemAllocManaged(&addr, mem->sz, CU_MEM_ATTACH_GLOBAL));
            break;
        case MEM__POOL:
            CU(MemAllocAsync(&addr, mem->sz, NULL));
            CU(StreamSynchronize(NULL));
            break;
        case MEM__SHARED_POOL:
            CU(MemAllocFromPoolAsync(&addr, mem->sz, shared_pool(), NULL));
            CU(StreamSynchronize(NULL));
            break;
        case MEM__MAPPED:
        case MEM__SHAREABLE:
            mapped_alloc(mem);
            break;
        default:
            CU(MemAlloc(&addr, mem->sz));
            break;
    }
    if (addr)
        mem->addr = (char *) addr;
    if (mem->cpu == NULL && gpu.emu_peek)
        mem->cpu = gpu.emu_peek(mem->addr, mem->sz);
    CU(CtxPopCurrent(&popped));
}

/* As CU, for a call that frees something: a context that a fault has made unusable refuses it, and
 * its resources are freed with it. */
#define FREED(call_)                                                            \
    do {                                                                        \
        gpu_quiet(1);                                                           \
        CUresult res_ = gpu.call_;                                              \
        if (res_ != CUDA_SUCCESS && gpu.StreamQuery(NULL) != res_)              \
            gpu_judge(res_, #call_, __FILE__, __LINE__);                        \
        gpu_quiet(0);                                                           \
    } while (0)

void mem_free(struct mem *mem)
{
    CUdeviceptr addr = (CUdeviceptr) mem->addr;
    CUcontext popped;

    if (mem->addr == NULL)
        return;
    if (mem->ctx)
        CU(CtxPushCurrent(mem->ctx));
    switch (mem->kind) {
        case MEM__PAGEABLE:
            munmap(mem->addr, mem->sz);
            break;
        case MEM__PINNED:
            FREED(MemFreeHost(mem->addr));
            break;
        case MEM__REGISTERED:
            FREED(MemHostUnregister(mem->addr));
            munmap(mem->addr, mem->sz);
            break;
        case MEM__POOL:
        case MEM__SHARED_POOL:
            FREED(MemFreeAsync(addr, NULL));
            FREED(StreamSynchronize(NULL));
            break;
        case MEM__MAPPED:
        case MEM__SHAREABLE:
            FREED(MemUnmap(addr, mem->sz));
            FREED(MemRelease(mem->handle));
            FREED(MemAddressFree(addr, mem->sz));
            break;
        default:
            FREED(MemFree(addr));
            break;
    }
    if (mem->ctx)
        CU(CtxPopCurrent(&popped));
    memset(mem, 0, sizeof(*mem));
}

/* The stream for a context, which is current. */
static CUstream stream_get(CUcontext ctx)
{
    int i = 0;

    while (streams[i].ctx && streams[i].ctx != ctx)
        i++;
    if (streams[i].ctx == NULL) {
        streams[i].ctx = ctx;
        CU(StreamCreate(&streams[i].stream, CU_STREAM_NON_BLOCKING));
    }
    if (staging == NULL) {
        CU(MemHostAlloc((void **) &staging, STAGING_SZ, CU_MEMHOSTALLOC_PORTABLE));
        staging_ctx = ctx;
    }
    return streams[i].stream;
}

static void copy_by_driver(const struct mem *mem, size_t off, void *out, const void *in, size_t n)
{
    CUcontext popped;
    CUstream stream;

    pthread_mutex_lock(&copy_lock);
    CU(CtxPushCurrent(mem->ctx));
    stream = stream_get(mem->ctx);
    for (size_t done = 0, part; done < n; done += part) {
        CUdeviceptr there = (CUdeviceptr) (mem->addr + off + done);
        CUdeviceptr here = (CUdeviceptr) staging;

        part = n - done < STAGING_SZ ? n - done : STAGING_SZ;
        if (in)
            memcpy(staging, (const char *) in + done, part);
        CU(MemcpyAsync(in ? there : here, in ? here : there, part, stream));
        CU(StreamSynchronize(stream));
        if (out)
            memcpy((char *) out + done, staging, part);
    }
    CU(CtxPopCurrent(&popped));
    pthread_mutex_unlock(&copy_lock);
}

void mem_write(const struct mem *mem, size_t off, const void *from, size_t n)
{
    if (mem->cpu)
        memcpy(mem->cpu + off, from, n);
    else
        copy_by_driver(mem, off, NULL, from, n);
}

void mem_read(const struct mem *mem, size_t off, void *to, size_t n)
{
    if (mem->cpu)
        memcpy(to, mem->cpu + off, n);
    else
        copy_by_driver(mem, off, to, NULL, n);
}
