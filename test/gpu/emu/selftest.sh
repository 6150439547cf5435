#!/bin/sh
##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##
## Runs the emulated driver's own tests: selftest.sh OUTDIR. Exit status 0 if all pass.

out=$1
failed=0
passed=0
LD_LIBRARY_PATH=$out/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
unset CUDA_VISIBLE_DEVICES

# Under a sanitizer a fault must still end the program by its signal.
ASAN_OPTIONS=handle_segv=0:handle_abort=0:detect_stack_use_after_return=0
TSAN_OPTIONS=handle_segv=0:handle_abort=0
export ASAN_OPTIONS TSAN_OPTIONS

run() {
    name=$1
    shift
    if env "$@" "$out/$name"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$name with $*: failed" >&2
    fi
}

run selftest_memory EMU_DEVICES=2 EMU_MEMORY_MB=64
run selftest_stream EMU_DELAY_MIN_US=100000
run selftest_kernel EMU_DEVICES=2 EMU_KERNELS="$out/libselftest_kernels.so"
run selftest_kernel EMU_DEVICES=2 EMU_KERNELS="$out/libselftest_kernels.so" EMU_DELAY_US=0 EMU_SEED=5
run selftest_state EMU_DEVICES=2
run selftest_ipc EMU_DEVICES=2 EMU_IPC_STALE=1 EMU_KERNELS="$out/libselftest_kernels.so"
run selftest_stale EMU_DEVICES=2 EMU_KERNELS="$out/libselftest_kernels.so"
run selftest_vmm EMU_DEVICES=2
run selftest_program EMU_DEVICES=2
counts=$(mktemp) && run selftest_fault EMU_SELFTEST_FILE="$counts"
rm -f "$counts"

echo "emulated driver: $passed passed, $failed failed"
test $failed -eq 0
