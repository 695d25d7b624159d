# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# What iSCSI targets a portal knows, inside a VM: the scenario tests/vm/bench-discover, whose log holds the figures.
# shellcheck shell=bash

RESULTS='' tests/vm/run bench-discover >&2
grep -a '^BENCH	' build/vm/bench-discover.log
