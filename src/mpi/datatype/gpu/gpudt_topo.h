/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Memory next to a device, by the topology that MPICH has read with hwloc. */

#ifndef GPUDT_TOPO_H_INCLUDED
#define GPUDT_TOPO_H_INCLUDED

/* Have memory on the NUMA node next to a PCI device, as far as there is room, and let what is there
 * already move. Nothing is done where that node is not known or hwloc is missing: it costs speed only.
 *   busid     (IN)  "domain:bus:device.function", hexadecimal, any case
 *   mem, len  (IN)  whole pages */
void MPIR_Gpudt_place_near_pci(const char *busid, void *mem, size_t len);

#endif /* GPUDT_TOPO_H_INCLUDED */
