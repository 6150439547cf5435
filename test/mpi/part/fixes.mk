##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##

noinst_PROGRAMS += part_comms part_errors part_inactive part_memory part_random
