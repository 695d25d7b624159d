#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Reservations survive a target that is killed, if an initiator has asked for it and --state names a folder; what is wrong with the
# folder or a file is reported before anything is served; a change that can't be written fails.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires python3 prlimit setpriv
set -e

IQN=iqn.2024-01.lab:d
truncate -s 4M disk
mkdir state
start() { serve disk --state state --iscsi --tcp 127.0.0.1:0 --iqn $IQN && PORTAL=$(sed -nE 's#^libiscsi: +iscsi://([^/]*)/.*#\1#p' out); }
again() { kill -KILL "$SERVER" && { wait "$SERVER" 2>/dev/null || true; } && start; }
# is ANSWER INITIATOR COMMAND…: what an initiator gets
is() { same "${*:2}" "$(python3 "$HERE/iscsi_pr.py" "${PORTAL##*:}" $IQN "iqn.2024-01.lab:$2" "${@:3}")" "$1"; }

"$RDMASTOR" info disk >/dev/null
start || { grep -q 'not permanent' err && { echo "needs an identity of this machine"; exit 77; }; die "$(cat err)"; }
is good one register 0 0xa 0
is good one reserve 0xa 1
is conflict two write
again
is good two write # nobody has asked for persistence
is good one register 0 0xa 1
is good two register 0 0xb 1
is good one reserve 0xa 1
is conflict two write
again
grep -q 'disk: 2 registrations restored' err || die "$(cat err)"
is conflict two write
is good one write
is 'good 0xa 0xb' three keys
is 'good 00080581ea010000' one capabilities
is conflict three register 0xa 0xc 1

# another server can't use the folder
truncate -s 4M disk2
error 1 busy '--state state' 'another.process folder' "$RDMASTOR" serve disk2 --state state --iscsi --tcp 127.0.0.1:0

# a full file system
limit "$SERVER" --fsize=256:
is 'sense 4/44/00' one release 0xa 1
is 'sense 4/44/00' three register 0 0xc 1
limit "$SERVER" --fsize=unlimited:
wait_until grep -q 'state.*disk.*too large.*failed' err
is conflict three write
is 'good 0xa 0xb' three keys
again
is conflict three write
is 'good 0xa 0xb' three keys

is good one release 0xa 1
again
is good three write
is 'good 0xa 0xb' three keys
is good two register 0xb 0xb 0 # the last one decides
again
is 'good' three keys
is good one register 0 0xa 1
is good one reserve 0xa 3
stop
same files "$(ls state | sed -E 's/^[0-9a-f]{32}//')" .reservations

# what is wrong with the file and the folder
serves() { "$RDMASTOR" serve disk --state "$@" --iscsi --tcp 127.0.0.1:0; }
file=$(echo state/*)
cp "$file" good
truncate -s -1 "$file"
error 1 mismatch "$file" 'damaged remove' serves state --json
cp good "$file"
sed -i 's/^disk ./disk 0/' "$file"
grep -q '^disk 0' good || error 1 mismatch "$file" 'another.disk' serves state --json
sed 's/reservations 1/reservations 2/' good >"$file"
error 1 unsupported "$file" 'version.2 expected.1' serves state --json
error 1 not-found '--state gone' 'mkdir' serves gone --json
error 1 not-found '--state disk' 'directory' serves disk --json
error 1 unsupported 'ram:1M' '--state permanent' "$RDMASTOR" serve ram:1M --state state --iscsi --tcp 127.0.0.1:0
cp good "$file"
start
is conflict two write
stop

# without it
serve disk --iscsi --tcp 127.0.0.1:0 --iqn $IQN
PORTAL=$(sed -nE 's#^libiscsi: +iscsi://([^/]*)/.*#\1#p' out)
is 'good 00080480ea010000' one capabilities
is 'sense 5/26/00' one register 0 0xa 1
stop
