#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Servers that root starts run as nobody without any privilege, with every protocol. What needs the caller's rights later still works:
# logs, secrets, sockets and folders that only root can reach, the command of --run, reconnects, the end. --user; what stays root, and why.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires python3 jq nbdkit nbdsh setpriv unshare
set -e
[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
chmod 700 "$TMP"
nobody=$(id -u nobody)
group=$(id -g nobody)
all=$(sed -n 's/^CapEff:\t//p' /proc/self/status)

# of KEY PID|FILE: the values of a line of its status
of() {
	local file=$2
	[ -e "$file" ] || file=/proc/$2/status
	sed -n "s/^$1:[[:blank:]]*//p" "$file" | tr -s '\t ' ' ' | sed 's/ $//'
}
ids() { echo "$1 $1 $1 $1"; }
# sets PID|FILE EFFECTIVE BOUNDING: its capabilities
sets() {
	local key
	for key in CapPrm CapEff; do same "$key" "$(of $key "$1")" "$2"; done
	for key in CapInh CapAmb; do same "$key" "$(of $key "$1")" 0000000000000000; done
	same CapBnd "$(of CapBnd "$1")" "$3"
	same NoNewPrivs "$(of NoNewPrivs "$1")" 1
}
# is_nobody PID [CAPABILITIES]: all its threads are, and it has no folder
is_nobody() {
	local task folders
	for task in "/proc/$1/task/"*; do
		cat "$task/status" >thread 2>/dev/null || continue # it has ended
		same Uid "$(of Uid thread)" "$(ids "$nobody")"
		same Gid "$(of Gid thread)" "$(ids "$group")"
		same Groups "$(of Groups thread)" ''
		sets thread "${2:-0000000000000000}" 0000000000000000
	done
	folders=$(find "/proc/$1/fd" -lname '/*' -exec test -d {} ';' -print)
	same "folders that it keeps" "$folders" ""
	same "owner of /proc/PID, as nobody can trace it" "$(stat -c %u "/proc/$1/mem")" 0
}
helper_of() { pgrep -P "$1" || true; }

# --- every protocol; the image is in a folder of root
truncate -s 4M disk
chmod 600 disk
serve disk --nvmf --tcp 127.0.0.1:0
is_nobody "$SERVER"
helper=$(helper_of "$SERVER")
stop
wait_while running "${helper:-0}"
for front in '--iscsi --tcp 127.0.0.1:0' '--srp --rdma 127.0.0.1:0?rdma=iwarp' '--nvmf --rdma 127.0.0.1:0?rdma=iwarp --iscsi --tcp 127.0.0.1:0'; do
	# shellcheck disable=SC2086 # words
	serve disk $front
	is_nobody "$SERVER"
	stop
done
for address in "unix:$SOCK" 127.0.0.1:0; do
	offer disk --nbd "$address"
	is_nobody "$SERVER"
	stop
	[ ! -e "$SOCK" ] || die 'the socket is left'
done
"$RDMASTOR" bench --listen 127.0.0.1:0 --tcp >out 2>err & SERVER=$!
wait_running "$SERVER" grep -q listening out
is_nobody "$SERVER"
stop
"$RDMASTOR" bench --listen 127.0.0.1:0 --numjobs 2 --user root >out 2>err & SERVER=$!
wait_running "$SERVER" grep -q listening out
same Uid "$(of Uid "$SERVER")" "$(ids 0)"
stop
error 2 usage '' '--user.*--listen' ours bench ram:1M --user nobody

# --- data, growth, log, pid file, status; a second signal; SIGKILL
offer disk --nbd "unix:$SOCK" --log log --pid-file pid
sh_nbd -c 'h.pwrite(b"A" * 4096, 8192); h.flush()'
same 'what was written' "$(dd if=disk bs=4096 skip=2 count=1 status=none | tr -d A | wc -c)" 0
same 'owner of the pid file' "$(stat -c %u pid)" 0
same 'process of the pid file' "$(cat pid)" "$SERVER"
truncate -s 6M disk
wait_until grep -q 'new size: 6' log
mv log log.1
kill -HUP "$SERVER"
wait_until test -e log
truncate -s 8M disk
wait_until grep -q 'new size: 8' log
same 'mode and owner of the log' "$(stat -c %a:%u log)" 600:0
ours status --json | jq -e --argjson pid "$SERVER" '.serving[] | select(.pid == $pid) | .uris // .disks' >/dev/null || die "not in status"
same 'socket' "$(stat -c %a:%u "$SOCK")" 600:0
stop
[ ! -e pid ] && [ ! -e "$SOCK" ] || die 'files are left'
offer ram:1M --nbd "unix:$SOCK" --pid-file pid
helper=$(helper_of "$SERVER")
[ -n "$helper" ] || die 'no helper'
same 'Uid of the helper' "$(of Uid "$helper")" "$(ids 0)"
end_server
wait "$SERVER" 2>/dev/null || true
wait_while running "$helper"
offer ram:1M --nbd "unix:$SOCK" --pid-file pid
stop
"$RDMASTOR" export ram:1M --nbd "unix:$SOCK" --daemon --pid-file pid >out 2>err
SERVER=$(cat pid)
is_nobody "$SERVER"
kill "$SERVER"
wait_while test -e pid
SERVER=

# --- secrets that only root can read, on both sides; new ones on SIGHUP
"$RDMASTOR" nvme gen-dhchap-key >key 2>/dev/null
"$RDMASTOR" nvme gen-dhchap-key >other 2>/dev/null
chmod 600 key other
echo "$HOST dhchap=$(cat key)" >hosts
chmod 600 hosts
serve ram:1M --nvmf --tcp 127.0.0.1:0 --nqn "$NQN" --hosts-file hosts
target=$SERVER
is_nobody "$target"
offer "$TCP?hostnqn=$HOST&dhchap-secret-file=$PWD/key" --nbd "unix:$SOCK"
is_nobody "$SERVER"
sh_nbd -c 'h.pread(4096, 0)'
stop
echo "$HOST dhchap=$(cat other)" >hosts
kill -HUP "$target"
wait_until ours info "$TCP?hostnqn=$HOST&dhchap-secret-file=$PWD/other" >/dev/null 2>&1
error 1 auth '.*' '' ours info "$TCP?hostnqn=$HOST&dhchap-secret-file=$PWD/key"
ours serve-ctl "$target" ana 1 inaccessible >/dev/null
ours serve-ctl "$target" ana 1 optimized >/dev/null
kill "$target"
wait "$target"

echo "iqn.2024-01.test:i user=joe secret=longenough1234" >initiators
chmod 600 initiators
serve ram:1M --iscsi --tcp 127.0.0.1:0 --initiators-file initiators
echo "iqn.2024-01.test:j user=joe secret=longenough1234" >>initiators
kill -HUP "$SERVER"
wait_until grep -q 'initiators: 2 initiators' err
stop

# --- a server's socket that only root can reach, which is replaced
truncate -s 1M image
kit file image
offer "$URI" --nbd 127.0.0.1:0 --on-loss 60
is_nobody "$SERVER"
ours=$(sed -nE 's/.*(nbd:[^,]*),.*/\1/p' out | head -1)
nbdsh -u "$ours" -c 'h.pwrite(b"B" * 512, 0)'
down KILL || true
rm "$SOCK"
kit file image
nbdsh -u "$ours" -c 'assert h.pread(512, 0) == b"B" * 512'
stop
down || true

# --- the command of --run
"$RDMASTOR" export ram:1M --run 'id -u; grep NoNewPrivs /proc/self/status; nbdinfo --size "$uri"' >out
same 'what --run is' "$(tr -s '\t\n' '  ' <out)" '0 NoNewPrivs: 0 1048576 '

"$RDMASTOR" export ram:1M --run 'echo $$ >command.new; mv command.new command; exec sleep infinity' >out 2>err & SERVER=$!
wait_running "$SERVER" test -e command
command=$(cat command)
helper=$(pgrep -x -P "$SERVER" rdmastor-helper)
[ -n "$(find "/proc/$helper/fd" -lname '*pidfd*')" ] || die "the helper signals a number: $(ls -l "/proc/$helper/fd")"
kill "$SERVER"
wait "$SERVER" || true
wait_while running "$command"
SERVER=

# --- users
error 1 not-found '--user nosuch' 'nosuch' ours serve ram:1M --nvmf --tcp 127.0.0.1:0 --user nosuch
error 2 usage '.*' 'block.devices.*root' ours export ram:1M --ublk --user nobody
as_nobody() { setpriv --reuid "$nobody" --regid "$group" --clear-groups "$@"; }
exec 9<"$RDMASTOR" # whose folder others may not reach
as_nobody /proc/self/fd/9 serve ram:1M --nvmf --tcp 127.0.0.1:0 --user root >out 2>err && die 'nobody became root'
grep -q 'only root can become' err || die "$(cat err)"
offer disk --nbd "unix:$SOCK" --user 4711 --verbose
grep -q 'runs as user 4711 (4711)' err || die "$(cat err)"
grep -q 'no seccomp' err || same Seccomp "$(of Seccomp "$SERVER")" 2
same Uid "$(of Uid "$SERVER")" "$(ids 4711)"
same Gid "$(of Gid "$SERVER")" "$(ids 4711)"
sets "$SERVER" 0000000000000000 0000000000000000
stop
offer disk --nbd "unix:$SOCK" --user root
same Uid "$(of Uid "$SERVER")" "$(ids 0)"
same CapEff "$(of CapEff "$SERVER")" "$all"
same NoNewPrivs "$(of NoNewPrivs "$SERVER")" 1
same helpers "$(helper_of "$SERVER")" ''
stop

# a low port: only that
if ! grep -q . /proc/sys/net/ipv4/ip_unprivileged_port_start || [ "$(cat /proc/sys/net/ipv4/ip_unprivileged_port_start)" -gt 900 ]; then
	serve ram:1M --nvmf --tcp 127.77.0.9:900
	is_nobody "$SERVER" 0000000000000400
	stop
fi

# where only one user exists
if unshare -r true 2>/dev/null; then
	offer_in() { RDMASTOR=$PWD/in_ns offer "$@"; }
	printf '#!/bin/bash\nexec unshare -r "%s" "$@"\n' "$RDMASTOR" >in_ns
	chmod +x in_ns
	offer_in disk --nbd "unix:$SOCK"
	[ ! -s err ] || die "a message: $(cat err)"
	stop
	offer_in disk --nbd "unix:$SOCK" --verbose
	grep -q 'runs as root without capabilities' err || die "$(cat err)"
	sets "$SERVER" 0000000000000000 0000000000000000
	sh_nbd -c 'h.pread(512, 0)'
	stop
fi
