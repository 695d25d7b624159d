# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# From exec to a block that was read, inside a VM: the scenarios tests/vm/bench-attach*, whose logs hold the figures.
# shellcheck shell=bash

for scenario in bench-attach bench-attach-iscsi; do
	RESULTS='' tests/vm/run "$scenario" >&2
	grep -a '^BENCH	' "build/vm/$scenario.log" || true
done
