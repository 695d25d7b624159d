#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# nfsrdma-discover: what it prints of a server that answers over TCP only, partly done; wrong calls, and servers that answer wrongly.
. "$(dirname "$0")/lib.sh"
requires jq python3 unshare
d="$RDMASTOR nfsrdma-discover"
# shellcheck disable=SC2086 # several words
{
	error 2 usage '' '\<HOST\> missing|expected|given' $d
	error 2 usage '' "'nvme[+]rdma://127.0.0.1' nfs[+]rdma:" $d nvme+rdma://127.0.0.1
	error 2 usage '' '^-p 65535' $d -p 0 127.0.0.1
	error 2 usage '' '--tcp-port 65535' $d --tcp-port 65536 127.0.0.1
	error 2 usage '' "'1.2.3' IP" $d 1.2.3
	error 2 usage '' "'127.0.0.1:/exp' export" $d 127.0.0.1:/exp
	error 2 usage '' "'-e' showmount" $d -e 127.0.0.1
}
unshare -rn true 2>/dev/null || { echo 'needs network namespaces of its own for the rest'; exit 77; }
export d top

# asked HOW OPTION…: of a server that errs so
# shellcheck disable=SC2016 # the inner shell's
asked() {
	rm -f listening
	how=$1 unshare -rn bash -c 'ip link set lo up 2>/dev/null || ifconfig lo up; python3 "$top/tests/cli/nfs_server.py" $how & server=$!
		wait_until test -e listening
		$d "$@" 127.0.0.1 >out 2>err; status=$?; kill -9 $server; exit $status' - "${@:2}"
}
asked ''
[ $? = 3 ] || die "status $?: $(cat err)"
grep -Eq '^rdma +127.0.0.1:20049\>' out || die "no word of RDMA: $(cat out)"
same 'lines of text' "$(wc -l <out)" 7
for line in 'tcp +127.0.0.1:2049: .*4\.1, 4\.0' 'export +/exp .*' \
	'export +/on\?ly .*10\.0\.0\.7,@friends' 'path +/' 'path +/exp' 'path +/srv/data'; do
	grep -Eqx "$line" out || die "no '$line' in: $(cat out)"
done
asked '' --json
valid out
jq -e '.transports[1] == {transport: "tcp", traddr: "127.0.0.1", trsvcid: "2049", answers: true, versions: ["4.1", "4.0"]} and
	(.transports[0] | .answers == false and .error.errno) and .mount.trsvcid == "20048" and
	.mount.exports[1] == {path: "/on\u001bly", allowed_clients: ["10.0.0.7", "@friends"], allowed_total: 2} and
	.tree == {directories: ["/", "/exp", "/srv/data"], more: false} and .error.object == "127.0.0.1"' out >/dev/null || die "JSON: $(cat out)"
asked short -v
[ $? = 3 ] && grep 'export.*mount' err | grep -q malformed || die "a short list: $(cat err)"
asked xid --json
status=$?
[ $status = 1 ] || die "a wrong number: status $status"
valid out
jq -e '.transports[1] | .answers == false and .error.code == "protocol" and .error.object == "127.0.0.1:2049"' out >/dev/null ||
	die "a wrong number: $(cat out err)"
exit 0
