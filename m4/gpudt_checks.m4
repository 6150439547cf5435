##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##

dnl GPUDT_CHECK_DEVICE - the device is one that this fork supports
AC_DEFUN([GPUDT_CHECK_DEVICE],[
case $with_device in
    ''|yes) gpudt_device=ch3:nemesis ;;
    ch3) gpudt_device=ch3:nemesis ;;
    ch3:nemesis*|ch3:sock) gpudt_device=$with_device ;;
    *) AC_MSG_ERROR([--with-device=$with_device: this fork works on ch3; choose ch3:nemesis or ch3:sock]) ;;
esac
AC_SUBST([gpudt_device])
])

dnl GPUDT_CHECK_TOOLS - tools that maint/ and MPICH's autogen.sh need
AC_DEFUN([GPUDT_CHECK_TOOLS],[
AC_CHECK_PROGS([PYTHON3],[python3])
AS_IF([test -z "$PYTHON3" || ! "$PYTHON3" -c 'import sys; sys.exit(sys.version_info < (3, 8))'],
      [AC_MSG_ERROR([no python3 of version 3.8 or newer found; install Python])])
for gpudt_tool in autoconf automake libtoolize m4 patch perl ; do
    AS_IF([command -v $gpudt_tool >/dev/null 2>&1],[],
          [AC_MSG_ERROR([$gpudt_tool not found; install autoconf, automake, libtool, m4, patch and perl])])
done
])

dnl GPUDT_CHECK_CCACHE - run compilers through ccache if it is present. It is added to PATH, not to
dnl CC, because the installed mpicc contains CC.
AC_DEFUN([GPUDT_CHECK_CCACHE],[
AC_CHECK_PROG([gpudt_ccache],[ccache],[yes],[no])
gpudt_path=
AS_IF([test $gpudt_ccache = yes],[
    gpudt_path=`pwd`/ccache-bin
    rm -rf "$gpudt_path"
    AS_MKDIR_P(["$gpudt_path"])
    for gpudt_tool in cc gcc c++ g++ clang clang++ ; do
        AS_IF([command -v $gpudt_tool >/dev/null 2>&1],
              [ln -s "`command -v ccache`" "$gpudt_path/$gpudt_tool"])
    done
    gpudt_path=$gpudt_path:
])
AC_SUBST([gpudt_path])
])

dnl GPUDT_CHECK_FORTRAN - find a compiler, and the flags by which it accepts MPI's choice arguments.
dnl gfortran needs them since release 10 (https://gcc.gnu.org/gcc-10/porting_to.html).
AC_DEFUN([GPUDT_CHECK_FORTRAN],[
AC_REQUIRE([AC_PROG_FC])
gpudt_fflags=
AS_CASE([$enable_fortran],
    [no|none],[],
    [AS_IF([test -n "$FC"],[GPUDT_CHECK_ARGUMENT_MISMATCH],[test -z "$enable_fortran"],[enable_fortran=none],
           [AC_MSG_ERROR([Fortran was asked for and there is no Fortran compiler])])])
])

dnl GPUDT_CHECK_ARGUMENT_MISMATCH - sets gpudt_fflags
AC_DEFUN([GPUDT_CHECK_ARGUMENT_MISMATCH],[
AC_LANG_PUSH([Fortran])
AC_MSG_CHECKING([whether $FC takes -fallow-argument-mismatch])
gpudt_saved=$FCFLAGS
FCFLAGS="$FCFLAGS -fallow-argument-mismatch"
AC_COMPILE_IFELSE([AC_LANG_PROGRAM([],[[
      real a
      integer i
      call send(a)
      call send(i)]])],[gpudt_fflags=-fallow-argument-mismatch])
FCFLAGS=$gpudt_saved
AC_MSG_RESULT([${gpudt_fflags:-no}])
AC_LANG_POP([Fortran])
])

dnl GPUDT_CHECK_ALIGN - find flags that align the library's code. The loops that pack datatypes on the
dnl CPU are a few instructions long: their position in a cache line changes their speed by up to a
dnl half, and any function added to the library moves them. Sets gpudt_align.
AC_DEFUN([GPUDT_CHECK_ALIGN],[
gpudt_align="-falign-functions=64 -falign-loops=32"
AC_MSG_CHECKING([whether $CC takes $gpudt_align])
gpudt_saved=$CFLAGS
CFLAGS="$CFLAGS -Werror $gpudt_align"
AC_COMPILE_IFELSE([AC_LANG_PROGRAM([],[])],[AC_MSG_RESULT([yes])],[
    AC_MSG_RESULT([no])
    gpudt_align=
])
CFLAGS=$gpudt_saved
])

dnl GPUDT_DEFAULT_ARCHS - reads architectures from standard input, one per line in ascending order, and
dnl prints those to make machine code for. Code made for X.y runs on every GPU X.z with z >= y, so the
dnl lowest minor version of each major one is enough. Exceptions are Tegra chips, which run neither
dnl code of discrete GPUs nor that of other Tegra chips (CUDA C++ Programming Guide, section 6.1.2).
dnl Those from 7.5 up are 8.7 (Orin) and Thor, which is 11.0, and 10.1 up to nvcc 12.9. All other
dnl architectures use PTX, see the datatype engine's Makefile.mk.
AC_DEFUN([GPUDT_DEFAULT_ARCHS],
[awk '{ major = int($[]1 / 10) } major != last || $[]1 == 87 || $[]1 == 101 { print } { last = major }'])

dnl GPUDT_CHECK_CUDA - find nvcc, its version, and the architectures to make code for, from sm_75 up. Sets
dnl NVCC (empty: no kernels), gpudt_cuda_dir, gpudt_cuda_version, gpudt_cuda_archs (ascending).
AC_DEFUN([GPUDT_CHECK_CUDA],[
gpudt_cuda_dir=
gpudt_cuda_version=
gpudt_cuda_archs=
AC_ARG_VAR([NVCC],[CUDA compiler])
AC_ARG_VAR([GPUDT_CUDA_ARCHS],[architectures to make GPU kernels for, as in "80 90"
                               (default: enough for all that nvcc knows, from 75 up)])
gpudt_user_nvcc=$NVCC
case $with_cuda in
    no) NVCC= ;;
    auto|yes)
        for gpudt_dir in "$CUDA_HOME" "$CUDA_PATH" "$(dirname "$(dirname "$(command -v nvcc 2>/dev/null)" 2>/dev/null)" 2>/dev/null)" /usr/local/cuda /usr ; do
            AS_IF([test -z "$NVCC" && test -n "$gpudt_dir" && test -x "$gpudt_dir/bin/nvcc"],[NVCC=$gpudt_dir/bin/nvcc])
        done ;;
    *)
        NVCC=$with_cuda/bin/nvcc
        AS_IF([test -x "$NVCC"],[],[AC_MSG_ERROR([--with-cuda=$with_cuda: $NVCC does not exist; give the folder of a CUDA toolkit])]) ;;
