#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The connection of an export to its target is lost: a copy from that export ends as unreachable, and with --keep-going
# its map has no bad area.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires jq

random_file src 64
truncate -s 300G src # more than can be copied
serve src --nvmf --nqn "$NQN" --tcp 127.0.0.1:0 --ro
target=$SERVER
"$RDMASTOR" export "$TCP" --ro --on-loss 1 --nbd "unix:$SOCK" --ready-fd 4 4>export.ready >/dev/null 2>export.err &
export=$!
cleanup_fn kill -KILL $export
wait_running $export test -s export.ready
offer null:300G --nbd "unix:$TMP/null.sock" # null: itself has no map
cleanup_fn kill -KILL "$target"
"$RDMASTOR" copy "$URI&loss=2" "nbd+unix:///?socket=$TMP/null.sock" --no-sparse --resume map --keep-going --request 64K --depth 1 --json >out.json 2>copy.err &
copy=$!
copied() { grep -q ' +$' map 2>/dev/null; }
wait_running $copy copied
kill -KILL "$target"
rc=0
wait $copy || rc=$?
same 'the exit status' $rc 1
valid out.json
case $(jq -r .error.code out.json) in
unreachable | timeout) ;;
*) die "$(cat out.json)" ;;
esac
! grep -Eq '^0x[0-9a-f]+ +0x[0-9a-f]+ +-' map || die "the map has bad areas: $(cat map)"
grep -q 'lost' export.err || die "the export does not report the loss: $(cat export.err)"
