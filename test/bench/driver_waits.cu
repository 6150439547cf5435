/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/*
 * Which calls of the driver wait for kernels that run on the GPU, without MPI: what the library calls
 * while such a kernel waits for a message would wait for ever. Each call is made while a kernel spins
 * on a stream that does not wait for the default one (cudaStreamNonBlocking), until the call has
 * returned or LIMIT has passed. Memory for IPC is another process's, on the first GPU; the calls are
 * made on the last one, so between two GPUs where there are two.
 *
 * Build and run: nvcc -O3 -std=c++17 -arch=native -o driver_waits driver_waits.cu -lcuda
 *                driver_waits [IMAGE]; an image (fatbin) to measure modules with
 */

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <time.h>
#include <unistd.h>

#define CHECK(call_)                                                                    \
    do {                                                                                \
        int res_ = (int) (call_);                                                       \
        if (res_ != 0) {                                                                \
            fprintf(stderr, "%s: error %d\n", #call_, res_);                            \
            exit(1);                                                                    \
        }                                                                               \
    } while (0)

static const double LIMIT = 500;        /* ms */
static const size_t SZ = 64 << 20;

static volatile int *flags;             /* [0]: the kernel may end; [1]: it runs */
static CUstream spinning;
static std::atomic<double> release_at{ 0 };     /* ms; 0: never */

static double now()
{
    timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

__global__ void spin(volatile int *word)
{
    word[1] = 1;
    while (word[0] == 0);
}

__global__ void unused(int *word)
{
    *word = 1;
}

static void beside_kernel(const char *name, const std::function<void()> &call)
{
    double begin, took;

    flags[0] = flags[1] = 0;
    spin<<<1, 1, 0, spinning>>>(flags);
    while (flags[1] == 0);
    begin = now();
    release_at = begin + LIMIT;
    call();
    took = now() - begin;
    release_at = 0;
    flags[0] = 1;
    CHECK(cuStreamSynchronize(spinning));
    printf("%-52s %10.1f us%s\n", name, took * 1e3, took >= LIMIT ? "  waits" : "");
    fflush(stdout);
}

static void device_use(int gpu)
{
    CUdevice device;
    CUcontext context;

    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, gpu));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
}

/* Another process's memory on the first GPU, until the pipe in is closed. */
static int exporter(int in, int out)
{
    CUdeviceptr mem;
    CUipcMemHandle handles[2];
    char end;

    device_use(0);
    for (CUipcMemHandle &handle : handles) {
        CHECK(cuMemAlloc(&mem, SZ));
        CHECK(cuIpcGetMemHandle(&handle, mem));
    }
    if (write(out, handles, sizeof(handles)) != sizeof(handles))
        return 1;
    return read(in, &end, 1) != 0;
}

