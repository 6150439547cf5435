##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##
## Builds and runs the tests of the driver loader.
##
##   make -f driver.mk O=outdir CUDA=dir MPI_CPPFLAGS='-I...' MPI_LIB='.../libmpi.a' check
##
## MPI_CPPFLAGS: what a source of the library is compiled with. MPI_LIB: the static library; whether
## it has the loader in it already does not matter, LOADER_OBJ come first.

O ?= build
CUDA ?= /usr/local/cuda
MPI_CPPFLAGS ?=
MPI_LIB ?=
EXTRA_CFLAGS ?=
CC ?= gcc

srcdir := $(dir $(abspath $(lastword $(MAKEFILE_LIST))))
GPUDT = $(srcdir)/../../src/mpi/datatype/gpu
VPATH := $(srcdir) $(GPUDT)

CFLAGS_ALL = -std=gnu99 -g -O2 -Wall -pthread $(MPI_CPPFLAGS) -I$(GPUDT) -I$(srcdir)/emu \
	-I$(CUDA)/include $(EXTRA_CFLAGS)
LOADER_OBJ = $(O)/gpudt_driver.o $(O)/gpudt_ptr.o $(O)/gpudt_ctx.o
TESTS = driver_query driver_host driver_ptr driver_ctx driver_threads

all: $(TESTS:%=$(O)/%) $(O)/driver_gpu $(O)/old/libcuda.so.1

$(O)/%.o: %.c gpudt_driver.h gpudt_ptr.h gpudt_info.h driver_test.h
	@mkdir -p $(O)
	$(CC) $(CFLAGS_ALL) -c $< -o $@

# Needs no library, so that it can be taken to a machine with a GPU as it is.
$(O)/driver_gpu: $(O)/driver_gpu.o $(LOADER_OBJ)
	$(CC) $(EXTRA_CFLAGS) -o $@ $^ -ldl -pthread

$(O)/driver_%: $(O)/driver_%.o $(LOADER_OBJ)
	$(CC) $(EXTRA_CFLAGS) -rdynamic -o $@ $^ $(MPI_LIB) -lm -ldl -lrt -pthread

$(O)/old/libcuda.so.1: driver_old.c
	@mkdir -p $(O)/old
	$(CC) -shared -fPIC -Wl,-soname,libcuda.so.1 -o $@ $<

$(O)/stub/libcuda.so.1: $(CUDA)/lib64/stubs/libcuda.so
	@mkdir -p $(O)/stub
	cp $< $@

check: all $(O)/stub/libcuda.so.1
	$(MAKE) -C $(srcdir)/emu O=$(abspath $(O))/emu CUDA=$(CUDA) EXTRA_CFLAGS='$(EXTRA_CFLAGS)' \
		all $(abspath $(O))/emu/libselftest_kernels.so
	sh $(srcdir)/driver.sh $(abspath $(O))

.PHONY: all check
.PRECIOUS: $(O)/%.o
.DELETE_ON_ERROR:
