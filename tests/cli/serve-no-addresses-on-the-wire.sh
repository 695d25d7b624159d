#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# NVMe/RDMA over software iWARP: no 64-bit number that either side sends is an address in either process.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires nbdsh

cat >proxy.py <<'EOP'
import socket, sys, threading
def pump(a, b, name):
    with open(name, "wb", buffering=0) as log:
        while data := a.recv(65536):
            log.write(data)
            b.sendall(data)
    b.shutdown(socket.SHUT_WR)
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
for n in range(100):
    a = listener.accept()[0]
    b = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    threading.Thread(target=pump, args=(a, b, f"wire.{n}.host"), daemon=True).start()
    threading.Thread(target=pump, args=(b, a, f"wire.{n}.target"), daemon=True).start()
EOP
cat >scan.py <<'EOP'
import glob, struct, sys
maps = []
for pid in sys.argv[1:]:
    for line in open(f"/proc/{pid}/maps"):
        maps.append([int(x, 16) for x in line.split()[0].split("-")])
for name in glob.glob("wire.*"):
    data = open(name, "rb").read()
    for at in range(len(data) - 7):
        for order in "<>":
            number, = struct.unpack_from(order + "Q", data, at)
            if any(low <= number < high for low, high in maps):
                sys.exit(f"{name}: {number:#x} at {at} is an address")
EOP

ready serve ram:8M --nvmf --rdma '127.0.0.1:0?rdma=iwarp' --nqn "$NQN"
target=$SERVER
cleanup_fn kill -KILL "$target"
mkfifo port
python3 proxy.py "$(sed -nE '/^rdmastor: /s#.*:([0-9]+)/.*#\1#p' out)" >port &
cleanup_fn kill $!
read -r via <port
offer "nvme+rdma://127.0.0.1:$via/$NQN?rdma=iwarp" --nbd "unix:$SOCK"
sh_nbd -c '
data = bytes(range(1, 255)) * 512
h.pwrite(data[:65536], 0)
h.flush()
assert h.pread(65536, 0) == data[:65536]
h.pwrite(data[:512], 1 << 20)
assert h.pread(512, 1 << 20) == data[:512]'
[ "$(cat wire.*.host wire.*.target | wc -c)" -gt 150000 ] || die 'not all went through the proxy'
python3 scan.py "$target" "$SERVER" || die 'an address was sent'
stop
