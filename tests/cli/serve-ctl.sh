#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# States of groups of listeners: they change what hosts get, status shows them, and every wrong use is refused.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

random_file disk 1
serve disk --nvmf --nqn "$NQN" --tcp 127.0.0.1:0 --tcp 127.0.0.2:0 --group 2 --rdma '127.0.0.3:0?rdma=iwarp' --group 2 --cntlid-range 4000-5999
second=$(sed -n 's/^rdmastor: \(.*127\.0\.0\.2:.*\)/\1/p' out)
third=$(sed -n 's/^rdmastor: \(.*127\.0\.0\.3:.*\)/\1/p' out)
reads() { ours copy -q --force "$1${2-?}loss=fail-fast" read && cmp disk read; }
ctl() { ours serve-ctl "$SERVER" ana "$@"; }

# what is reported
same text "$(ctl 2 non-optimized)" 'group 2: non-optimized, was optimized'
same json "$(ctl 2 inaccessible --json | jq -c '[.pid, .group, .access, .access_before]')" "[$SERVER,2,\"inaccessible\",\"non-optimized\"]"
wait_until grep -q 'group 2: inaccessible, was non-optimized' err
ours status --json | jq -c --argjson pid "$SERVER" '.serving[] | select(.pid == $pid).listeners[] | [.traddr, .group, .access]' >states
same states "$(sort states | xargs)" '[127.0.0.1,1,optimized] [127.0.0.2,2,inaccessible] [127.0.0.3,2,inaccessible]'
ours status | grep -q '^group 2: nvme/tcp 127\.0\.0\.2:[0-9]*: inaccessible$' || die "$(ours status)"
kill -USR1 "$SERVER"
wait_until grep -q '^reads:' err

# what hosts get
reads "$TCP"
error 1 - "$(ere "$second")" 'inaccessible' ours copy -q --force "$second?loss=fail-fast" read
error 1 - "$(ere "${third%%\?*}")" 'inaccessible' ours copy -q --force "$third&loss=fail-fast" read
ctl 2 persistent-loss >ctl.out
error 1 - "$(ere "$second")" 'persistent-loss' ours copy -q --force "$second?loss=fail-fast" read
same 'info' "$(ours info --json "$second?loss=fail-fast" 2>err.info | jq -r '.paths[0].access')" persistent-loss
ctl 2 change >ctl.out
rm read
ours copy -q --force "$second?loss=fail-fast" read 2>copy.err &
copy=$!
has_host() { ours status --json | jq -e --argjson pid "$SERVER" 'any(.serving[]; .pid == $pid and .clients > 0)' >/dev/null; }
wait_running "$copy" has_host
ctl 2 optimized >ctl.out
wait "$copy" || die "$(cat copy.err)"
cmp disk read
reads "$second"
reads "$third" '&'
[ "$(ours info --json "$second" | jq .cntlid)" -ge 4000 ] || die "$(ours info --json "$second")"

# a host with both paths
ctl 1 inaccessible >ctl.out
ours copy -q --force "$TCP?path=$second" read
cmp disk read
ctl 1 optimized >ctl.out

# every wrong use
error 1 not-found "process $SERVER" 'group.3' ours serve-ctl "$SERVER" ana 3 optimized
error 1 not-found 'process 99999999' 'no.such.process' ours serve-ctl 99999999 ana 1 optimized
error 1 not-found "process $$" 'serve' ours serve-ctl $$ ana 1 optimized
error 2 usage '' 'process.id x' ours serve-ctl x ana 1 optimized
error 2 usage '' 'group 65535' ours serve-ctl "$SERVER" ana 65536 optimized
error 2 usage '' 'state optimised persistent-loss' ours serve-ctl "$SERVER" ana 1 optimised
error 2 usage '' 'command alua' ours serve-ctl "$SERVER" alua 1 optimized
error 2 usage '' '' ours serve-ctl "$SERVER" ana 1
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod a+rx "$TMP"
	error 1 permission "process $SERVER" 'user' setpriv --reuid 65534 --clear-groups "$RDMASTOR" serve-ctl "$SERVER" ana 1 change
	reads "$TCP"
fi

# the server itself refuses another user, whatever the client checks
if [ "$(id -u)" = 0 ]; then
	python3 - "$SERVER" <<'END'
import os, socket, sys
def ask(kind, name, text):
    s = socket.socket(socket.AF_UNIX, kind)
    s.connect("\0rdmastor/" + sys.argv[1] + name)
    try:
        if text: # the report is sent, and its socket closed, without a request
            s.send(text)
        return s.recv(4096)
    except (ConnectionResetError, BrokenPipeError):
        return b""
