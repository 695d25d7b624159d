#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# status lists what this machine serves and exports: clients and bytes are counted, a process that is stopped or of another user
# is reported, a killed one leaves nothing behind.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires applet:status jq
set -e

# of FILTER: of the object of that process in the list
of() { ours status --json >json && jq -r --argjson pid "$1" ".serving[] | select(.pid == \$pid) | $2" json; }
until_is() { # PID FILTER EXPECTED
	wait_until is "$@"
}
is() { [ "$(of "$1" "$2")" = "$3" ]; }

truncate -s 64M disk.img
random_file src 3
serve disk.img --nvmf --nqn "$NQN" --tcp 127.0.0.1:0 --rdma '127.0.0.1:0?rdma=iwarp'
served=$SERVER nvme=$TCP
ended() { kill -KILL "$@" 2>/dev/null; wait "$@" 2>/dev/null; }
cleanup_fn ended "$served"
offer src ram:1M --ro --name a --name b --nbd "unix:$SOCK" --nbd 127.0.0.1:0
exported=$SERVER
cleanup_fn ended "$exported"

same applets "$(of "$served" .applet) $(of "$exported" .applet)" 'serve export'
same 'the disk' "$(of "$served" '.disks[] | "\(.uri) \(.size) \(.block_size) \(.read_only) \(.subnqn) \(.nsid)"')" "disk.img 67108864 512 false $NQN 1"
same 'its listeners' "$(of "$served" '[.listeners[] | "\(.transport) \(.traddr) \(.iwarp)"] | sort | join(", ")')" 'rdma 127.0.0.1 true, tcp 127.0.0.1 null'
of "$served" '.listeners[].trsvcid' | grep -qx "$(sed -E 's#.*:([0-9]+)/.*#\1#' <<<"$nvme")" || die "no port of $nvme: $(cat json)"
same 'the exports' "$(of "$exported" '[.disks[] | "\(.name) \(.uri) \(.read_only)"] | join(", ")')" 'a src true, b ram:1M true'
same 'their listeners' "$(of "$exported" '[.listeners[] | "\(.transport) \(.path // .traddr)"] | join(", ")')" "unix $SOCK, tcp 127.0.0.1"
same 'their states' "$(of "$exported" '[.disks[] | "\(.state) \(.paths)"] | join(", ")')" 'up [], up []'
same counts "$(of "$served" '"\(.protocol) \(.clients) \(.read_bytes) \(.written_bytes) \(.errors)"')" 'nvme 0 0 0 0'
same user "$(of "$served" .uid)" "$(id -u)"

# clients, bytes
ours copy -q src "$nvme" >copy.out
same written "$(of "$served" .written_bytes)" $((3 << 20))
ours copy -q "$URI" image >copy.out
same 'read over NBD' "$(of "$exported" '"\(.protocol) \(.read_bytes) \(.written_bytes) \(.errors) \(.reads > 0)"')" \
	'nbd 3145728 0 0 true'
mkfifo hold
"$RDMASTOR" copy -q "$URI" - >hold 2>hold.err & copy=$!
exec 8<hold
until_is "$exported" '.clients > 0' true
exec 8<&-
wait "$copy" || true
until_is "$exported" .clients 0

# rates are those of the last seconds
until_is "$exported" '.read_bytes_per_second == 0' true
"$RDMASTOR" bench "$URI" --rw read --bs 64K --runtime 3600 >/dev/null 2>&1 & load=$!
cleanup_fn ended "$load"
until_is "$exported" '.read_bytes_per_second > 0' true
ended "$load" || true
until_is "$exported" '.read_bytes_per_second == 0' true
until_is "$exported" .clients 0

# as text: a row for each disk and address, readable in 120 columns
ours status >text
grep -Eq "^disk.img +64MiB +nvme/tcp +127.0.0.1:$PORT|^disk.img +64MiB +nvme/tcp +127.0.0.1:[0-9]+ .* $served\$" text || die "$(cat text)"
grep -Eq "^ram:1M +1MiB +nbd/unix +$SOCK .*$exported\$" text || die "$(cat text)"
grep -q '^SERVING .*ADDRESS .*STATE .*CLIENTS .*ERRORS' text || die "$(cat text)"

# one of them, by the words it was given by, another path to it, its NQN, a socket; other tests' processes may have the same words
ours_among() { jq -r --argjson served "$served" --argjson exported "$exported" '.serving[].pid | select(. == $served or . == $exported)' "$1"; }
for word in disk.img ./disk.img "$PWD/disk.img" "$NQN"; do
	ours status "$word" --json >json
	same "$word" "$(ours_among json)" "$served"
done
for word in ram:1M "$SOCK"; do
	ours status "$word" --json >json
	same "$word" "$(ours_among json)" "$exported"
done
error 1 not-found 'ram:2M' 'served' ours status ram:2M

# stopped: reported, and the other one still answers
kill -STOP "$exported"
ours status --json >json
same 'the stopped one' "$(jq -r ".serving[] | select(.pid == $exported) | .error.code" json)" timeout
same 'the other one' "$(jq -r ".serving[] | select(.pid == $served) | .disks[0].uri" json)" disk.img
ours status | grep -Eq "^process $exported: " || die "not named: $(ours status)"
kill -CONT "$exported"
until_is "$exported" '.error == null' true

# another user sees only that they exist; a server of that user answers root
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && setpriv --reuid=65534 --clear-groups test -x "$RDMASTOR"; then
	chmod 755 "$TMP"
	setpriv --reuid=65534 --clear-groups "$RDMASTOR" status --json >json
	valid json
	same 'for another user' "$(jq -c "[.serving[] | select(.pid == $served) | [.error.code, .disks]]" json)" '[["permission",null]]'
	truncate -s 2M other.img
	mkfifo ready2
	setpriv --reuid=65534 --clear-groups "$RDMASTOR" export "$PWD/other.img" --ro --nbd 127.0.0.1:0 --ready-fd 3 3>ready2 >out2 2>err2 & theirs=$!
	cleanup_fn ended "$theirs"
	read -r _ <ready2
	same "another user's" "$(of "$theirs" '"\(.uid) \(.disks[0].uri)"')" "65534 $PWD/other.img"
	setpriv --reuid=65534 --clear-groups "$RDMASTOR" status --json >json
	same 'for its own user' "$(jq -r ".serving[] | select(.pid == $theirs) | .disks[0].uri" json)" "$PWD/other.img"
	ours status "$PWD/other.img" --json >json
	same 'by its text' "$(jq -r '.serving[].pid' json)" "$theirs"
	error 1 not-found ./other.img served ours status ./other.img # root looks up no path that another user reports
	kill -TERM "$theirs"
	wait "$theirs" || true
fi

# a name that is not that of the process behind it is left out
python3 -c '
import signal, socket
s = socket.socket(socket.AF_UNIX); s.bind("\0rdmastor/1"); s.listen(1)
print("up", flush=True); signal.pause()' >forged & forger=$!
cleanup_fn ended "$forger"
wait_running "$forger" test -s forged
same 'a forged name' "$(of 1 .pid)" ''
kill "$forger"
# ill PYTHON WHAT FILTER EXPECTED: a process that is not ours gives that answer to everyone who asks, which is every
# `status` on this machine
ill() {
	local liar
	rm -f liar
	python3 -c '
import os, socket, sys
s = socket.socket(socket.AF_UNIX); s.bind("\0rdmastor/%d" % os.getpid()); s.listen(9)
print(os.getpid(), flush=True)
while True:
    c, _ = s.accept()
    try: c.sendall(eval(sys.argv[1]))
    except OSError: pass
    c.close()' "$1" >liar & liar=$!
	cleanup_fn ended "$liar"
	wait_running "$liar" test -s liar
	same "$2" "$(of "$(cat liar)" "$3")" "$4"
	ended "$liar" || true
}
for answer in 'b"{}"' "b'{\"schema\":'" 'b"[" * 5000' 'b"x" * 3000000'; do
	ill "$answer" "the answer $answer" .error.code protocol
done
ill "b'{\"schema\":\"rdmastor.serve.status\",\"version\":9}'" 'another version' .error.code unsupported
ill "b'{\"schema\":\"rdmastor.x.status\",\"version\":2,\"seconds\":-1,\"serving\":[1,{\"disks\":[{\"uri\":7,\"size\":-1}],\"clients\":1e300}]}'" \
	'wrong types' '"\(.applet) \(.clients) \(.disks | length)"' 'x null 1'

# what a disk fails is counted: both files have lost their end
truncate -s 1M disk.img src
ours copy -q "$nvme" image2 2>copy.err && die 'read beyond the end of disk.img'
ours bench "$URI" --rw read --bs 64K --runtime 3600 >bench.out 2>&1 && die 'read beyond the end of src'
same 'errors of serve' "$(of "$served" '.errors > 0')" true
same 'errors of export' "$(of "$exported" '.errors > 0')" true

kill -KILL "$served" "$exported"
wait "$served" "$exported" 2>/dev/null || true
SERVER=
same 'the killed ones' "$(of "$served" .pid)$(of "$exported" .pid)" ''
