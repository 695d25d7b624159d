#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# --listen without an address: all addresses, on the default port. Clients connect to it with a host name alone.
. "$(dirname "$0")/lib.sh"
requires jq ip
if [ -z "${INSIDE:-}" ]; then
	unshare -rn true 2>/dev/null || { echo 'needs a network namespace of its own'; exit 77; }
	INSIDE=1 exec unshare -rn "$HERE/$(basename "$0")"
fi
ip link set lo up
server=
stop() { [ -z "$server" ] || kill "$server" 2>/dev/null; }
cleanup_fn stop
# listen WORDS OPTION…: its ready line has these words
listen() {
	local words=$1 word
	shift
	rm -f listen
	"$RDMASTOR" bench --listen "$@" >listen 2>err &
	server=$!
	wait_running "$server" test -s listen
	[ "$(wc -l <listen)" = 1 ] || die "$*: is not ready: $(cat listen err)"
	for word in $words; do grep -qi -e "$word" listen || die "$*: no '$word' in: $(cat listen)"; done
}
end() {
	kill "$server"
	wait "$server" || die "ends with status $?"
	server=
}
tcp() { "$RDMASTOR" bench --tcp "$1" --runtime 0.1 >out 2>&1; }
rdma() { "$RDMASTOR" bench --rdma "$1?rdma=iwarp" --op send --test latency --bs 64 --iters 9 >out 2>&1; }
ping() { "$RDMASTOR" bench --rdma --ping "$1?rdma=iwarp" --iters 9 >out 2>&1; }

for address in '' : ':?rdma=iwarp' '?rdma=iwarp'; do
	listen '18516 TCP iWARP all' ${address:+"$address"}
	for host in 127.0.0.1 localhost '[::1]'; do
		tcp "$host" || die "'$address': TCP to $host: $(cat out)"
		rdma "$host" || die "'$address': RDMA to $host: $(cat out)"
	done
	end
done
listen '18516 TCP' --tcp
! grep -qi iwarp listen || die "--tcp: $(cat listen)"
tcp 127.0.0.1 || die "--tcp: $(cat out)"
rdma 127.0.0.1 && die "--tcp serves RDMA"
end
listen '7174 iWARP' --ping
ping 127.0.0.1 || die "--ping: $(cat out)"
end
listen '18517' :18517
tcp 127.0.0.1:18517 || die "a port alone: $(cat out)"
end
listen . --json
valid listen
jq -e '.traddr == "::" and .trsvcid == "18516" and .tcp and .iwarp and (.ping | not)' listen >/dev/null || die "$(cat listen)"
end

# nothing is opened or measured by a dry run
for mode in '--listen' '--rdma ::1' '--tcp ::1'; do
	# shellcheck disable=SC2086
	ours bench $mode --dry-run --json >out || die "$mode: a dry run"
	jq -e '.dry_run and .trsvcid == "18516" and .transport' out >/dev/null || die "$mode: $(cat out)"
	# shellcheck disable=SC2086
	[ "$("$RDMASTOR" bench $mode --dry-run -q | wc -l)" = 1 ] || die "$mode: a dry run has no result"
done
exit 0
