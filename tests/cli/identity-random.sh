#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A machine without an identity, an empty root: a run has one random name, and announces it once if a disk uses it.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires chroot
mkdir root
cp "$RDMASTOR" root/rdmastor
chroot root /rdmastor --version >/dev/null 2>&1 || { echo 'needs chroot'; exit 77; }

alone() { chroot root /rdmastor "$@" 2>err; } # WORD…
names() { sed -n 's/.*: warning: random .* for this run: //p' err; }
once() { # NAME: announced once
	same "announcement" "$(names)" "$1"
}

serve ram:1M ram:1M --nvmf --nqn "$NQN" --nqn "$NQN.2" --tcp 127.0.0.1:0 --rdma '127.0.0.1:0?rdma=iwarp'
nqn=$(alone info "$TCP" --json | jq -r .hostnqn)
[[ $nqn == nqn.2014-08.org.nvmexpress:uuid:* ]] || die "$nqn"
once "$nqn"
alone copy "$TCP" "${TCP/$NQN/$NQN.2}" >/dev/null
[ "$(names | wc -l)" = 1 ] || die "$(cat err)"
alone bench "$TCP" --runtime 1ms >/dev/null
[ "$(names | wc -l)" = 1 ] || die "$(cat err)"
alone nvmf-discover "127.0.0.1:$PORT" >/dev/null
[ "$(names | wc -l)" = 1 ] || die "$(cat err)"
alone info "$TCP?hostnqn=$HOST" >/dev/null
once ''
alone info "$TCP" --quiet >/dev/null
once ''
alone info ram:1M >/dev/null
once ''
# each disk is attached by a child
mkdir root/proc
: >root/proc/cmdline
alone boot --dry-run "$TCP" "${TCP/$NQN/$NQN.2}" >/dev/null
[ "$(names | wc -l)" = 1 ] || die "$(cat err)"
alone boot --dry-run --verbose "$TCP" "${TCP/$NQN/$NQN.2}" >/dev/null
nqn=$(sed -n 's/.*: host NQN \([^ ]*\) (random).*/\1/p' err | sort | uniq -d)
[ -n "$nqn" ] || die "two disks, not one name: $(cat err)"
once "$nqn"
alone boot --dry-run nvme:x >/dev/null || true
once ''
stop
ready serve ram:1M --iscsi --iqn iqn.2024-01.test:d --tcp 127.0.0.1:0
uri=$(sed -n 's/^rdmastor: *\(iscsi:.*\)/\1/p' out)
iqn=$(alone info "$uri" --json | jq -r .initiator)
once "$iqn"
alone info "$uri?initiator=iqn.2024-01.test:me" >/dev/null
once ''
stop
