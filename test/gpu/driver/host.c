/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests that a program that does not use CUDA never loads the driver, even if one is installed,
 * with one thread or several. The library does not initialise a driver that is loaded but unused,
 * detects a program that begins to use it late, and finds no GPU in a forked child. On a node
 * without devices, where the user has configured no driver, the dynamic linker is not queried
 * repeatedly. */

#define _GNU_SOURCE
#include "driver_test.h"

#include <dirent.h>
#include <link.h>

#define REPEAT 200000

static int host;
static long walks;

/* Wrapper that receives the library's calls of the linker. */
int dl_iterate_phdr(int (*visit) (struct dl_phdr_info *, size_t, void *), void *arg)
{
    static int (*real) (int (*)(struct dl_phdr_info *, size_t, void *), void *);

    if (real == NULL)
        *(void **) &real = dlsym(RTLD_NEXT, "dl_iterate_phdr");
    __atomic_fetch_add(&walks, 1, __ATOMIC_RELAXED);
    return real(visit, arg);
}

static void *classify(void *unused)
{
    for (int i = 0; i < 1000; i++)
        CHECK(!is_gpu(&host));
    return unused;
}

static double cost_ns(void)
{
    double start = now_ns();
    int sum = 0;

    for (int i = 0; i < REPEAT; i++)
        sum += is_gpu(&host);
    CHECK(sum == 0);
    return (now_ns() - start) / REPEAT;
}

static void test_without_cuda(void)
{
    MPIR_Gpudt_ptr_t ptr = {.device = 5 };
    pthread_t thread;
    void *other;

    printf("one thread, no CUDA: %.0f ns\n", cost_ns());
    CHECK(MPIR_Gpudt_query_ptr(&host, &ptr) == MPI_SUCCESS);
    CHECK(ptr.mem == MPIR_GPUDT_MEM__HOST && ptr.device == -1 && ptr.ctx == NULL);
    CHECK(MPIR_Gpudt_query_ptr(NULL, &ptr) == MPI_SUCCESS && ptr.mem == MPIR_GPUDT_MEM__HOST);
    CHECK(MPII_Gpudt_driver_get() == NULL);

    pthread_create(&thread, NULL, classify, NULL);
    pthread_join(thread, NULL);
    walks = 0;
    printf("several threads, no CUDA: %.0f ns\n", cost_ns());
    CHECK(walks == REPEAT);     /* a driver may be loaded later */
    CHECK(MPII_Gpudt_driver_get() == NULL);

    /* Some other library is loaded and unloaded. */
    other = dlopen("libutil.so.1", RTLD_NOW);
    CHECK(!is_gpu(&host));
    if (other)
        dlclose(other);
    CHECK(!is_gpu(&host));
    CHECK(!process_has_libcuda());
}

static void test_loaded_but_unused(void)
{
    app_load();
    printf("CUDA loaded, not initialised: %.0f ns\n", cost_ns());
    CHECK(MPII_Gpudt_driver_get() != NULL);
    /* Nobody has called cuInit, neither the test nor the library. */
    CHECK(MPII_Gpudt_driver_get()->cuDeviceGetCount(&host) == CUDA_ERROR_NOT_INITIALIZED);
}

static void test_in_use(void)
{
    MPIR_Gpudt_info_t info;
    CUdeviceptr d;
    pid_t pid;

    app_primary(0);
    OK(APP(cuMemAlloc) (&d, 100));
    CHECK(is_gpu((void *) d) == 1);
    CHECK(!is_gpu(&host));
    printf("CUDA in use, host memory: %.0f ns\n", cost_ns());
    MPIR_Gpudt_query(&info);
    CHECK(info.ndevices == 1 && info.reason[0] == '\0');

    pid = fork();
    if (pid == 0) {
        MPIR_Gpudt_ptr_t ptr;
        CHECK(!is_gpu(&host));
        CHECK(MPIR_Gpudt_query_ptr(&host, &ptr) == MPI_SUCCESS);
        CHECK(ptr.mem == MPIR_GPUDT_MEM__HOST);
        MPIR_Gpudt_query(&info);
        CHECK(info.ndevices == 0 && strstr(info.reason, "CUDA_ERROR_NOT_INITIALIZED"));
        CHECK(!MPIR_Gpudt_is_usable());
        _exit(errs != 0);
    }
    CHECK(child_wait(pid) == 0);

    /* Disabled by the user. */
    MPIR_CVAR_ENABLE_GPU = 0;
    CHECK(!is_gpu((void *) d));
    MPIR_CVAR_ENABLE_GPU = 1;

    /* The application drops its own reference. */
    OK(APP(cuMemFree) (d));
    dlclose(app_library);
    CHECK(!is_gpu(&host));
    CHECK(MPII_Gpudt_driver_get() != NULL);
}

/* Whether the kernel reports a device, without a look at PCI devices; enough for the machines that
 * run this test. */
static int node_has_device(void)
{
    DIR *dev = opendir("/dev");
    const struct dirent *entry;
    int found = 0;

    while (dev && (entry = readdir(dev)) != NULL)
        found |= strncmp(entry->d_name, "nvidia", 6) == 0;
    if (dev)
        closedir(dev);
    return found;
}

/* Run as a separate process, without a driver in LD_LIBRARY_PATH. */
static int no_driver_child(void)
{
    MPIR_Gpudt_info_t info;
    pthread_t thread;

    pthread_create(&thread, NULL, classify, NULL);
    pthread_join(thread, NULL);
    walks = 0;
    printf("several threads, no CUDA, no driver: %.0f ns\n", cost_ns());
    CHECK(node_has_device() ? walks == REPEAT : walks == 0);
    CHECK(!process_has_libcuda());
    CHECK(MPIR_Gpudt_query(&info) == MPI_SUCCESS);
    CHECK(node_has_device() || (info.ndevices == 0 && info.reason[0] != '\0'));
    CHECK(node_has_device() || !MPIR_Gpudt_is_usable());
    CHECK(node_has_device() || MPII_Gpudt_driver_get() == NULL);
    return errs != 0;
}

int main(int argc, char *argv[])
{
    MPIR_CVAR_ENABLE_GPU = 1;
    if (argc > 1)
        return no_driver_child();
    CHECK(child_exec("no-driver", "", "LD_LIBRARY_PATH", "/nonexistent") == 0);
    test_without_cuda();
    test_loaded_but_unused();
    test_in_use();
    return test_end();
}
