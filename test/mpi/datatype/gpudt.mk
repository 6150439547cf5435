##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##

noinst_PROGRAMS += empty_members get_elements_mixed gpudt_bounds gpudt_version pack_bottom
