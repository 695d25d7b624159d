#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# SIGUSR1 prints the status, as text and as JSON; --json prints one document.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

document() { jq -es 'length == 1' "$1" >/dev/null 2>&1; }
random_file src 3
serve ram:4M --nvmf --nqn "$NQN" --tcp 127.0.0.1:0
ours copy -q src "$TCP"
kill -USR1 "$SERVER"
wait_until grep -q written: err
grep -Eq '^written: 3 MiB' err || die "$(cat err)"
stop
"$RDMASTOR" serve ram:4M --nvmf --nqn "$NQN" --tcp 127.0.0.1:0 --json >out 2>err &
SERVER=$!
wait_running "$SERVER" document out
jq -e '.schema == "rdmastor.serve" and .disks[0].size == 4194304 and .version == 2 and .disks[0].uri == "ram:4M" and
	(.connect[0] | .transport == "tcp" and .traddr == "127.0.0.1" and (.trsvcid | test("^[0-9]+$")))' out >/dev/null || die "$(cat out)"
kill -USR1 "$SERVER"
wait_running "$SERVER" document err
jq -e '.serving[0] | .clients == 0 and .written_bytes == 0 and .errors == 0' err >/dev/null || die "$(cat err)"
valid out
valid err
stop
