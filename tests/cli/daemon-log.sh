#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Where a process in the background reports: to a redirected stderr, a log file that SIGHUP reopens, syslog, or the kernel's log. Messages
# of --verbose have a time.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires jq

# begin OPTION…: start a server in the background
begin() {
	rm -f pid
	"$RDMASTOR" export ram:1M --nbd "unix:$SOCK" --daemon --pid-file pid "$@" >out
	SERVER=$(cat pid)
}
end() {
	kill -TERM "$SERVER"
	wait_while test -e pid
	wait_while running "$SERVER"
	SERVER=
}
cleanup_fn end_server
: >err

"$RDMASTOR" info ram:1M -v >out 2>with_times
grep -Eq '^[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\.[0-9]{3} rdmastor info: host NQN ' with_times || die "no time: $(cat with_times)"

# --- stderr that is a file or a pipe
begin 2>err
kill -USR1 "$SERVER"
wait_until grep -q '^clients: 0$' err
grep -qx 'ram:1M: up' err || die 'no state of the disk'
end
mkfifo pipe
cat pipe >heard & reader=$!
cleanup_fn kill "$reader"
begin 2>pipe
kill -USR1 "$SERVER"
wait_until grep -q '^clients: 0$' heard
end
wait "$reader"

# --- a log file
umask 022
begin --log log --verbose 2>err
same mode "$(stat -c %a log)" 600
kill -USR1 "$SERVER"
wait_until grep -q '^clients: 0$' log
grep -Eq '^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}\.[0-9]{3} rdmastor export: ' log || die "$(cat log)"
mv log log.1
kill -HUP "$SERVER"
wait_until test -e log
kill -USR1 "$SERVER"
wait_until grep -q '^clients: 0$' log
same mode "$(stat -c %a log)" 600
mv log log.2
mkdir log
kill -HUP "$SERVER"
wait_until grep -q 'warning: log: open the log: .*keeping the old log' log.2
rmdir log
end
grep -q 'stopping: SIGTERM' log.2 || die "the old log was lost: $(cat log.2)"
[ ! -s err ] || die 'on stderr, too'
error 1 not-found nosuch/log 'open' ours export ram:1M --nbd "unix:$SOCK" --log nosuch/log
error 1 unsupported "$(ere "$TMP")" 'open' ours serve ram:1M --nvmf --tcp 127.0.0.1:0 --log "$TMP"

# --- no stderr: syslog, or the kernel's log
# in_dev DIR COMMAND…: with that folder as /dev
cat >in_dev <<'EOF'
#!/bin/bash
exec unshare -rm bash -c 'mount --bind /dev/null "$1/null" && { [ ! -e "$1/log" ] || mount --bind syslog "$1/log"; } &&
	mount --rbind "$1" /dev && shift && exec "$@"' - "$@"
EOF
chmod +x in_dev
mkdir dev with_log
: >dev/null
: >dev/kmsg
: >with_log/null
: >with_log/log
./in_dev "$PWD/dev" true 2>/dev/null || { echo 'needs mount namespaces'; exit 77; }
cat >syslogd.py <<'EOF'
import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("syslog")
print("up", flush=True)
while True: print(s.recv(65536).decode(), flush=True)
EOF
python3 syslogd.py >lines & reader=$!
cleanup_fn kill "$reader"
wait_running "$reader" test -s lines
real=$RDMASTOR
begin_in() { # DIR
	RDMASTOR=$PWD/in_dev begin_as "$PWD/$1" "$real"
}
begin_as() {
	rm -f pid
	"$RDMASTOR" "$@" export ram:1M --nbd "unix:$SOCK" --daemon --pid-file pid --verbose >out 2>/dev/null
	SERVER=$(cat pid)
}
begin_in with_log
kill -USR1 "$SERVER"
wait_running "$reader" grep -Eq "^<30>[A-Z][a-z]{2} [ 1-3][0-9] [0-9:]{8} rdmastor\[$SERVER\]: clients: 0\$" lines
pid=$SERVER
end
wait_running "$reader" grep -Eq "^<30>.* rdmastor\[$pid\]: export: stopping: SIGTERM\$" lines
begin_in dev
kill -USR1 "$SERVER"
wait_until grep -qx "<30>rdmastor\[$SERVER\]: clients: 0" dev/kmsg
end
