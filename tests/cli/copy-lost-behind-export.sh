#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The connection of an export to its target is lost: a copy from that export ends as unreachable, and with --keep-going
# its map has no bad area.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires jq

random_file src 64
serve src --nvmf --nqn "$NQN" --tcp 127.0.0.1:0 --ro
target=$SERVER
"$RDMASTOR" export "$TCP" --ro --on-loss 1 --nbd "unix:$SOCK" --ready-fd 4 4>export.ready >/dev/null 2>export.err &
cleanup_fn kill -KILL $!
for _ in $(seq 100); do [ -s export.ready ] && break; sleep 0.05; done
"$RDMASTOR" copy "$URI&loss=2" dst --resume map --keep-going --request 64K --depth 1 --json >out.json 2>copy.err &
copy=$!
for _ in $(seq 200); do [ -s dst ] && break; sleep 0.02; done
kill -KILL "$target"
rc=0
wait $copy || rc=$?
if [ $rc = 0 ]; then
	echo "the copy was faster than the end of the target"
	exit 77
fi
same 'the exit status' $rc 1
valid out.json
case $(jq -r .error.code out.json) in
unreachable | timeout) ;;
*) die "$(cat out.json)" ;;
esac
! grep -Eq '^0x[0-9a-f]+ +0x[0-9a-f]+ +-' map || die "the map has bad areas: $(cat map)"
grep -q 'lost' export.err || die "the export does not report the loss: $(cat export.err)"
