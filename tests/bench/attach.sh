# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# From exec to a block that was read, inside a VM: the scenario tests/vm/bench-attach, whose log holds the figures.
# shellcheck shell=bash

RESULTS='' tests/vm/run bench-attach >&2
grep -a '^BENCH	' build/vm/bench-attach.log
