##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##

dnl GPUDT_MPICH_SOURCE - find MPICH's release and create the build's copy of it
AC_DEFUN([GPUDT_MPICH_SOURCE],[
AS_IF([test "x$with_mpich_source" = xyes || test "x$with_mpich_source" = xno],
      [AC_MSG_ERROR([--with-mpich-source needs a folder or a tarball])])
AC_MSG_NOTICE([looking for the source of MPICH $MPICH_VERSION])
mpich_source=`"$srcdir/maint/get-mpich" ${with_mpich_source:+--from "$with_mpich_source"}`
AS_IF([test -z "$mpich_source"],[AC_MSG_ERROR([no source of MPICH $MPICH_VERSION to build (see the line above)])])
AC_SUBST([mpich_source])
AS_IF(["$srcdir/maint/sync-tree" --source "$mpich_source" --tree mpich],[],
      [AC_MSG_ERROR([MPICH's source could not be prepared (see the line above)])])
])

dnl GPUDT_MPICH_ARGS - arguments of MPICH's configure: the user's options except ours, and our defaults
AC_DEFUN([GPUDT_MPICH_ARGS],[
gpudt_args=
gpudt_quote() {
    AS_ECHO(["$[]1"]) | sed "s/'/'\\\\\\\\''/g; s/^/'/; s/\$/'/"
}
eval "set x $ac_configure_args"
shift
for gpudt_arg
do
    case $gpudt_arg in
        --with-mpich-source=*|--with-cuda=*|--with-cuda|--without-cuda|--with-device=*) ;;
        --disable-option-checking|--srcdir=*|--cache-file=*|--no-create|--no-recursion) ;;
        --enable-fortran|--enable-fortran=*|--disable-fortran) ;;
        NVCC=*|GPUDT_CUDA_ARCHS=*|FFLAGS=*|FCFLAGS=*|MPICHLIB_CFLAGS=*|--with-custom-version-string=*) ;;
        *) gpudt_args="$gpudt_args `gpudt_quote "$gpudt_arg"`" ;;
    esac
done
gpudt_args="'--with-device=$gpudt_device' --with-datatype-engine=dataloop --without-cuda$gpudt_args"
gpudt_args="$gpudt_args `gpudt_quote "--with-custom-version-string=$PACKAGE_NAME $PACKAGE_VERSION${with_custom_version_string:+, $with_custom_version_string}"`"
AS_IF([test -z "$enable_yield"],[gpudt_args="$gpudt_args --enable-yield=sched_yield"])
AS_IF([test -n "$enable_fortran"],[gpudt_args="$gpudt_args '--enable-fortran=$enable_fortran'"])
# the later of two flags takes effect, so the user's are last
gpudt_add_flags() {
    AS_IF([test -n "$[]2$[]3"],[gpudt_args="$gpudt_args `gpudt_quote "$[]1=$[]2${2:+ }$[]3"`"])
}
gpudt_add_flags FFLAGS "$gpudt_fflags" "$gpudt_user_fflags"
gpudt_add_flags FCFLAGS "$gpudt_fflags" "$gpudt_user_fcflags"
gpudt_add_flags MPICHLIB_CFLAGS "$gpudt_align" "$gpudt_user_mpichlib_cflags"
AS_IF([test -n "$NVCC"],[
    gpudt_args="$gpudt_args `gpudt_quote "GPUDT_NVCC=$NVCC"` `gpudt_quote "GPUDT_CUDA_DIR=$gpudt_cuda_dir"`"
    gpudt_args="$gpudt_args 'GPUDT_CUDA_VERSION=$gpudt_cuda_version' 'GPUDT_CUDA_ARCHS=$gpudt_cuda_archs'"
])
gpudt_args="$gpudt_args 'GPUDT_VERSION=$PACKAGE_VERSION'"
])

dnl GPUDT_MPICH_CONFIGURE - run it, unless build/ was configured with the same arguments before. With
dnl other arguments build/ is recreated: MPICH's make would not rebuild all that depends on them.
AC_DEFUN([GPUDT_MPICH_CONFIGURE],[
cat > configure-mpich.new <<_GPUDT_EOF
#!/bin/sh
# MPICH's configure line, as configure worked it out
cd "`pwd`/build" || exit 1
PATH="$gpudt_path\$PATH" exec ../mpich/configure $gpudt_args
_GPUDT_EOF
AS_IF([cmp -s configure-mpich.new configure-mpich && test -x build/config.status],[
    rm -f configure-mpich.new
    AC_MSG_NOTICE([MPICH is configured already])
],[
    rm -rf build configure-mpich
    AS_MKDIR_P([build])
    AS_MKDIR_P([log])
    AC_MSG_NOTICE([configuring MPICH (some minutes; output in log/configure-mpich.log)])
    AS_IF([sh ./configure-mpich.new > log/configure-mpich.log 2>&1],[],[
        tail -n 20 log/configure-mpich.log >&2
        AC_MSG_ERROR([MPICH's configure failed; see `pwd`/log/configure-mpich.log])
    ])
    mv configure-mpich.new configure-mpich
    chmod +x configure-mpich
])
])

dnl GPUDT_SUMMARY - print what will be built
AC_DEFUN([GPUDT_SUMMARY],[
# the value of a variable in MPICH's config.status, whose lines read S["NAME"]="VALUE"
gpudt_of_mpich() {
    awk -F'"' '$[]2 == "'$[]1'" { print $[]4 }' build/config.status
}
AS_IF([test -n "$NVCC"],
      [gpudt_kernels="CUDA $gpudt_cuda_version ($NVCC), architectures $gpudt_cuda_archs"],
      [gpudt_kernels="none (no working CUDA compiler): GPU buffers will not be recognised"])
AS_IF([test -z "`gpudt_of_mpich BUILD_F77_BINDING_TRUE`"],
      [gpudt_bindings="`gpudt_of_mpich FC` $gpudt_fflags"],[gpudt_bindings=no])
AS_CASE(["`gpudt_of_mpich hwloclib` `gpudt_of_mpich WRAPPER_LIBS`"],
        [*libhwloc_embedded*],[gpudt_hwloc="the one that comes with MPICH"],
        [*-lhwloc*],[gpudt_hwloc="the system's"],[gpudt_hwloc=no])
AS_ECHO(["
$PACKAGE_NAME $PACKAGE_VERSION on MPICH $MPICH_VERSION
  source         $mpich_source
  installs to    $prefix
  device         $gpudt_device
  engine         dataloop
  GPU kernels    $gpudt_kernels
  hwloc          $gpudt_hwloc
  Fortran        $gpudt_bindings
  compiler cache `test -n "$gpudt_path" && echo ccache || echo none`
"])
])
