#!/bin/sh
##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##
## Runs the tests of the driver loader against the emulated driver: driver.sh OUTDIR.

out=$1
failed=0
passed=0
unset CUDA_VISIBLE_DEVICES LD_LIBRARY_PATH

run() {
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "failed: $*" >&2
    fi
}
emulated() {
    run env LD_LIBRARY_PATH="$out/emu/lib" "$@"
}

run "$out/driver_query" "$out/emu/lib" "$out/old" "$out/stub"
emulated "$out/driver_host"
emulated EMU_DEVICES=2 "$out/driver_ptr"
emulated EMU_DEVICES=2 "$out/driver_ctx"
emulated "$out/driver_threads"
# What holds for a real driver must hold for the emulated one.
emulated EMU_KERNELS="$out/emu/libselftest_kernels.so" "$out/driver_gpu" >"$out/driver_gpu.log"

echo "driver loader: $passed passed, $failed failed"
test $failed -eq 0
