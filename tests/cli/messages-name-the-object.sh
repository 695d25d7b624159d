#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# An error names the option that is wrong or missing, or the user's own argument; one cause has one code.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires jq
set -e
x() { error "$1" "$2" "$3" "$4" "$RDMASTOR" "${@:5}"; }
hint() { grep -Eq "^hint: .*$1" error.err || die "no hint with '$1': $(cat error.err)"; }

# shellcheck disable=SC2086 # words
for applet in nvmf-discover 'nvmf-connect -n nqn.x'; do
	x 2 usage '' --transport $applet -a 10.0.0.1
	hint tcp
	x 2 usage '' --traddr $applet -t tcp
	hint ADDRESS
	x 2 usage '' 'URI --transport --traddr' $applet
	x 2 usage '' 'trsvcid 65535' $applet -t tcp -a 10.0.0.1 -s 0
	x 2 usage '' 'trsvcid 65535' $applet -t tcp -a 10.0.0.1 -s 65536
done
x 2 usage '' --transport nvmf-connect-all -a 10.0.0.1
hint tcp
x 2 usage '' "--host-traddr 'no-such-host.invalid' IP.address" \
	nvmf-discover -t tcp -a 10.0.0.1 -w no-such-host.invalid
x 2 usage 10.0.0.1:99999 "'99999'" iser-discover 10.0.0.1:99999
x 2 usage '--portal 10.0.0.1:99999' "'99999'" iser-login -T iqn.x:a -p 10.0.0.1:99999
x 2 usage '' '-p 65535' nfsrdma-discover -p 0 10.0.0.1
uri='nvme+tcp://127.0.0.1:1/nqn.x/1?path=127.0.0.1:99999'
x 2 usage "$(ere "$uri")" "path= '99999'" info "$uri"
x 2 usage '' "--dhchap-ctrl-secret-fd 'x'" \
	nvmf-connect -t tcp -a 127.0.0.1 -n nqn.x --dhchap-ctrl-secret-fd x
x 2 usage '' "--secret-fd 'x'" iser-discover 127.0.0.1 -u joe --secret-fd x
x 2 usage ram:0 512 info ram:0
x 2 usage ram: ram:SIZE info ram:
x 2 usage null: null:SIZE info null:
x 2 usage 'ram:1M[?]colour=red' "'colour'" info 'ram:1M?colour=red'
hint 'block'
mkfifo pipe
x 2 usage pipe '' info pipe
hint 'rdmastor copy - '
x 2 usage pipe '' copy ram:1M pipe
hint 'rdmastor copy .* - '

# what no userspace opens, and what nothing does
x 2 usage srp://1/2/3 "'1' GID" info srp://1/2/3
x 1 unsupported 'nfs[+]rdma://10.0.0.1/exp' "'nfs[+]rdma:' kernel" info nfs+rdma://10.0.0.1/exp
hint 'rdmastor nfsrdma-mount'
x 2 usage foo://x "'foo:'" info foo://x
hint 'nvme\+tcp:.*file:'

# one cause, one code
for uri in 'nvme+tcp://127.0.0.1:1/nqn.x/1?iface=none0' 'nvme+tcp://[fe80::1%none0]/nqn.x/1'; do
	x 1 no-device "$(ere "$uri")" "interface 'none0'" info "$uri"
done

# a target of ours: namespaces that exist, a way out of write protection, and who was asked as
ready serve ram:1M ram:1M ram:1M --nvmf --nqn "$NQN" --nqn "$NQN" --nqn "$NQN" --ro --tcp 127.0.0.1:0
TCP=$(sed -n 's/^rdmastor: \(nvme+tcp:.*\)/\1/p' out | head -1)
x 1 not-found '127.0.0.1:[0-9]+' 'namespace.7\> \<1,.2,.3$' info "${TCP%/*}/$NQN/7"
x 1 permission '127.0.0.1:[0-9]+' 'namespace.2\>' export "${TCP%/*}/$NQN/2" --nbd "unix:$TMP/x.sock"
hint '--ro'
stop
serve ram:1M --nvmf --nqn "$NQN" --tcp 127.0.0.1:0 --allow-host "$HOST"
ours nvmf-discover --hostnqn nqn.2024-01.test:other "nvme+tcp://127.0.0.1:$PORT" 2>discover.err >/dev/null || true
grep -q 'nqn.2024-01.test:other' discover.err || die "discovery names no host: $(cat discover.err)"
stop
