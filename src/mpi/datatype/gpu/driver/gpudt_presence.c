/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Finds out whether a CUDA driver is loaded, or can be, without loading it. Makes no CUDA call. */

#include "mpiimpl.h"
#include "gpudt_presence.h"

#include <dirent.h>
#include <link.h>
#include <unistd.h>

/* The dynamic linker's count of loaded objects when libcuda was last found missing. */
static MPL_atomic_uint64_t objects_searched = MPL_ATOMIC_UINT64_T_INITIALIZER(0);

struct object_search {
    bool first;
    uint64_t objects_known;
    uint64_t objects;
    bool found;
};

/* Callback of dl_iterate_phdr: a result other than 0 stops the walk. */
static int object_visit(struct dl_phdr_info *info, size_t info_sz, void *arg)
{
    struct object_search *search = arg;
    const char *base;

    if (search->first) {
        search->first = false;
        search->objects = info->dlpi_adds;
        if (search->objects == search->objects_known)
            return 1;
    }

    base = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    base = base ? base + 1 : info->dlpi_name;
    search->found = base && strncmp(base, "libcuda.so", strlen("libcuda.so")) == 0;
    return search->found;
}

bool MPII_Gpudt_driver_in_process(void)
{
    struct object_search search = {
        .first = true,
        .objects_known = MPL_atomic_relaxed_load_uint64(&objects_searched)
    };

    dl_iterate_phdr(object_visit, &search);
    if (!search.found && search.objects != search.objects_known)
        MPL_atomic_relaxed_store_uint64(&objects_searched, search.objects);
    return search.found;
}

/* Device nodes of NVIDIA's driver for discrete GPUs, of those for systems on a chip, and of WSL. */
static bool dev_has_gpu(void)
{
    static const char *const begins[] = { "nvidia", "nvhost", "nvgpu", "nvmap", "dxg" };
    DIR *dev = opendir("/dev");
    const struct dirent *entry;
    bool found = false;

    while (dev && !found && (entry = readdir(dev)) != NULL) {
        for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
            found |= strncmp(entry->d_name, begins[i], strlen(begins[i])) == 0;
    }
    if (dev)
        closedir(dev);
    return found;
}

/* Whether the PCI bus has an NVIDIA device, or is not known. Device nodes may be created as late as
 * in cuInit. */
static bool bus_may_have_gpu(void)
{
    DIR *bus = opendir("/sys/bus/pci/devices");
    const struct dirent *entry;
    bool found = bus == NULL && access("/sys/bus", F_OK) != 0;

    while (bus && !found && (entry = readdir(bus)) != NULL) {
        char path[300], vendor[16] = "";
        FILE *file;

        MPL_snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/vendor", entry->d_name);
        file = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (file) {
            found = fgets(vendor, sizeof(vendor), file) && strtoul(vendor, NULL, 16) == 0x10de;
            fclose(file);
        }
    }
    if (bus)
        closedir(bus);
    return found;
}

/* Whether LD_LIBRARY_PATH has a driver. Such a driver may find GPUs elsewhere. */
static bool path_has_driver(void)
{
    const char *at = getenv("LD_LIBRARY_PATH");
    char file[PATH_MAX];

    while (at && *at) {
        size_t n = strcspn(at, ":;");
        MPL_snprintf(file, sizeof(file), "%.*s%slibcuda.so.1", (int) n, at, n ? "/" : "");
        if (access(file, F_OK) == 0)
            return true;
        at += n + (at[n] != '\0');
    }
    return false;
}

bool MPII_Gpudt_node_may_have_gpu(void)
{
    return dev_has_gpu() || bus_may_have_gpu() || path_has_driver();
}
