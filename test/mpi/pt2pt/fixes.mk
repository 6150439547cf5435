##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##

noinst_PROGRAMS += isendrecv_null isendrecv_replace_type isendrecv_status isendrecv_type recv_init_null self_cut startall_bsend
