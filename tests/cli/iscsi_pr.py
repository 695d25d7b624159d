#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# iscsi_pr.py PORT TARGET INITIATOR COMMAND [NUMBER…]: one command of an iSCSI initiator (RFC 7143) whose initiator port is always the same,
# as that of a host that has restarted; prints "good", "conflict" or the sense data, and what was read.
#   register KEY NEW APTPL | reserve KEY TYPE | release KEY TYPE | keys | capabilities | write
import socket, struct, sys

port, target, initiator, command = int(sys.argv[1]), *sys.argv[2:5]
numbers = [int(n, 0) for n in sys.argv[5:]]
sock = socket.create_connection(("127.0.0.1", port))


def read(n):
    data = b""
    while len(data) < n:
        got = sock.recv(n - len(data))
        assert got, "closed"
        data += got
    return data


def pdu():
    bhs = read(48)
    size = int.from_bytes(bhs[5:8], "big")
    return bhs, read(size + (-size & 3))[:size]


text = b"".join(k.encode() + b"\0" for k in (f"InitiatorName={initiator}", f"TargetName={target}", "SessionType=Normal"))
bhs = struct.pack(">BBHI", 0x43, 0x83, 0, len(text)) + struct.pack(">BBI", 0x80, 0, 7) + struct.pack(">HIHHII", 0, 1, 0, 0, 1, 0) + bytes(16)
sock.sendall(bhs + text + bytes(-len(text) & 3))
assert pdu()[0][36] == 0, "login"


def ask(cdb, cmdsn, data=b"", room=0):
    flags = 0x80 | (0x20 if data else 0x40 if room else 0)
    bhs = struct.pack(">BBHI", 0x01, flags, 0, len(data)) + bytes(8)
    sock.sendall(bhs + struct.pack(">IIII", cmdsn, len(data) or room, cmdsn, 0) + cdb.ljust(16, b"\0") + data)
    got = b""
    while True:
        bhs, data = pdu()
        if bhs[0] & 0x3F == 0x21:
            status = bhs[3]
            return ("good" if not status else "conflict" if status == 0x18 else "sense %x/%02x/%02x" % (data[4], data[14], data[15])), got
        got += data
        if bhs[1] & 1:  # with the status
            return "good", got


def out(action, kind, key, other, flags=0):
    return ask(bytes([0x5F, action, kind, 0, 0, 0, 0, 0, 24]), 2, struct.pack(">QQIBBH", key, other, 0, flags, 0, 0))


ask(bytes(6), 1)  # takes the unit attention
if command == "register":
    status, data = out(0, 0, numbers[0], numbers[1], numbers[2])
elif command == "reserve":
    status, data = out(1, numbers[1], numbers[0], 0)
elif command == "release":
    status, data = out(2, numbers[1], numbers[0], 0)
elif command == "write":
    status, data = ask(struct.pack(">BBIBHB", 0x2A, 0, 0, 0, 1, 0), 2, bytes(512))
else:
    status, data = ask(bytes([0x5E, 0 if command == "keys" else 2, 0, 0, 0, 0, 0, 1, 0]), 2, room=256)
print(status, *("%#x" % k for k in struct.unpack(f">{len(data[8:]) // 8}Q", data[8:])) if command == "keys" else [data.hex()] if data else [])
