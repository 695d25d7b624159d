#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Two processes that serve one disk under one NQN present the same namespace, by controllers with different IDs; a host with a path
# to each continues when one is closed.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

random_file disk 1
serve disk --nvmf --nqn "$NQN" --tcp 127.0.0.1:0 --cntlid-range 1-2000
first=$TCP pid=$SERVER
end_first() { kill -KILL "$pid" 2>/dev/null || true; }
cleanup_fn end_first
serve disk --force --nvmf --nqn "$NQN" --tcp 127.0.0.1:0 --cntlid-range 2001-4000
second=$TCP
of() { ours info --json "$1" | jq -c "$2"; }
same identity "$(of "$second" '[.subnqn, .nsid, .serial, .model, .uuid, .nguid]')" "$(of "$first" '[.subnqn, .nsid, .serial, .model, .uuid, .nguid]')"
[ "$(of "$first" .cntlid)" -le 2000 ] && [ "$(of "$second" .cntlid)" -gt 2000 ] || die 'controller IDs'
ours serve-ctl "$pid" ana 1 inaccessible >ctl.out
ours copy -q --force "$first?path=$second&loss=fail-fast" read
cmp disk read
stop
