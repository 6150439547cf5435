[#] start of __file__
dnl
dnl Copyright (C) by the MPICH-Gpudt authors
dnl     See COPYRIGHT in top-level directory
dnl

dnl This fork's own configure sets these variables. Without NVCC the folder is built without CUDA.
AC_DEFUN([PAC_SUBCFG_PREREQ_]PAC_SUBCFG_AUTO_SUFFIX,[
    AC_ARG_VAR([GPUDT_VERSION],[version of MPICH-Gpudt])
    AC_ARG_VAR([GPUDT_NVCC],[CUDA compiler for the datatype kernels])
    AC_ARG_VAR([GPUDT_CUDA_DIR],[CUDA toolkit that has cuda.h])
    AC_ARG_VAR([GPUDT_CUDA_VERSION],[version of the CUDA toolkit])
    AC_ARG_VAR([GPUDT_CUDA_ARCHS],[architectures to make kernels for, as in "80 90"])
    AM_CONDITIONAL([BUILD_GPUDT_CUDA],[test -n "$GPUDT_NVCC"])
])

AC_DEFUN([PAC_SUBCFG_BODY_]PAC_SUBCFG_AUTO_SUFFIX,[
AC_DEFINE_UNQUOTED([GPUDT_VERSION],["${GPUDT_VERSION:-unknown}"],[Version of MPICH-Gpudt])
GPUDT_CUDA_AWARE=0
AM_COND_IF([BUILD_GPUDT_CUDA],[
    GPUDT_CUDA_AWARE=1
    AC_DEFINE([MPIR_GPUDT_HAVE_CUDA],[1],[Define if the GPU datatype engine is built])
    AC_DEFINE_UNQUOTED([GPUDT_CUDA_VERSION],["$GPUDT_CUDA_VERSION"],[CUDA toolkit that the GPU datatype engine is built with])
    AC_DEFINE_UNQUOTED([GPUDT_CUDA_ARCHS],["$GPUDT_CUDA_ARCHS"],[Architectures that GPU datatype kernels are made for])
    GPUDT_CPPFLAGS=-I$GPUDT_CUDA_DIR/include
])
AC_SUBST([GPUDT_CPPFLAGS])
AC_SUBST([GPUDT_CUDA_AWARE])
AC_CONFIG_FILES([src/mpi/datatype/gpu/mpi-ext.h])
])dnl end _BODY

[#] end of __file__
