#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# nvmf-discover on a port with another service, or one that never answers: the error says so, for a silent one after --timeout.
. "$(dirname "$0")/lib.sh"
requires jq python3
python3 - >ports <<'PY' &
import signal, socket, threading
def serve(sock, greeting):
    keep = []
    while True:
        conn, _ = sock.accept()
        conn.sendall(greeting)
        keep.append(conn)
socks = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(s.getsockname()[1] for s in socks), flush=True)
for s, g in zip(socks, (b"SSH-2.0-OpenSSH_9.2\r\n", b"")):
    threading.Thread(target=serve, args=(s, g), daemon=True).start()
signal.pause()
PY
cleanup_fn kill $!
wait_running $! test -s ports
read -r ssh mute <ports
error 1 protocol "127.0.0.1:$ssh" NVMe/TCP "$RDMASTOR" nvmf-discover -t tcp -a 127.0.0.1 -s "$ssh"
start=${EPOCHREALTIME/./}
error 1 timeout "127.0.0.1:$mute" 'ICReq NVMe/TCP' \
	"$RDMASTOR" nvmf-discover -t tcp -a 127.0.0.1 -s "$mute" --timeout 3
took=$((${EPOCHREALTIME/./} - start))
[ $took -gt 2900000 ] || die "took $took us"