esac
AS_IF([test "x$with_cuda" = xyes && test -z "$NVCC"],
      [AC_MSG_ERROR([--with-cuda: there is no nvcc in CUDA_HOME, PATH or /usr/local/cuda; give the folder of a CUDA toolkit])])
AS_IF([test -n "$NVCC"],[
    AC_MSG_CHECKING([whether $NVCC works, of CUDA 12.1 or newer])
    cat > conftest.cu <<_GPUDT_EOF
#include <cuda.h>
#if CUDA_VERSION < 12010
#error a toolkit before 12.1
#endif
extern "C" __global__ void k(CUdeviceptr *p) { *p = CUDA_VERSION; }
_GPUDT_EOF
    AS_IF([AC_TRY_COMMAND([$NVCC -cubin -arch=sm_80 -o conftest.cubin conftest.cu >&AS_MESSAGE_LOG_FD 2>&1])],[
        AC_MSG_RESULT([yes])
        # make may run configure again, where PATH or CUDA_HOME do not lead to it
        AS_IF([test -z "$gpudt_user_nvcc"],[ac_configure_args="$ac_configure_args 'NVCC=$NVCC'"])
        # nvcc may be a script that runs another one: ask it for the folder of its toolkit
        gpudt_cuda_dir=`$NVCC --dryrun conftest.cu 2>&1 | sed -n 's/^#\\$ TOP=//p'`
        gpudt_cuda_dir=`cd "$gpudt_cuda_dir" && pwd`
        gpudt_cuda_version=`$NVCC --version | sed -n 's/.*release \([[0-9.]]*\),.*/\1/p'`
        $NVCC --list-gpu-code | sed -n 's/^sm_\([[0-9]]*\)$/\1/p' | awk '$[]1 >= 75' | sort -n > conftest.archs
        gpudt_cuda_archs=`tr '\n' ' ' < conftest.archs | sed 's/ $//'`
        AS_IF([test -n "$GPUDT_CUDA_ARCHS"],[
            for gpudt_arch in $GPUDT_CUDA_ARCHS ; do
                AS_CASE([" $gpudt_cuda_archs "],[*" $gpudt_arch "*],[],
                        [AC_MSG_ERROR([GPUDT_CUDA_ARCHS names $gpudt_arch; this fork and $NVCC support $gpudt_cuda_archs])])
            done
            printf '%s\n' $GPUDT_CUDA_ARCHS | sort -nu > conftest.chosen
        ],[
            GPUDT_DEFAULT_ARCHS < conftest.archs > conftest.chosen
        ])
        gpudt_cuda_archs=`tr '\n' ' ' < conftest.chosen | sed 's/ $//'`
    ],[
        AC_MSG_RESULT([no])
        AS_IF([test "x$with_cuda" != xauto],[AC_MSG_ERROR([$NVCC is older than CUDA 12.1, or cannot compile a kernel; see config.log])])
        AC_MSG_WARN([$NVCC is older than CUDA 12.1, or cannot compile a kernel; see config.log])
        NVCC=
    ])
    rm -f conftest.cu conftest.cubin conftest.archs conftest.chosen
])
AC_SUBST([gpudt_cuda_dir])
])