static void measure(const std::string &image, const CUipcMemHandle *handles, int gpu)
{
    CUmodule module;
    CUfunction function;
    CUdeviceptr mem, reserved;
    CUipcMemHandle handle;
    CUmemGenericAllocationHandle range;
    CUmemAllocationProp prop = { };
    CUmemAccessDesc access = { };
    CUstream stream;
    CUevent event;
    cudaFuncAttributes attributes;
    void *host, *heap = aligned_alloc(4096, SZ);
    int *word;

    CHECK(cudaMalloc(&word, sizeof(int)));
    beside_kernel("a kernel of a loaded module, used first",
                  [&] { CHECK(cudaFuncGetAttributes(&attributes, unused)); });
    beside_kernel("cuStreamCreate", [&] { CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING)); });
    beside_kernel("its first launch, with synchronize", [&] {
        unused<<<1, 1, 0, stream>>>(word);
        CHECK(cuStreamSynchronize(stream));
    });
    beside_kernel("cuStreamDestroy", [&] { CHECK(cuStreamDestroy(stream)); });
    beside_kernel("cuEventCreate", [&] { CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING)); });
    beside_kernel("cuEventDestroy", [&] { CHECK(cuEventDestroy(event)); });

    if (!image.empty()) {
        beside_kernel("cuModuleLoadData", [&] { CHECK(cuModuleLoadData(&module, image.data())); });
        CHECK(cuModuleEnumerateFunctions(&function, 1, module));
        beside_kernel("cuFuncLoad", [&] { CHECK(cuFuncLoad(function)); });
        beside_kernel("cuModuleUnload", [&] { CHECK(cuModuleUnload(module)); });
    }

    beside_kernel("cuMemAlloc, 1 KiB", [&] { CHECK(cuMemAlloc(&mem, 1024)); });
    beside_kernel("cuMemFree", [&] { CHECK(cuMemFree(mem)); });
    beside_kernel("cuMemAlloc, 64 MiB", [&] { CHECK(cuMemAlloc(&mem, SZ)); });
    beside_kernel("cuIpcGetMemHandle", [&] { CHECK(cuIpcGetMemHandle(&handle, mem)); });
    beside_kernel("cuMemFree", [&] { CHECK(cuMemFree(mem)); });
    beside_kernel("cuMemHostAlloc, 64 MiB", [&] {
        CHECK(cuMemHostAlloc(&host, SZ, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE));
    });
    beside_kernel("cuMemFreeHost", [&] { CHECK(cuMemFreeHost(host)); });
    beside_kernel("cuMemHostRegister, 64 MiB",
                  [&] { CHECK(cuMemHostRegister(heap, SZ, CU_MEMHOSTREGISTER_DEVICEMAP)); });
    beside_kernel("cuMemHostUnregister", [&] { CHECK(cuMemHostUnregister(heap)); });
    free(heap);

    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = access.location.id = gpu;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    beside_kernel("cuMemCreate, 64 MiB", [&] { CHECK(cuMemCreate(&range, SZ, &prop, 0)); });
    CHECK(cuMemAddressReserve(&reserved, SZ, 0, 0, 0));
    beside_kernel("cuMemMap", [&] { CHECK(cuMemMap(reserved, SZ, 0, range, 0)); });
    beside_kernel("cuMemSetAccess", [&] { CHECK(cuMemSetAccess(reserved, SZ, &access, 1)); });
    beside_kernel("cuMemUnmap", [&] { CHECK(cuMemUnmap(reserved, SZ)); });
    beside_kernel("cuMemRelease", [&] { CHECK(cuMemRelease(range)); });
    CHECK(cuMemAddressFree(reserved, SZ));

    beside_kernel("cuIpcOpenMemHandle, the first", [&] {
        CHECK(cuIpcOpenMemHandle(&mem, handles[0], CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    });
    beside_kernel("cuIpcOpenMemHandle, the second", [&] {
        CHECK(cuIpcOpenMemHandle(&mem, handles[1], CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    });
    beside_kernel("cuIpcCloseMemHandle", [&] { CHECK(cuIpcCloseMemHandle(mem)); });

    if (gpu > 0) {
        CUdevice other;
        CUcontext context;

        CHECK(cuDeviceGet(&other, 0));
        beside_kernel("cuDevicePrimaryCtxRetain, another GPU",
                      [&] { CHECK(cuDevicePrimaryCtxRetain(&context, other)); });
        beside_kernel("cuCtxEnablePeerAccess", [&] {
            CUresult res = cuCtxEnablePeerAccess(context, 0);
            if (res != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
                CHECK(res);
        });
    }
}

int main(int argc, char **argv)
{
    int to_exporter[2], from_exporter[2], ngpus;
    CUipcMemHandle handles[2];
    std::string image;
    pid_t child;

    if (argc > 1) {
        std::ifstream file(argv[1], std::ios::binary);
        image.assign(std::istreambuf_iterator<char>(file), { });
    }
    if (pipe(to_exporter) || pipe(from_exporter))
        return 1;
    child = fork();
    if (child == 0) {
        close(to_exporter[1]);
        return exporter(to_exporter[0], from_exporter[1]);
    }
    if (read(from_exporter[0], handles, sizeof(handles)) != sizeof(handles))
        return 1;

    CHECK(cuInit(0));
    CHECK(cuDeviceGetCount(&ngpus));
    CHECK(cudaSetDevice(ngpus - 1));
    device_use(ngpus - 1);
    CHECK(cuMemHostAlloc((void **) &flags, 2 * sizeof(int), CU_MEMHOSTALLOC_DEVICEMAP));
    CHECK(cuStreamCreate(&spinning, CU_STREAM_NON_BLOCKING));
    flags[0] = 1;
    spin<<<1, 1, 0, spinning>>>(flags);
    CHECK(cuStreamSynchronize(spinning));

    std::thread([] {
        while (true) {
            usleep(1000);
            if (release_at > 0 && now() > release_at)
                flags[0] = 1;
        }
    }).detach();
    measure(image, handles, ngpus - 1);

    close(to_exporter[1]);
    return waitpid(child, NULL, 0) != child;
}
