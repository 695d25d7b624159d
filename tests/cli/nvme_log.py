# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A discovery controller over NVMe/TCP. nvme_log.py SUBSYSTEMS PORT: its log has many subsystems, and at its end one referral to that
# port; it prints the port on which it listens itself. nvme_log.py log PORT RECORD...: the log has these records, each
# TRANSPORT,SUBTYPE,ADDRESS,PORT,NQN with the numbers of the specification; it listens on that port.
import socket, struct, sys, threading

def record(transport, subtype, address, port, nqn):
    page = bytearray(1024)
    page[0:3] = bytes([int(transport), 1, int(subtype)])
    struct.pack_into("<HHH", page, 4, 1, 0xFFFF, 32)
    page[32:64], page[256:512], page[512:768] = port.encode().ljust(32), nqn.encode().ljust(256, b"\0"), address.encode().ljust(256)
    return bytes(page)

if sys.argv[1] == "log":
    port, records = int(sys.argv[2]), [r.split(",", 4) for r in sys.argv[3:]]
else:
    port, records = 0, [(3, 2, "127.0.0.1", "4420", f"nqn.{i}") for i in range(int(sys.argv[1]))]
    records.append((3, 1, "127.0.0.1", sys.argv[2], "nqn.2014-08.org.nvmexpress.discovery"))

def log():
    return struct.pack("<QQH", 1, len(records), 0).ljust(1024, b"\0") + b"".join(record(*r) for r in records)

def identify():
    page = bytearray(4096)
    page[4:24], page[24:64], page[64:72] = b"LOG".ljust(20), b"log".ljust(40), b"1".ljust(8)
    page[77], page[111] = 8, 2
    struct.pack_into("<HI", page, 78, 1, 0x10400)
    struct.pack_into("<I", page, 1792, 4)
    struct.pack_into("<I", page, 1796, 1)
    return bytes(page)

def serve(s):
    f = s.makefile("rb")
    def reply(cid, result=0):
        s.sendall(struct.pack("<BBBBI", 5, 0, 24, 0, 24) + struct.pack("<QHHHH", result, 0, 0, cid, 0))
    def give(cid, data):
        s.sendall(struct.pack("<BBBBI", 7, 4, 24, 24, 24 + len(data)) + struct.pack("<HHIII", cid, 0, 0, len(data), 0) + data)
        reply(cid)
    f.read(128)
    s.sendall(struct.pack("<BBBBIHBBI", 1, 0, 128, 0, 128, 0, 0, 0, 131072).ljust(128, b"\0"))
    while head := f.read(8):
        c = f.read(struct.unpack("<I", head[4:])[0] - 8)
        opcode, cid, length = c[0], struct.unpack_from("<H", c, 2)[0], struct.unpack_from("<I", c, 32)[0]
        if opcode == 0x7F and c[4] == 4:
            off = struct.unpack_from("<I", c, 44)[0]
            reply(cid, {0: 127 | 1 << 16 | 30 << 24 | 1 << 37, 0x1C: 1}.get(off, 0))
        elif opcode == 0x7F:
            reply(cid, 1)
        elif opcode == 6:
            give(cid, identify())
        elif opcode == 2:
            at = struct.unpack_from("<Q", c, 48)[0]
            give(cid, pages[at : at + length])
        else:
            reply(cid)

pages = log()
listener = socket.create_server(("127.0.0.1", port))
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
