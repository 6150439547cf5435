#!/bin/sh
##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##

# Generates configure and Makefile.in. MPICH's own autogen.sh runs later, in the build's copy of its
# source: see maint/sync-tree.

cd "$(dirname "$0")" || exit 1
for tool in autoconf automake libtoolize m4 ; do
    if ! command -v $tool >/dev/null 2>&1 ; then
        echo "autogen.sh: $tool not found; install the packages autoconf, automake, libtool and m4" >&2
        exit 1
    fi
done
exec autoreconf --install --force
