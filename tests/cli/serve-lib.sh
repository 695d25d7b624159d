# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# shellcheck shell=bash
# For the tests of serve: a target in this test's folder, and how to reach it.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
NQN=nqn.2024-01.test:disk
HOST=nqn.2014-08.org.nvmexpress:uuid:abff48c0-ecbe-4d8c-a64a-54f12797e8c2
SERVER=

# serve URI OPTION…: returns once it is ready; sets TCP and RDMA to the URIs printed
serve() {
	[ -p ready ] || mkfifo ready
	"$RDMASTOR" serve "$@" --ready-fd 3 3>ready >out 2>err &
	SERVER=$!
	read -r _ <ready || die "serve $* did not get ready: $(cat err)"
	TCP=$(sed -n 's/^rdmastor: \(nvme+tcp:.*\)/\1/p' out | head -1)
	RDMA=$(sed -n 's/^rdmastor: \(nvme+rdma:.*\)/\1/p' out | head -1)
	PORT=$(sed -E 's#.*:([0-9]+)/.*#\1#' <<<"$TCP$RDMA")
}

# stop [STATUS]: ends it the clean way
stop() {
	local rc=0
	kill -TERM "$SERVER"
	wait "$SERVER" || rc=$?
	SERVER=
	[ "$rc" = "${1:-0}" ] || die "exit status $rc, not ${1:-0}: $(cat err)"
}

# refused STATUS REGEX COMMAND…: fails(), under set -e
refused() {
	set +e
	fails "$@"
	set -e
}

random_file() { dd if=/dev/urandom of="$1" bs=1M count="$2" status=none; }
ours() { timeout 60 "$RDMASTOR" "$@"; }
end_server() { [ -z "$SERVER" ] || kill -KILL "$SERVER" 2>/dev/null || true; }
cleanup_fn end_server
