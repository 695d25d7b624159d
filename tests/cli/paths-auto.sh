#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# shellcheck disable=SC2154 # $peer is set by two_hosts
# paths=auto: what a target reports of itself carries on when the named path is lost, over each transport; a discovery log that lies costs
# no more than a warning; what has no list says so.
. "$(dirname "$0")/lib.sh"
requires unshare ip jq python3
two_hosts
for n in 1 2; do
	wire here$n there$n
	ip addr add 10.0.$n.2/24 dev here$n
	ip link set here$n up
	other ip addr add 10.0.$n.1/24 dev there$n
	other ip link set there$n up
done
random_file img 4
iqn=iqn.2026-11.test:two
nsenter -n -t $peer "$RDMASTOR" serve img --nvmf --nqn "$NQN" --tcp 10.0.1.1:4420 --tcp 10.0.2.1:4420 --rdma 10.0.1.1:4421?rdma=iwarp \
	--rdma 10.0.2.1:4421?rdma=iwarp --iscsi --iqn $iqn --tcp 10.0.1.1:3260 --tcp 10.0.2.1:3260 \
	--rdma 10.0.1.1:3261?rdma=iwarp --rdma 10.0.2.1:3261?rdma=iwarp --json >served 2>errors &
served=$!
cleanup_fn kill $served
wait_running "$served" grep -q 3261 served

# paths URI: what it leads to, and the warnings in err
paths() {
	ours info --json "$1" >info 2>err || die "$1: $(cat err)"
	jq -r '[.paths[] | select(.state == "up") | .uri] | join(" ")' info
}
reach() { (: </dev/tcp/10.0.1.1/4420) 2>/dev/null; }
is_lost() { grep -q 'path .*10\.0\.1\.1.* lost' err; }
writes() { "$RDMASTOR" status --json | jq --argjson pid "$SERVER" '[.serving[] | select(.pid == $pid) | .writes] | add'; }
goes_on() { [ "$(writes)" -ge $((before + 16)) ]; }
bench=
end_bench() { kill "$bench" 2>/dev/null || true; }
cleanup_fn end_bench
# survives URI: the named path is cut under load
survives() {
	wait_until reach
	same "$1" "$(paths "$1" | sed -E 's#[a-z+]*://([0-9.]*)[^ ]*#\1#g')" '10.0.1.1 10.0.2.1'
	[ ! -s err ] || die "$1: $(cat err)"
	offer --verbose "$1&queues=2" --nbd "unix:$SOCK"
	"$RDMASTOR" bench "$URI" --rw randwrite --bs 4K --iodepth 4 --verify --runtime 3600 >bench.out 2>&1 &
	bench=$!
	wait_running "$bench" under_load "$SERVER"
	ours status >status.out
	grep -q '^path 1: .*10\.0\.1\.1.*: up, ' status.out && grep -q '^path 2: .*10\.0\.2\.1.*: up, ' status.out || die "$(cat status.out)"
	other ip link set there1 down
	wait_running "$SERVER" is_lost
	before=$(writes)
	wait_running "$bench" goes_on
	other ip link set there1 up
	kill $bench
	wait $bench
	grep -q interrupted bench.out && ! grep -q wrong bench.out || die "$1: $(cat bench.out err)"
	stop
}
survives "nvme+tcp://10.0.1.1/$NQN?paths=auto"
survives "nvme+rdma://10.0.1.1:4421/$NQN?rdma=iwarp&paths=auto"
survives "iscsi://10.0.1.1/$iqn?paths=auto"
survives "iser://10.0.1.1:3261/$iqn?rdma=iwarp&paths=auto"

# Union with what is named, each once
same union "$(paths "nvme+tcp://10.0.2.1/$NQN?paths=auto&path=10.0.1.1")" "nvme+tcp://10.0.2.1/$NQN?paths=auto&path=10.0.1.1 nvme+tcp://10.0.1.1/$NQN"

