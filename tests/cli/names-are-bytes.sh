#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Names of targets and hosts are bytes: the printed URI of any name opens its disk, other spellings need no escapes, discovery and
# hints name it exactly, and an allow list tells hosts apart.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

field() { jq -r "$1" served; } # JQ: of what serve prints
start() { # OPTION…: serve with JSON, which goes to served
	[ -p ready ] || mkfifo ready
	"$RDMASTOR" serve ram:1M --json "$@" --ready-fd 3 3>ready >served 2>err &
	# shellcheck disable=SC2034 # of lib.sh
	SERVER=$!
	cleanup_fn end_server
	read -r _ <ready || die "serve $* did not get ready"
	valid served
}

for name in x:a/b 'x:a?b' x:a%41 'x:a#b' x:tü-日 "x:it's;&\$1"; do
	nqn=nqn.2024-01.$name
	start --nvmf --nqn "$nqn" --tcp 127.0.0.1:0 --rdma '127.0.0.1:0?rdma=iwarp'
	for uri in "$(field '.connect[0].rdmastor')" "$(field '.connect[1].rdmastor')"; do
		[[ $uri != *[^][a-zA-Z0-9:/%._~?=+-]* ]] || die "not encoded: $uri"
		same "subsystem of $uri" "$(ours info "$uri" --json | jq -r .subnqn)" "$nqn"
	done
	tcp=$(field '.connect[] | select(.transport == "tcp") | .rdmastor')
	port=$(field '.connect[] | select(.transport == "tcp") | .trsvcid')
	ours info "$tcp/1" >/dev/null
	[[ $name == *\;* ]] || ours info "transport=tcp;traddr=127.0.0.1;trsvcid=$port;nqn=$nqn" >/dev/null
	[[ $name == *\;* ]] || ours info "trtype:TCP traddr:127.0.0.1 trsvcid:$port subnqn:$nqn ns:1" >/dev/null
	same "printed command" "$(bash -c "nvme() { printf '%s' \"\${*: -1}\"; }; $(field '.connect[0].nvme_cli')")" "$nqn"
	same discovery "$(ours nvmf-discover "127.0.0.1:$port" -t tcp --json | jq -r '.records[].subnqn' | tail -1)" "$nqn"
	error 1 not-found "127.0.0.1:$port" 'subsystem wrong' ours info "${tcp%/*}/wrong"
	ours info "$(sed -n 's/^hint: available there: //p' error.err)" >/dev/null
	ours nvmf-connect-all "nvme+tcp://127.0.0.1:$port" --dry-run --json >plan 2>/dev/null || true
	same plan "$(jq -r ".results[0].line" plan | sed "s/.*,nqn=//; s/,hostnqn=.*//")" "$nqn"
	stop
done
for name in iqn.2024-01.x:a/b 'iqn.2024-01.x:a?b%41#c'; do
	start --iscsi --iqn "$name" --tcp 127.0.0.1:0
	uri=$(field '.iscsi.connect[0].rdmastor')
	same "target of $uri" "$(ours info "$uri" --json | jq -r .iqn)" "$name"
	error 1 not-found '127.0.0.1:[0-9]+' 'target' ours info "${uri%/*/*}/iqn.2024-01.x:wrong"
	ours info "$(sed -n 's/^hint: available there: //p' error.err)" >/dev/null
	stop
done

longest=$(printf 'x%.0s' {1..223})
serve ram:1M --nvmf --nqn "$NQN" --tcp 127.0.0.1:0 --allow-host nqn.2024-01.x:ü --allow-host eui.0123 --allow-host 'My Host' --allow-host "$longest"
for host in eui.0123 'My%20Host' "$longest"; do ours info "$TCP?hostnqn=$host" >/dev/null; done
error 1 auth "127.0.0.1:$PORT" 'host NQN' ours info "$TCP?hostnqn=my%20host"
ours info "$TCP?hostnqn=nqn.2024-01.x:ü" >/dev/null
error 1 auth "127.0.0.1:$PORT" 'host NQN' ours info "$TCP?hostnqn=nqn.2024-01.x:ö"
error 1 auth "127.0.0.1:$PORT" 'host NQN' ours info "$TCP?hostnqn=nqn.2024-01.x:??"
stop
