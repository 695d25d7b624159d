#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# What a service manager gives to export and serve: listening sockets, of systemd-socket-activate and others, which are used and left;
# wrong ones, each refused with its reason; and SIGHUP, which stops no server that a manager started.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires python3 nbdcopy systemd-socket-activate jq

# "${with[@]}" SOCKETS COMMAND…: run it with these sockets from descriptor 3 on, @0 in its words being the address of the first one
cat >with.py <<'END'
import os, socket, sys
held, at = [], []
for kind in sys.argv[1].split(','):
    if kind == 'file':
        held.append(os.open('disk', os.O_RDONLY))
        at.append('')
        continue
    if kind == 'closed':
        break
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM if kind == 'udp' else socket.SOCK_STREAM)
    s.bind(('127.0.0.1', 0))
    if kind == 'tcp':
        s.listen()
    held.append(s.detach())
    at.append('127.0.0.1:%d' % socket.socket(fileno=os.dup(held[-1])).getsockname()[1])
held = [os.dup2(fd, 30 + i) for i, fd in enumerate(held)]
for i, fd in enumerate(held):
    os.dup2(fd, 3 + i, inheritable=True)
    os.close(fd)
os.closerange(3 + len(held), 30)
os.environ['LISTEN_PID'] = os.environ.get('OF', str(os.getpid()))
os.environ['LISTEN_FDS'] = os.environ.get('NUMBER', str(len(sys.argv[1].split(','))))
args = sys.argv[2:]
for i, a in enumerate(at):
    args = [arg.replace('@%d' % i, a) for arg in args]
os.execv(args[0], args)
END
with=(python3 with.py)

# started COMMAND…: start it in the background, with the process ID of the server in SERVER, and wait until it is ready
started() {
	"$@" >out 2>err &
	SERVER=$!
	cleanup_fn end_server
	wait_running "$SERVER" grep -q '"pid"' out
}

random_file disk 4

# systemd's own program: it opens the socket, starts the server at the first connection, and removes nothing
systemd-socket-activate -l "$SOCK" "$RDMASTOR" export disk --nbd "unix:$SOCK" >out 2>err &
SERVER=$!
cleanup_fn end_server
wait_running "$SERVER" test -S "$SOCK"
inode=$(stat -c %i "$SOCK")
nbdcopy "$URI" back
cmp disk back
stop
same "the socket's file" "$(stat -c %i "$SOCK")" "$inode"

# TCP, two listeners; a child does not see what was for its parent
started "${with[@]}" tcp,tcp "$RDMASTOR" export disk --json --nbd @0 --nbd @1
for uri in $(jq -r '.listeners[].nbd_uri' out); do
	rm -f back
	nbdcopy "$uri" back
	cmp disk back
done
stop
"${with[@]}" tcp "$RDMASTOR" export disk --nbd @0 --run env >words 2>err || die "$(cat err)"
grep -q '^uri=' words
! grep '^LISTEN_' words || die 'a command is told of sockets'

# NVMe/TCP and software iWARP share a port
started "${with[@]}" tcp "$RDMASTOR" serve disk --json --nvmf --tcp @0 --rdma '@0?rdma=iwarp'
for transport in tcp rdma; do
	rm -f back
	ours copy -q "$(jq -r ".. | strings | select(startswith(\"nvme+$transport:\"))" out | head -n 1)" back
	cmp disk back
done
stop

# what is wrong with them
export_with() { "${with[@]}" "$1" "$RDMASTOR" export --json disk --nbd "${2:-@0}"; }
error 2 usage '' 'descriptor.3 listening ListenStream=' export_with udp
error 2 usage '' 'descriptor.3 listening ListenStream=' export_with bound
error 2 usage '' 'descriptor.4 listening ListenStream=' export_with tcp,file
error 2 usage '' 'descriptor.4 listening ListenStream=' export_with tcp,closed
error 2 usage '' 'descriptor.4 127.0.0.1:[0-9]+ no.option' export_with tcp,tcp
error 2 usage '' 'descriptor.3 127.0.0.1:[0-9]+ no.option' export_with tcp 127.0.0.1:0
NUMBER=x error 2 usage LISTEN_FDS x export_with tcp
NUMBER=65 error 2 usage LISTEN_FDS 64 export_with tcp
# those for another process are left alone, and in the way
OF=1 error 1 busy '.*' '' export_with tcp

# SIGHUP with nothing to read again: a manager's server stays, another one stops
cat >notified.py <<'END'
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind('notify')
while True:
    print(s.recv(4096).decode(), flush=True)
END
python3 notified.py >notified &
cleanup_fn kill $!
wait_until test -S notify
NOTIFY_SOCKET=$PWD/notify offer disk --nbd "unix:$SOCK.2"
wait_until grep -q '^READY=1' notified
kill -HUP "$SERVER"
rm -f back
nbdcopy "nbd+unix:///?socket=$SOCK.2" back
cmp disk back
running "$SERVER" || die 'SIGHUP has stopped the server of a manager'
stop
