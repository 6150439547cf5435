##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##

noinst_PROGRAMS += delayed_ops lock_queue rma_pairs
