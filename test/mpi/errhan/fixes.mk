##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##

noinst_PROGRAMS += error_string_stack errors_abort nth_pset
