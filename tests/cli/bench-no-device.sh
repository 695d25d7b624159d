#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A connection that cannot be measured for want of an RDMA device or of the other side: the hint is about measuring, not about disks.
. "$(dirname "$0")/lib.sh"
[ -z "$(ls /sys/class/infiniband 2>/dev/null)" ] || { echo 'needs a machine without RDMA devices'; exit 77; }
# hints TEXT: that and no other
hints() { [ "$(grep '^hint: ' fails.err)" = "hint: $1" ] || die "$(cat fails.err)"; }
b=("$RDMASTOR" bench)

fails 1 'nobody listens at TCP 127.0.0.1:1' "${b[@]}" --rdma 127.0.0.1:1
hints 'the other side is rdmastor bench --listen'
fails 1 'nobody listens at TCP 127.0.0.1:1' "${b[@]}" --rdma --ping '127.0.0.1:1?rdma=iwarp'
hints 'the other side is rdmastor bench --listen --ping, or rping -s'
fails 1 'kernel module .* is not loaded|there is no RDMA device' "${b[@]}" --rdma '127.0.0.1:1?rdma=verbs'
hints '?rdma=iwarp needs no RDMA device'
fails 1 'kernel module .* is not loaded|there is no RDMA device' timeout 20 "${b[@]}" --listen --rdma '127.0.0.1:0?rdma=verbs' --timeout 1
hints '?rdma=iwarp and --tcp need no RDMA device'
fails 1 'kernel module .* is not loaded|there is no RDMA device' timeout 20 "${b[@]}" --listen --ping '127.0.0.1:0?rdma=verbs' --timeout 1
hints '?rdma=iwarp needs no RDMA device'
timeout 2 "${b[@]}" --listen '127.0.0.1:0?rdma=verbs' >out 2>err
grep -q 'no RDMA device listens yet' err || die "TCP alone is not told: $(cat out err)"
