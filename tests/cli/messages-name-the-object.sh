#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# An error names the option that is wrong or missing, or the user's own words; one cause has one code.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires jq
set -e
x() { fails "$1" "$2" "$RDMASTOR" "${@:3}"; }
hint() { grep -Eq "^hint: .*$1" fails.err || die "no hint with '$1': $(cat fails.err)"; }
code() { # CODE WORD…
	ours "${@:2}" --json >code.out 2>/dev/null || true
	same "${*:2}: its code" "$1" "$(jq -r .error.code code.out)"
}

# shellcheck disable=SC2086 # words
for applet in nvmf-discover 'nvmf-connect -n nqn.x'; do
	x 2 ": --transport is missing" $applet -a 10.0.0.1
	hint tcp
	x 2 ": --traddr is missing" $applet -t tcp
	x 2 ": no target given: .*URI.*--transport and --traddr" $applet
	x 2 'trsvcid: must be 1 to 65535$' $applet -t tcp -a 10.0.0.1 -s 0
	x 2 'trsvcid: must be 1 to 65535$' $applet -t tcp -a 10.0.0.1 -s 65536
done
x 2 ': --transport is missing' nvmf-connect-all -a 10.0.0.1
x 2 '^rdmastor nvmf-discover: 10.0.0.1: .*expected an IP address' nvmf-discover -t tcp -a 10.0.0.1 -w no-such-host.invalid
x 2 "^rdmastor iser-discover: 10.0.0.1:99999: '99999' is not a port" iser-discover 10.0.0.1:99999
x 2 "^rdmastor iser-login: --portal 10.0.0.1:99999: '99999' is not a port" iser-login -T iqn.x:a -p 10.0.0.1:99999
x 2 '^rdmastor nfsrdma-discover: -p: must be' nfsrdma-discover -p 0 10.0.0.1
x 2 "path=127.0.0.1:99999.*'99999' is not a port" info 'nvme+tcp://127.0.0.1:1/nqn.x/1?path=127.0.0.1:99999'
x 2 "^rdmastor nvmf-connect: --dhchap-ctrl-secret-fd: 'x'" nvmf-connect -t tcp -a 127.0.0.1 -n nqn.x --dhchap-ctrl-secret-fd x
x 2 "--secret-fd: 'x'" iser-discover 127.0.0.1 -u joe --secret-fd x
x 2 'ram:0: size must be a positive multiple' info ram:0
x 2 'ram:: the size is missing: ram:SIZE' info ram:
x 2 'null:: the size is missing: null:SIZE' info null:

# what no userspace opens, and what nothing does
x 1 "'iser:' is only supported through the kernel" info iser://10.0.0.1/iqn.x/1
hint "rdmastor iser-login 'iser://10.0.0.1/iqn.x/1'"
x 1 "'srp:' is only" info srp://1/2/3
hint 'rdmastor srp-connect'
x 1 "'nfs\\+rdma:' is only" info nfs+rdma://10.0.0.1/exp
hint 'rdmastor nfsrdma-mount'
x 2 "unknown scheme 'foo:'" info foo://x
hint 'nvme\+tcp:.*file:'

# one cause, one code
code no-device info 'nvme+tcp://127.0.0.1:1/nqn.x/1?iface=none0'
code no-device info 'nvme+tcp://[fe80::1%none0]/nqn.x/1'
x 1 "no network interface 'none0'" info 'nvme+tcp://127.0.0.1:1/nqn.x/1?iface=none0'
x 1 "no network interface 'none0'" info 'nvme+tcp://[fe80::1%none0]/nqn.x/1'

# a target of ours: namespaces that exist, a way out of write protection, and who was asked as
ready serve ram:1M ram:1M ram:1M --nvmf --nqn "$NQN" --nqn "$NQN" --nqn "$NQN" --ro --tcp 127.0.0.1:0
TCP=$(sed -n 's/^rdmastor: \(nvme+tcp:.*\)/\1/p' out | head -1)
x 1 'no namespace 7; it has 1, 2, 3$' info "${TCP%/*}/$NQN/7"
code not-found info "${TCP%/*}/$NQN/7"
x 1 'write protected' export "${TCP%/*}/$NQN/2" --nbd "unix:$TMP/x.sock"
hint '--ro'
stop
serve ram:1M --nvmf --nqn "$NQN" --tcp 127.0.0.1:0 --allow-host "$HOST"
ours nvmf-discover --hostnqn nqn.2024-01.test:other "nvme+tcp://127.0.0.1:$PORT" 2>discover.err >/dev/null || true
grep -q 'no subsystems for host NQN nqn.2024-01.test:other' discover.err || die "discovery names no host: $(cat discover.err)"
stop
