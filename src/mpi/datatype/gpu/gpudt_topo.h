/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Memory placement next to a device, by the hwloc topology that MPICH has loaded. */

#ifndef GPUDT_TOPO_H_INCLUDED
#define GPUDT_TOPO_H_INCLUDED

/* Bind memory to the NUMA node next to a PCI device, as far as it has space, and migrate the pages
 * that are allocated already. Does nothing if the node is not known or hwloc is missing, which only
 * costs speed.
 *   busid     (IN)  "domain:bus:device.function", hexadecimal, any case
 *   mem, len  (IN)  whole pages */
void MPIR_Gpudt_place_near_pci(const char *busid, void *mem, size_t len);

#endif /* GPUDT_TOPO_H_INCLUDED */
