##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##

AM_CPPFLAGS += -I$(top_srcdir)/src/mpid/common/yield

noinst_HEADERS += src/mpid/common/yield/mpidu_yield.h

mpi_core_sources += src/mpid/common/yield/mpidu_yield.c
