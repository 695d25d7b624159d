#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# At the port of another protocol the error names it and its disks; a missing secret is suggested only if none answers. A misspelt
# key and an incomplete one have different errors.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires python3
set -e
serve ram:1M --nvmf --nqn "$NQN" --tcp 127.0.0.1:0
disk="nvme.tcp://127.0.0.1:$PORT/$NQN"
error 1 closed "127.0.0.1:$PORT" "closed NVMe.over.TCP.answers available.there:.$disk" ours info "iscsi://127.0.0.1:$PORT/iqn.2024-01.x:d/0"
! grep -q secret error.err || die "suggests a secret: $(cat error.err)"
error 1 closed "127.0.0.1:$PORT" "$disk" ours copy --progress none "iscsi://127.0.0.1:$PORT/iqn.2024-01.x:d/0" null:
error 1 closed "127.0.0.1:$PORT" "$disk" ours bench "iscsi://127.0.0.1:$PORT/iqn.2024-01.x:d/0"
error 1 closed "127.0.0.1:$PORT" "$disk" ours export "iscsi://127.0.0.1:$PORT/iqn.2024-01.x:d/0" --nbd unix:x.sock
error 1 - "127.0.0.1:$PORT" "NVMe.over.TCP.answers $disk" ours info "iser://127.0.0.1:$PORT/iqn.2024-01.x:d/0"
error 1 timeout "127.0.0.1:$PORT" "NBD.port rdmastor.discover.127.0.0.1:$PORT" ours info --timeout 3 "nbd://127.0.0.1:$PORT/x"
stop
offer ram:1M --nbd 127.0.0.1:0 --name a
port=$(sed -nE 's#.*nbd://127.0.0.1:([0-9]+).*#\1#p' out | head -1)
error 1 protocol "127.0.0.1:$port" "PDU NBD.over.TCP.answers nbd://127.0.0.1:$port/a" ours info "nvme+tcp://127.0.0.1:$port/$NQN"
error 1 closed "127.0.0.1:$port" "NBD.over.TCP.answers nbd://127.0.0.1:$port/a" ours info "iscsi://127.0.0.1:$port/iqn.2024-01.x:d/0"
stop

# ports of no protocol of ours: one closes, the other sends a line first
python3 -c '
import socket, threading
def serve(s, line):
    while True:
        c = s.accept()[0]
        c.sendall(line)
        if line: c.recv(4096)
        c.close()
for line in b"", b"SSH-2.0-x\r\n":
    s = socket.create_server(("127.0.0.1", 0))
    print(s.getsockname()[1], flush=True)
    threading.Thread(target=serve, args=(s, line)).start()' >ports &
server=$!
cleanup_fn kill $server
wait_running $server sh -c '[ "$(wc -l <ports)" = 2 ]'
closes=$(sed -n 1p ports) chats=$(sed -n 2p ports)
error 1 closed "127.0.0.1:$closes" 'an.iSCSI.port user=NAME&secret-file=FILE' ours info "iscsi://127.0.0.1:$closes/iqn.2024-01.x:d/0"
! grep -q -e '--user' error.err || die "info has no such option: $(cat error.err)"
error 1 protocol "127.0.0.1:$chats" 'an.NVMe/TCP.port' ours info "nvme+tcp://127.0.0.1:$chats/$NQN"
error 1 protocol "127.0.0.1:$chats" 'an.NBD.port' ours info "nbd://127.0.0.1:$chats/x"
! grep -q answers error.err || die "names a service that does not answer: $(cat error.err)"

error 2 usage '.*' "unknown.key 'secret'" ours info 'iscsi://127.0.0.1/iqn.2024-01.x:d/0?user=joe&secret=x'
error 2 usage '.*' 'CHAP user secret-file=' ours info 'iscsi://127.0.0.1/iqn.2024-01.x:d/0?user=joe'
