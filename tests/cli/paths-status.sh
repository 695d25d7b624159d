#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# shellcheck disable=SC2154 # $peer is set by two_hosts
# What status and doctor know of the paths of a disk: policy, groups and access, the preferred path, shares of the requests, the next attempt;
# paths that fail together, that differ, that lead to another disk or that the policy leaves out.
. "$(dirname "$0")/lib.sh"
requires unshare ip jq
two_hosts
mount -t sysfs sysfs /sys 2>/dev/null || { echo "needs to mount sysfs"; exit 77; }
for n in 1 2; do
	wire here$n there$n
	ip link set here$n mtu 1500
	other ip link set there$n mtu 1500
	ip addr add 10.0.$n.2/24 dev here$n
	ip link set here$n up
	other ip addr add 10.0.$n.1/24 dev there$n
	other ip link set there$n up
done
random_file img 4
iqn=iqn.2026-11.test:two
start() { # NAME OPTION…
	local name=$1
	shift
	nsenter -n -t "$peer" "$RDMASTOR" serve "$@" --json >"served.$name" 2>errors &
	eval "$name=\$!"
	cleanup_fn kill $!
	wait_running $! grep -q trsvcid "served.$name"
}
start target img --nvmf --nqn "$NQN" --tcp 10.0.1.1:4420 --tcp 10.0.2.1:4420 --group 2 --tcp 10.0.1.1:4421 \
	--iscsi --iqn $iqn --tcp 10.0.1.1:3260 --tcp 10.0.2.1:3260 --group 7
start stranger ram:4M --nvmf --nqn "$NQN" --tcp 10.0.2.1:4477

of() { ours status --json >json && jq -c --argjson pid "$SERVER" "[.serving[] | select(.pid == \$pid)][0].disks[0] | $1" json; }
is() { [ "$(of "$1")" = "$2" ]; }
line() { ours status >text && grep -Eq "^$1\$" text || die "no '$1' in: $(cat text)"; }
reads() { "$RDMASTOR" bench "$URI" --rw randread --bs 4K --iodepth 4 --size 4M >bench.out || die "$(cat bench.out)"; }
ana() { nsenter -n -t "$peer" "$RDMASTOR" serve-ctl "$target" ana "$1" "$2" >ctl.out; }
# doctor STATUS URI; finds CHECK STATE [FILTER]: there is that finding; knows CHECK: there is any
doctor() {
	local rc=0
	ours doctor --json "$2" >found || rc=$?
	[ $rc = "$1" ] || die "doctor $2: status $rc, not $1: $(jq -c '.findings[] | select(.state != "ok")' found)"
}
finds() { jq -e "[.findings[] | select(.topic == \"paths\" and .check == \"$1\" and .state == \"$2\" and (${3:-true}))] | length == 1" found >/dev/null ||
	die "no $2 $1 ${3:-}: $(jq -c '.findings[] | select(.topic == "paths")' found)"; }
knows() { jq -e "any(.findings[]; .check == \"$1\" and .state != \"ok\")" found >/dev/null; }

a="nvme+tcp://10.0.1.1/$NQN"
both="$a?path=10.0.2.1&policy=round-robin"
offer "$both" --nbd "unix:$SOCK"
reads
same 'policy, groups' "$(of '[.policy, (.paths[] | .access, .group, .requests > 50, has("preferred"), has("retry_in_seconds"))]')" \
	'["round-robin","optimized",1,true,false,false,"optimized",1,true,false,false]'
line "$(ere "$both"): 2 paths, policy round-robin"
line 'path 1: nvme.tcp://10\.0\.1\.1/.*: up, optimized, group 1, (4[0-9]|5[0-9])% of requests'
line 'path 2: nvme.tcp://10\.0\.2\.1/.*: up, optimized, group 1, (4[0-9]|5[0-9])% of requests'
doctor 0 "$both"
finds path-state ok '.path_count == 2 and .paths_up == 2'
finds path-address ok
ana 2 non-optimized
wait_until is '.paths[1].access' '"non-optimized"'
before=$(of '.paths[1].requests')
reads
same 'path 2 is not used now' "$(of '.paths[1].requests')" "$before"
same 'of all requests it has a share' "$(of '.paths | .[1].requests * 20 > .[0].requests')" true
"$RDMASTOR" bench "$URI" --rw randread --bs 4K --runtime 3600 >bench.out 2>&1 &
bench=$!
"$RDMASTOR" status --watch 1 >watched &
watching=$!
cleanup_fn kill $bench $watching
wait_running $bench grep -q '^path 2: .*, non-optimized, .* 0% of requests$' watched
grep -q '^path 1: .* 100% of requests$' watched || die "$(cat watched)"
kill $bench $watching
wait $bench $watching || true
doctor 0 "$both"
finds path-policy warning '.policy == "round-robin" and (.hint | length > 0)'
doctor 0 "$a?path=10.0.2.1"
! knows path-policy || die 'failover may use one path alone'
ana 2 inaccessible
doctor 0 "$both"
finds path-state warning '(.object | contains("10.0.2.1")) and (.text | contains("inaccessible"))'
ana 2 optimized
wait_until is '.paths[1].access' '"optimized"'

ip link set here2 mtu 1400
doctor 0 "$both"
finds path-mtu warning '.netdev == "here2" and .netdev_mtu == 1400 and (.hint | contains("here2 mtu 1500"))'
! knows path-interface || die 'two interfaces'
doctor 0 "$a?path=10.0.1.1:4421"
finds path-address warning '.traddr == "10.0.1.1"'
finds path-interface warning '.netdev == "here1"'
! knows path-mtu || die 'one interface'
doctor 0 "$a"
! jq -e 'any(.findings[]; .topic == "paths")' found >/dev/null || die 'one path'
doctor 3 "$a?path=10.0.2.1:4477"
finds path-identity failure '(.object | contains("10.0.2.1:4477")) and .code == "mismatch"'
error 1 usage '.*' "preferred= path=" ours doctor "$a?path=10.0.2.1&preferred=10.0.9.9"

other ip link set there1 down
wait_until is '.paths[0].state' '"lost"'
wait_until is '.paths[0] | .retry_in_seconds >= 0 and .retry_in_seconds < 1 and (has("access") | not)' true
same 'the disk' "$(of .state)" '"up"'
other ip link set there1 up
stop

offer "iscsi://10.0.1.1/$iqn?path=10.0.2.1&preferred=10.0.2.1" --nbd "unix:$SOCK"
reads
same 'iSCSI' "$(of '[.policy, (.paths[] | .access, .group, .preferred, .requests > 50)]')" \
	'["failover","optimized",7,true,true,"optimized",1,null,false]'
line 'path 1: iscsi://10\.0\.2\.1/.*: up, optimized, group 7, preferred, (9[0-9]|100)% of requests'
kill -USR1 "$SERVER"
wait_until grep -Eq '^path 2: iscsi://10\.0\.1\.1/.*: up, optimized, group 1, [0-9]% of requests$' err
grep -q ': up, policy failover$' err || die "$(cat err)"
stop
