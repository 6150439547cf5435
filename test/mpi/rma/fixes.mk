##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##

noinst_PROGRAMS += allocate_errors delayed_ops issue_errors lock_queue rget_no_op rma_pairs rma_req_errors
