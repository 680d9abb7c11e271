#!/bin/sh
# Compiles through ccache: cached.sh CHECKOUT CCACHE COMPILER ARGUMENTS...
# Paths are relative to the checkout, so that a fresh clone and the wheel's build hit what another build compiled.
# A precompiled header that is made anew goes first: the preprocessor would read the old one, and ccache find that of other headers.
export CCACHE_BASEDIR="$1" CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_INODECACHE=1
shift
before=
for argument; do
  case $before$argument in -o*.gch) rm -f "$argument" ;; esac
  before=$argument
done
exec "$@"
