#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Addresses open to every host cause one warning for all protocols together, unless hosts are listed.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

serve ram:1M --nvmf --tcp 0.0.0.0:0
grep -q -e '--allow-host' err || die "$(cat err)"
stop
serve ram:1M --nvmf --tcp 0.0.0.0:0 --allow-host "$HOST"
! grep -q -e '--allow-host' err || die "$(cat err)"
stop
any=(--tcp 0.0.0.0:0 --rdma '0.0.0.0:0?rdma=iwarp')
ready serve ram:1M ram:2M --nvmf "${any[@]}" --iscsi "${any[@]}" --srp --rdma '0.0.0.0:0?rdma=iwarp'
same 'warnings of three protocols' "$(grep -c 'warning: .*any host' err)" 1
grep -q 'warning: 0.0.0.0:0: .* --hosts-file, --allow-host, --initiators-file, --allow-initiator$' err || die "$(cat err)"
stop
serve ram:1M --nvmf --tcp 127.0.0.1:0
! grep -q -e '--allow-host' err || die "$(cat err)"
stop
error 1 not-found nosuch 'no.such.file' ours serve nosuch --nvmf --tcp 0.0.0.0:0
! grep -q -e '--allow-host' error.err ||
	die "warns of a server that never listened: $(cat error.err)"
