##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##

noinst_PROGRAMS += allgatherv_types coll_alias coll_errors ialltoallw_in_place inter_types neighb_alltoall_torus neighb_alltoallw_degree p_inactive reduce_scatter_in_place
