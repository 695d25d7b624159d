#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# nvmf-connect-all: the TLS key of a discovery controller, from any source, also applies to the subsystems that it lists.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires jq

serve ram:1M --nvmf --nqn "$NQN" --tcp 127.0.0.1:0
echo NVMeTLSkey-1:01:VRLbtnN9AQb2WXW3c9+wEf/DRLz0QuLdbYvEhwtdWwNf9LrZ: >tls.key
u="nvme+tcp://127.0.0.1:$PORT?hostnqn=$HOST"

# FROM WORD...: the subsystem would be connected with the key
offered()
{
	local from=$1
	shift
	ours nvmf-connect-all --dry-run --json "$@" >out || die "$*: status $? of $(cat out)"
	jq -e --arg from "$from" --arg nqn "$NQN" '.succeeded == 1 and .failed == 0 and .results[0].tls_key_from == $from and
		(.results[0].tls_identity | contains($nqn)) and (.results[0].line | test(",tls(,|$)"))' out >/dev/null || die "$*: $(cat out)"
}

if [ -e /dev/nvme-fabrics ] && ! grep -q tls_key /dev/nvme-fabrics; then
	stop
	exit 0
fi
offered tls.key "$u" --tls-key-file tls.key
offered tls.key "$u&tls-key-file=tls.key"
offered descriptor "$u" --tls-key-fd 7 7< <(cat tls.key)
offered option "$u" --tls --tls-key "$(cat tls.key)"
stop
