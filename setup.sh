#!/bin/sh
##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##

# usage: ./setup.sh demo|check [configure options]
#
#   demo   gets what is missing, builds, installs to ./install and runs the halo exchange example
#   check  gets what is missing, builds for ch3:nemesis, for ch3:sock and without CUDA, runs make check in each
#
# CUDA is not installed: without nvcc, builds are for host memory, and tests of the GPU engine are left out.
# Output of the steps goes to ./log; a step that fails names its file there.

top=$(cd "$(dirname "$0")" && pwd)
log=$top/log
jobs=$(nproc 2>/dev/null || echo 2)

usage() {
    sed -n '6,13s/^# \{0,1\}//p' "$0"
    exit "$1"
}

die() {
    echo "setup.sh: $*" >&2
    exit 1
}

# ---- steps --------------------------------------------------------------------------------------

# The progress of a build is measured by the output of its steps: watch FROM TO LINES FILE... sets that
# the next step goes from FROM to TO percent, while LINES lines are added to the FILEs.
watched=
watch() {
    from=$1 to=$2 lines=$3
    shift 3
    watched=$*
}

# Prints the percentage that the watched step has reached.
percent_done() {
    have=$(cat $watched 2>/dev/null | grep -c '^checking\|^  -->\|^  [A-Z]')
    test "$have" -lt "$lines" || have=$lines
    echo $((from + (to - from) * have / lines))
}

# Prints the estimated time left of a build that began SECONDS ago, in words. The first estimates assume
# six minutes, a little more than the demo takes on two idle cores.
time_left() {
    percent=$(percent_done)
    left=$(((100 - percent) * ($1 + 60) / (percent + 16)))
    if [ $left -ge 90 ] ; then
        echo ", about $(((left + 30) / 60)) min left"
    else
        echo ", about $((left / 10 * 10 + 10)) s left"
    fi
}

# step TITLE LOG COMMAND... : runs the command with its output in log/LOG, and prints progress
step() {
    title=$1 file=$log/$2
    shift 2
    echo "setup.sh: $title (output in $file)"
    begun=$(date +%s)
    "$@" > "$file" 2>&1 &
    pid=$!
    trap 'kill $pid 2>/dev/null; exit 130' INT TERM
    ticks=0
    while kill -0 $pid 2>/dev/null ; do
        sleep 1
        ticks=$((ticks + 1))
        test $((ticks % 20)) -eq 0 || continue
        now=$(date +%s)
        estimate=
        test -z "$watched" || estimate=$(time_left $((now - build_begun)))
        echo "setup.sh:   $((now - begun)) s$estimate: $(tail -n 1 "$file" | cut -c1-100)"
    done
    watched=
    trap - INT TERM
    if ! wait $pid ; then
        tail -n 30 "$file" >&2
        die "$title failed; the whole output is in $file"
    fi
    echo "setup.sh:   done in $(($(date +%s) - begun)) s"
}

# ---- what is needed -----------------------------------------------------------------------------

packages="gcc g++ gfortran make autoconf automake libtool m4 patch perl python3 xz-utils pkg-config ccache libhwloc-dev"
tools="gcc g++ make autoconf automake libtoolize m4 patch perl python3 xz pkg-config"

missing_packages() {
    for p in $packages ; do
        dpkg-query -W -f='${Status}' $p 2>/dev/null | grep -q 'ok installed' || printf '%s ' $p
    done
}

missing_tools() {
    for t in $tools ; do
        command -v $t >/dev/null 2>&1 || printf '%s ' $t
    done
}

get_what_is_missing() {
    if command -v apt-get >/dev/null 2>&1 && command -v dpkg-query >/dev/null 2>&1 ; then
        want=$(missing_packages)
        test -n "$want" || return 0
        if [ "$(id -u)" -ne 0 ] ; then
            # optional packages may be missing
            test -n "$(missing_tools)" || return 0
            die "these packages are missing; as root: apt-get install $want"
        fi
        step "updating the package lists" apt-update.log apt-get -q update
        step "installing $want" apt-install.log \
            env DEBIAN_FRONTEND=noninteractive apt-get -qy --no-install-recommends install $want
    else
        want=$(missing_tools)
        test -z "$want" || die "install these with your system's package manager: $want" \
            "(and, for Fortran, gfortran); then run this again with" \
            "--with-mpich-source=\$PWD/mpich-4.0.2.tar.gz, which is at https://www.mpich.org/static/downloads/4.0.2/"
    fi
}

# ---- building -----------------------------------------------------------------------------------

