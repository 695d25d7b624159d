# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# From the start of the kernel until the root is mounted, in a VM: the scenario tests/vm/bench-boot, whose clients' logs hold the figures.
# shellcheck shell=bash disable=SC2154

RESULTS='' ROUNDS=$rounds tests/vm/run bench-boot >&2
grep -ah '^BENCH	' build/vm/bench-boot-[0-9]*.log