def both():
    return ask(socket.SOCK_SEQPACKET, "/control", b"ana 1 change"), ask(socket.SOCK_STREAM, "", b"")
assert all(both()), "root is answered"
assert ask(socket.SOCK_SEQPACKET, "/control", b"ana 1 optimized").startswith(b"ok")
os.setgroups([])
os.setresuid(65534, 65534, 65534)
assert both() == (b"", b"")
END
	same 'nothing was changed' "$(ctl 1 optimized)" 'group 1: optimized, was optimized'
fi

# a stopped server; a caller that sends nothing, then garbage
kill -STOP "$SERVER"
error 1 timeout "process $SERVER" '0[.]2' ours serve-ctl "$SERVER" ana 1 change --timeout 0.2
kill -CONT "$SERVER"
same 'after a command that timed out' "$(ctl 1 optimized)" 'group 1: optimized, was optimized'
python3 - "$SERVER" <<'END'
import socket, sys
def dial():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect("\0rdmastor/%s/control" % sys.argv[1])
    return s
silent = dial()
for garbage in b"", b"x" * 63, b"x" * 64, b"x" * 60000, b"ana 1 change\0", b"ana -1 change", b"ana 1", b"ana 1 inaccessible 3", b"ana 65537000 optimized", b"ana 1 " + b"y" * 50, b"%s%n":
    s = dial()
    s.send(garbage)
    answer = s.recv(4096)
    assert not answer.startswith(b"ok"), (garbage, answer)
assert silent.recv(1) == b""
END
ctl 1 optimized >ctl.out
stop

# a group of listeners of all protocols: iSCSI's are its portal groups
IQN=iqn.2024-01.lab:d
ready serve disk --nvmf --nqn "$NQN" --tcp 127.0.0.1:0 --group 3 --iscsi --tcp 127.0.0.1:0 --tcp 127.0.0.2:0 --group 3 --iqn $IQN \
	--srp --rdma '127.0.0.1:0?rdma=iwarp' --group 3
uri() { sed -n "s#^rdmastor: *\\($1://$2:.*\\)#\\1#p" out; }
nvme=$(uri nvme+tcp 127.0.0.1)
first=$(uri iscsi 127.0.0.1)
second=$(uri iscsi 127.0.0.2)
srp=$(uri srp+cm 127.0.0.1)
ours iser-discover "${first%/iqn*}" >portals
grep -qx "127.0.0.1:[0-9]*,1 $IQN" portals && grep -qx "127.0.0.2:[0-9]*,3 $IQN" portals || die "$(cat portals)"
grep -q 'iscsistart .* -a 127.0.0.2 .* -g 3$' out || die "$(cat out)"
for state in inaccessible:unavailable persistent-loss:offline; do
	same "${state%:*}" "$(ctl 3 "${state%:*}" | sed 's/,.*//')" "group 3: ${state%:*}"
	reads "$first"
	error 1 - '.*127.*' "${state#*:}" ours copy -q --force "$second?loss=fail-fast" read
	error 1 - '.*127.*' "${state#*:}" ours copy -q --force "$srp&loss=fail-fast" read
	error 1 - "$(ere "$nvme")" "${state%:*}" ours copy -q --force "$nvme?loss=fail-fast" read
done
ctl 3 change >ctl.out
ours status --json | jq -c --argjson pid "$SERVER" '.serving[] | select(.pid == $pid) | .protocol as $p | .listeners[] | [$p, .group, .access]' >states
same states "$(sort -u states | xargs)" '[iscsi,1,optimized] [iscsi,3,change] [nvme,3,change] [srp,3,change]'
copies=()
for uri in "$second?" "$srp&" "$nvme?"; do
	ours copy -q --force "${uri}loss=fail-fast" "read.${#copies[@]}" &
	copies+=($!)
done
all_have_hosts() { ours status --json | jq -e --argjson pid "$SERVER" 'all(.serving[] | select(.pid == $pid); .clients > 0)' >/dev/null; }
for copy in "${copies[@]}"; do wait_running "$copy" all_have_hosts; done
ctl 3 non-optimized >ctl.out
for copy in "${copies[@]}"; do wait "$copy" || die "a copy failed"; done
for i in 0 1 2; do cmp disk "read.$i"; done
reads "$second"
reads "$srp" '&'
reads "$nvme"
stop

# an export has no groups
ready export disk --nbd 127.0.0.1:0
error 1 unsupported "process $SERVER" 'groups serve' ours serve-ctl "$SERVER" ana 1 optimized
stop
