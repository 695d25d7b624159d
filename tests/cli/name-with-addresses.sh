#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A name with several addresses: each protocol, discovery, and each path of a disk connects to the one that answers, and reports
# it; a failure names all of them.
. "$(dirname "$0")/lib.sh"
requires unshare jq
[ -n "${INSIDE:-}" ] || {
	unshare -mn true 2>/dev/null || { echo "needs root with namespaces"; exit 77; }
	INSIDE=1 exec unshare -mn "$HERE/$(basename "$0")"
}
ip link set lo up
printf '::1 stor\n127.0.0.1 stor\n127.0.0.2 stor\n' >hosts
mount --bind hosts /etc/hosts
"$RDMASTOR" serve ram:1M --nvmf --nqn "$NQN" --tcp 127.0.0.2:4420 --rdma 127.0.0.2:4421?rdma=iwarp \
	--iscsi --iqn iqn.2024-01.test:disk --tcp 127.0.0.2:3260 >served 2>errors &
cleanup_fn kill $!
"$RDMASTOR" export ram:1M --nbd 127.0.0.2:10809 >exported 2>errors2 &
cleanup_fn kill $!
wait_until grep -q iscsi: served
wait_until grep -q nbd: exported

for uri in "nvme+tcp://stor/$NQN" "nvme+rdma://stor:4421/$NQN?rdma=iwarp" iscsi://stor/iqn.2024-01.test:disk nbd://stor \
	"nvme+tcp://stor/$NQN?queues=2&path=stor"; do
	ours info "$uri" --json >out || die "$uri: $(cat out)"
	same "$uri: size" 1048576 "$(jq .size out)"
	jq -e '[.. | .traddr? // empty] | unique == ["127.0.0.2"]' out >/dev/null || die "$uri: $(cat out)"
done
ours bench "nvme+tcp://stor/$NQN" --runtime 0.1 --numjobs 2 >/dev/null || die "further queues"
ours nvmf-discover -t tcp -a stor -s 4420 --json >out || die "$(cat out)"
same discovery 127.0.0.2 "$(jq -r '.records[] | select(.trtype == "tcp").traddr' out)"
ours nvmf-connect-all nvme+tcp://stor:4420 --dry-run --json -q "$HOST" >out || die "$(cat out)"
jq -r '.results[].line' out | grep -q 'traddr=127.0.0.2,trsvcid=4420' || die "$(cat out)"
ours iser-discover stor -t tcp --json >out || die "$(cat out)"
same SendTargets 127.0.0.2 "$(jq -r '.records[0].traddr' out)"

for uri in nvme+tcp://stor:1/nqn.x 'nvme+rdma://stor:1/nqn.x?rdma=iwarp' iscsi://stor:1/iqn.2024-01.test:disk nbd://stor:1; do
	error 1 refused '\[::1\]:1, 127.0.0.1:1, 127.0.0.2:1' 'connection.refused' "$RDMASTOR" info "$uri"
	same "$uri: each address once" 1 "$(grep -o '127\.0\.0\.2' error.err | wc -l)"
done
