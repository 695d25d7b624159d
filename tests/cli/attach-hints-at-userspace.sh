#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# If the kernel can't attach a disk, the hint is a userspace command; pasted, it opens the same disk as the same host.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

uri_of() { sed -nE "s/^hint: .*rdmastor export '([^']*)' --nbd.*/\1/p" err; }
fails() { # APPLET WORD…
	! ours "$@" >out 2>err || die "$* succeeded"
}

serve ram:1M --nvmf --nqn nqn.2024-01.x:a/b --allow-host nqn.2024-01.x:me --rdma '127.0.0.1:0?rdma=iwarp' --tcp 127.0.0.1:0
fails nvmf-connect "${RDMA%%\?*}/1?rdma=iwarp&hostnqn=nqn.2024-01.x:me&queues=2&loss=5"
same JSON "$(ours info "$(uri_of)" --json | jq -r '[.hostnqn, .subnqn, .nsid] | join(" ")')" 'nqn.2024-01.x:me nqn.2024-01.x:a/b 1'
[[ $(uri_of) == *'queues=2'*'loss=5'* ]] || die "$(cat err)"

[ -d "/lib/modules/$(uname -r)" ] && { stop; exit 0; } # it may have the modules
fails nvmf-connect -t tcp -a 127.0.0.1 -s "$(sed -E 's#.*:([0-9]+)/.*#\1#' <<<"$TCP")" -n nqn.2024-01.x:a/b -q nqn.2024-01.x:me -i 2
ours info "$(uri_of)" >/dev/null
fails nvmf-connect "$TCP?hostnqn=nqn.2024-01.x:me&nr_write_queues=1&data_digest=1"
same JSON "$(ours info "$(uri_of)" --json | jq -r '[.hostnqn, .data_digest] | join(" ")')" 'nqn.2024-01.x:me true'
fails boot "$TCP" --timeout 10
grep -q '^hint: .*,via=ublk or ,via=nbd' err || die "$(cat err)"
stop

echo longenoughsecret >secret
echo 'iqn.2024-01.x:me user=joe secret=longenoughsecret' >initiators
chmod 600 secret initiators
ready serve ram:1M --iscsi --iqn iqn.2024-01.x:d --initiators-file initiators --tcp 127.0.0.1:0
at=$(sed -n 's/^rdmastor: *\(iscsi:[^?]*\)?user=NAME&.*/\1/p' out)
fails iser-login "$at?initiator=iqn.2024-01.x:me&loss=7" --user joe --secret-file secret
[[ $(uri_of) == *'/0?'*'&loss=wait=7' ]] || die "$(cat err)"
same JSON "$(ours info "$(uri_of)" --json | jq -r '[.initiator, .security] | join(" ")')" 'iqn.2024-01.x:me chap'
fails iser-login "$at?initiator=iqn.2024-01.x:me&user=joe&secret-file=secret"
ours info "$(uri_of)" >/dev/null
stop