# A log that lies: other subsystems, transports and disks, addresses that are none
serve img --force --nvmf --nqn "$NQN" --tcp 127.0.0.1:4420 --tcp 127.0.0.2:4420
one=$SERVER
serve ram:4M --nvmf --nqn "$NQN" --tcp 127.0.0.3:4420
cleanup_fn kill $one
python3 "$HERE/nvme_log.py" log 8009 "3,2,127.0.0.1,4420,$NQN" "3,2,127.0.0.2,4420,$NQN" "3,2,127.0.0.2,4420,$NQN" "3,2,127.0.0.3,4420,$NQN" \
	"1,2,127.0.0.4,4420,$NQN" "2,2,127.0.0.4,4420,$NQN" "3,3,127.0.0.4,4420,$NQN" "3,2,127.0.0.4,4420,nqn.other" "3,2,somewhere,4420,$NQN" \
	"3,2,127.0.0.4,0,$NQN" "3,2,127.0.0.4,99999,$NQN" "3,2,fe80::1,4420,$NQN" "3,2,224.0.0.1,4420,$NQN" "3,2,127.0.0.5,4420,$NQN" >lies1 &
lies=$!
cleanup_fn kill $lies
wait_running $lies test -s lies1
uri="nvme+tcp://127.0.0.1/$NQN?paths=auto"
same lies "$(paths "$uri")" "$uri nvme+tcp://127.0.0.2:4420/$NQN"
same 'all paths' "$(jq -r '[.paths[].uri | sub(".*//"; "") | sub("/.*"; "")] | join(" ")' info)" "127.0.0.1 127.0.0.2:4420 127.0.0.3:4420 127.0.0.5:4420"
same 'another disk' "$(jq -r '.paths[2].error.code' info)" mismatch
grep -q "paths=auto.* 5,.*'somewhere'" err || die "no warning: $(cat err)"
kill $lies
wait $lies || true

# More than a disk may have
records=()
for n in {1..40}; do records+=("3,2,127.0.1.$n,4420,$NQN"); done
python3 "$HERE/nvme_log.py" log 8009 "${records[@]}" >lies2 &
lies=$!
cleanup_fn kill $lies
wait_running $lies test -s lies2
same 'too many' "$(paths "$uri") $(jq '.paths | length' info)" "$uri 9"
grep -q 'paths=auto.* 32,.* 9 paths' err || die "no warning: $(cat err)"
kill $lies
wait $lies || true

# No list, or nothing in it
same alone "$(paths "nvme+tcp://127.0.0.3:4420/$NQN?paths=auto")" "nvme+tcp://127.0.0.3:4420/$NQN?paths=auto"
grep -q 'paths=auto.*no other' err && grep -q 'hint.*path=HOST' err || die "no warning: $(cat err)"
stop

# A list of portals that lies: a port without a listener, a host name, a link-local address without an interface, what is none
kill $one
serve img --force --iscsi --iqn $iqn --tcp 127.0.0.1:3999 --tcp 127.0.0.2:3260
python3 "$HERE/iscsi_list.py" 3260 3999 $iqn 127.0.0.1:3260,1 127.0.0.2,2 127.0.0.3:1,1 portal.example,1 '[fe80::1]:3260,1' 0.0.0.0:0,1 x:y:z >lies3 &
lies=$!
cleanup_fn kill $lies
wait_running $lies test -s lies3
uri="iscsi://127.0.0.1/$iqn?paths=auto"
same portals "$(paths "$uri")" "$uri iscsi://127.0.0.2:3260/$iqn"
same 'all portals' "$(jq -r '[.paths[].uri | sub(".*//"; "") | sub("/.*"; "")] | join(" ")' info)" "127.0.0.1 127.0.0.2:3260 127.0.0.3:1"
grep -q "paths=auto: not all .*TargetAddress=.* 2,.*'portal.example'" err || die "no warning: $(cat err)"
kill $lies
wait $lies || true
stop

error 2 usage '.*' "paths='all' auto" "$RDMASTOR" info "nvme+tcp://127.0.0.1/$NQN?paths=all"
error 2 usage '.*' 'nbd list path=HOST' "$RDMASTOR" info 'nbd://127.0.0.1/x?paths=auto'
error 2 usage '.*' 'srp list path=HOST' "$RDMASTOR" info 'srp+cm://127.0.0.1:5555/0002c903004ed0b2/0002c903004ed0b2?paths=auto'
