# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Our initiator, target and block devices against the kernel's and qemu-nbd's, and our raw RDMA against perftest, inside a VM: the
# scenarios tests/vm/bench-*, whose logs hold the figures.
# shellcheck shell=bash disable=SC2154 # from run

for scenario in bench-rxe bench-tcp bench-tls bench-tgt-rxe bench-tgt-tcp bench-srp bench-iser bench-tgt-iscsi bench-tgt-iser bench-dev bench-perftest; do
	RESULTS='' tests/vm/run "$scenario" >&2
	grep -a '^BENCH	' "build/vm/$scenario.log" || true
done
