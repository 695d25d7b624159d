#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A connection that cannot be measured because the RDMA device or the peer is missing: the hint is about measuring, not disks.
. "$(dirname "$0")/lib.sh"
[ -z "$(ls /sys/class/infiniband 2>/dev/null)" ] || { echo 'needs a machine without RDMA devices'; exit 77; }
# shellcheck disable=SC2016 # $w is jq's
hint() { jq -e --arg w "$1" '.error.hint | contains($w)' error.out >/dev/null || die "$(cat error.out)"; }
b=("$RDMASTOR" bench)
# the driver, or the device
lacks=$("${b[@]}" --rdma '127.0.0.1:1?rdma=verbs' --json 2>/dev/null | jq -r .error.code)
case $lacks in no-module | no-device) ;; *) die "the code is '$lacks'" ;; esac

error 1 "$lacks" 127.0.0.1:1 'connection.refused TCP' "${b[@]}" --rdma 127.0.0.1:1
hint 'rdmastor bench --listen'
error 1 refused 127.0.0.1:1 'connection.refused' \
	"${b[@]}" --rdma --ping '127.0.0.1:1?rdma=iwarp'
hint 'rdmastor bench --listen --ping'
hint 'rping -s'
error 1 "$lacks" 127.0.0.1:1 '' "${b[@]}" --rdma '127.0.0.1:1?rdma=verbs'
hint '?rdma=iwarp'
error 1 "$lacks" 127.0.0.1:0 '' \
	"${b[@]}" --listen --rdma '127.0.0.1:0?rdma=verbs' --timeout 1
hint '?rdma=iwarp'
hint '--tcp'
error 1 "$lacks" 127.0.0.1:0 '' \
	"${b[@]}" --listen --ping '127.0.0.1:0?rdma=verbs' --timeout 1
hint '?rdma=iwarp'
"${b[@]}" --listen '127.0.0.1:0?rdma=verbs' >out 2>err &
server=$!
end() { kill "$server"; }
cleanup_fn end
wait_running "$server" grep -q 'waiting.*RDMA device' err