# build NAME OPTIONS... : configures and builds in objs/NAME
build() {
    name=$1
    shift
    mkdir -p "$top/objs/$name"
    cd "$top/objs/$name" || exit 1
    build_begun=$(date +%s)
    watch 0 35 1950 mpich/.gpudt/autogen.log log/configure-mpich.log
    step "configuring for $name" "configure-$name.log" "$top/configure" --prefix="$top/install" "$@"
    sed -n '/^MPICH-Gpudt .* on MPICH/,/^ *$/p' "$log/configure-$name.log"
    watch 35 100 1230 "../../log/make-$name.log"
    step "building for $name" "make-$name.log" make -j"$jobs"
}

# configured NAME : prints the value that configure found for GPUDT_NAME, in demo's build
configured() {
    sed -n "s/.*'GPUDT_$1=\([^']*\)'.*/\1/p" "$top/objs/demo/configure-mpich"
}

# builds examples/halo3d in the current folder, with its kernels if there are a GPU and nvcc
build_halo3d() {
    nvcc=$(configured NVCC)
    if [ -n "$nvcc" ] && nvidia-smi -L 2>/dev/null | grep -q '^GPU ' ; then
        "$nvcc" -O2 -arch=native -DWITH_GPU -c "$top/examples/halo3d_gpu.cu" &&
            "$top/install/bin/mpicc" -O2 -DWITH_GPU -o halo3d "$top"/examples/halo3d*.c halo3d_gpu.o \
                -L"$(configured CUDA_DIR)/lib64" -lcudart_static -ldl -lrt -lpthread -lstdc++
    else
        "$top/install/bin/mpicc" -O2 -o halo3d "$top"/examples/halo3d*.c
    fi
}

# Without static libraries, as the third build of check
demo() {
    build demo --disable-static "$@"
    step "installing to $top/install" install.log make install
    echo "setup.sh: building and running examples/halo3d"
    cd "$top/objs" || exit 1
    build_halo3d || die "examples/halo3d could not be built"
    "$top/install/bin/mpiexec" -n 2 ./halo3d || die "examples/halo3d failed"
    cat <<EOT

The MPI is in $top/install. To use it in this shell:
    PATH=$top/install/bin:\$PATH
EOT
}

# copy_sources FROM NAME : gives build NAME the sources of build FROM, for which MPICH's autogen.sh has been run
copy_sources() {
    test ! -d "$top/objs/$2/mpich" || return 0
    mkdir -p "$top/objs/$2"
    cp -a "$top/objs/$1/mpich" "$top/objs/$2/mpich.copy" && mv "$top/objs/$2/mpich.copy" "$top/objs/$2/mpich" ||
        die "the sources in objs/$1/mpich could not be copied"
}

# check_build NAME [STEPS] : make check in objs/NAME; adds to passed and failed
check_build() {
    echo "setup.sh: testing $1 (output also in $log/check-$1.log)"
    make -C "$top/objs/$1" check ${2:+CHECKS="$2"} 2>&1 | tee "$log/check-$1.log"
    counts=$(sed -n 's/^\([0-9][0-9]*\) passed, \([0-9][0-9]*\) failed$/\1 \2/p' "$log/check-$1.log" | tail -n 1)
    if [ -z "$counts" ] ; then
        echo "setup.sh: the tests of $1 did not run to their end; see $log/check-$1.log" >&2
        counts="0 1"
    fi
    passed=$((passed + ${counts% *}))
    failed=$((failed + ${counts#* }))
}

# The second build also tests without Fortran and with MPICH's hwloc. It compiles kernels for one
# architecture only, since the emulated GPU has kernels of its own. The third one has no static
# libraries, since they double the number of compilations.
check() {
    passed=0 failed=0
    build nemesis "$@"
    check_build nemesis
    copy_sources nemesis sock
    build sock "$@" --with-device=ch3:sock --with-hwloc=embedded --disable-fortran GPUDT_CUDA_ARCHS=90
    check_build sock
    copy_sources nemesis host-only
    build host-only "$@" --with-cuda=no --disable-fortran --disable-static
    check_build host-only "install examples"
    echo "$passed passed, $failed failed"
    test "$failed" -eq 0
}

case $1 in
    demo|check) command=$1 ; shift ;;
    -h|--help|help) usage 0 ;;
    *) usage 1 >&2 ;;
esac
mkdir -p "$log" || exit 1
get_what_is_missing
cd "$top" || exit 1
test -x configure && test -z "$(find configure.ac Makefile.am m4 -newer configure)" ||
    step "making configure" autogen.log ./autogen.sh
$command "$@"
