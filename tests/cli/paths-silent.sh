#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# shellcheck disable=SC2154 # $peer is set by two_hosts
# Two ways to a file, through two network interfaces: one swallows all packets, so no connection is reset. The other is used, nothing
# is lost, and the first again once it works. Time limits of requests are too long to be the reason. NBD has one way only: nothing
# tells whether two servers have the same disk.
. "$(dirname "$0")/lib.sh"
requires unshare ip jq
two_hosts
for n in 1 2; do
	wire here$n there$n
	ip addr add 10.0.$n.2/24 dev here$n
	ip link set here$n up
	other ip addr add 10.0.$n.1/24 dev there$n
	other ip link set there$n up
done
random_file img 4
for n in 1 2; do
	nsenter -n -t $peer "$RDMASTOR" serve img --force --nvmf --nqn "$NQN" --tcp 10.0.$n.1:4420 --rdma 10.0.$n.1:4421?rdma=iwarp \
		--iscsi --iqn iqn.2026-11.test:two --tcp 10.0.$n.1:3260 --srp --rdma 10.0.$n.1:5555?rdma=iwarp --json >served$n 2>errors$n &
	served=$!
	cleanup_fn kill $served
	nsenter -n -t $peer "$RDMASTOR" export img --force --nbd 10.0.$n.1:10809 --json >exported$n 2>errors$n &
	exported=$!
	cleanup_fn kill $exported
	wait_running "$exported" grep -q 10809 exported$n
	wait_running "$served" grep -q 5555 served$n
done
silent() { grep -q "path .*10\.0\.1\.1.* lost: .*$1" err; }
again() { grep -q "10\.0\.1\.1.* connection restored" err; }
writes() { "$RDMASTOR" status --json | jq --argjson pid "$SERVER" '[.serving[] | select(.pid == $pid) | .writes] | add'; }
goes_on() { [ "$(writes)" -ge $((before + 16)) ]; }
bench=
end_bench() { kill "$bench" 2>/dev/null || true; }
cleanup_fn end_bench
# survives WORDS URI: the loss has that reason
survives() {
	offer --verbose "$2&queues=2" --nbd "unix:$SOCK"
	"$RDMASTOR" bench "$URI" --rw randwrite --bs 4K --iodepth 4 --verify --runtime 3600 >bench.out 2>&1 &
	bench=$!
	other ip link set there1 down
	wait_running "$SERVER" silent "$1"
	other ip link set there1 up
	wait_running "$SERVER" again
	before=$(writes)
	wait_running "$bench" goes_on
	kill $bench
	wait $bench
	grep -q interrupted bench.out && ! grep -q wrong bench.out || die "$2: $(cat bench.out err)"
	stop
}
survives "TCP acknowledgement" "nbd://10.0.1.1/?io-timeout=3600&detect=1"
survives keep-alive "nvme+tcp://10.0.1.1/$NQN?path=10.0.2.1"
survives keep-alive "nvme+rdma://10.0.1.1:4421/$NQN?rdma=iwarp&path=10.0.2.1"
survives PORT.GROUPS "$(jq -r .srp.connect[0].rdmastor served1)&path=10.0.2.1"
survives ping "iscsi://10.0.1.1/iqn.2026-11.test:two?path=10.0.2.1"
