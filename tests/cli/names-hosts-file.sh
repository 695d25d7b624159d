#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Host names are case-insensitive, also those in /etc/hosts; no name server is asked for them.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires unshare
[ -n "${OWN_NET-}" ] || {
	unshare -nm true 2>/dev/null || { echo 'needs root with namespaces'; exit 77; }
	OWN_NET=1 exec unshare -nm "$HERE/names-hosts-file.sh"
}
ip link set lo up || { echo 'needs ip'; exit 77; }
printf '127.0.0.1 localhost\n::1\tUPPER.Case other-Name # comment.here\n127.0.0.1 upper.case\n' >hosts
{ [ -e /etc/hosts ] && mount --bind hosts /etc/hosts; } || { echo 'needs mounts of its own'; exit 77; }

serve ram:1M --nvmf --nqn "$NQN" --tcp '[::1]:4420'
for name in UPPER.Case Upper.case OTHER-name other-Name; do
	same "$name" "$(ours info "nvme+tcp://$name/$NQN" --json | jq -r .traddr)" ::1
done
stop
serve ram:1M --nvmf --nqn "$NQN" --tcp 127.0.0.1:4420
same exact "$(ours info "nvme+tcp://upper.case/$NQN" --json | jq -r .traddr)" 127.0.0.1
stop
