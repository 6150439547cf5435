/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* A plugin of hwloc with the name of the one that asks OpenCL. Of OpenCL's drivers those made with LLVM
 * install signal handlers, as this does. */

#include <hwloc.h>
#include <hwloc/plugins.h>
#include <signal.h>
#include <stdlib.h>

static void handler(int signum)
{
    (void) signum;
}

static struct hwloc_backend *instantiate(struct hwloc_topology *topology,
                                         struct hwloc_disc_component *component,
                                         unsigned excluded_phases, const void *data1,
                                         const void *data2, const void *data3)
{
    (void) topology, (void) component, (void) excluded_phases;
    (void) data1, (void) data2, (void) data3;
    signal(SIGUSR2, handler);
    return NULL;
}

static int init(unsigned long flags)
{
    (void) flags;
    return setenv("PLUGIN_LOADED", "1", 1);
}

static struct hwloc_disc_component opencl = {
    .name = "opencl",.phases = HWLOC_DISC_PHASE_IO,.instantiate = instantiate,.priority = 10,
    .enabled_by_default = 1
};

const struct hwloc_component hwloc_opencl_component = {
    .abi = HWLOC_COMPONENT_ABI,.init = init,.type = HWLOC_COMPONENT_TYPE_DISC,.data = &opencl
};
