##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##

noinst_PROGRAMS += isendrecv_replace_type isendrecv_type self_cut startall_bsend
