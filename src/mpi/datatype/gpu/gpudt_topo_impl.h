/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Included at the end of MPICH's src/util/mpir_hwtopo.c, the only file that can access the
 * topology. Must not know GPUs. */

#include "gpudt_topo.h"

void MPIR_Gpudt_place_near_pci(const char *busid, void *mem, size_t len)
{
#ifdef HAVE_HWLOC
    hwloc_obj_t device, ancestor;
    hwloc_const_nodeset_t all;

    if (!bindset_is_valid)
        return;
    device = hwloc_get_pcidev_by_busidstring(hwloc_topology, busid);
    if (device == NULL)
        return;
    ancestor = hwloc_get_non_io_ancestor_obj(hwloc_topology, device);
    all = hwloc_topology_get_topology_nodeset(hwloc_topology);
    /* A device attached to the whole machine is not next to any one node */
    if (hwloc_bitmap_weight(all) > 1 && hwloc_bitmap_isequal(ancestor->nodeset, all))
        return;
    hwloc_set_area_membind(hwloc_topology, mem, len, ancestor->nodeset, HWLOC_MEMBIND_BIND,
                           HWLOC_MEMBIND_BYNODESET | HWLOC_MEMBIND_MIGRATE);
#endif
}
