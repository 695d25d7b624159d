#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# iscsi_raw.py PORT TARGET IMAGE [INITIATOR]: an iSCSI initiator that writes PDUs as it likes (RFC 7143), for what libiscsi and the kernel never send;
# with INITIATOR it only logs in, by this name.
import socket, struct, sys, threading

port, target, image = int(sys.argv[1]), sys.argv[2], sys.argv[3]
IMMEDIATE, SCSI, REJECT, R2T = 0x40, 0x01, 0x3F, 0x31


class Session:
    def __init__(self, name="iqn.2024-01.lab:raw", isid=1, keys=()):
        self.sock = socket.create_connection(("127.0.0.1", port))
        self.cmdsn, self.buf = 1, b""
        text = b"".join(k.encode() + b"\0" for k in (f"InitiatorName={name}", f"TargetName={target}", "SessionType=Normal", *keys))
        # from the security stage straight to the full feature phase: whatever is not negotiated has its default
        bhs = struct.pack(">BBHI", IMMEDIATE | 0x03, 0x83, 0, len(text)) + struct.pack(">BBI", 0x80, 0, isid)
        bhs += struct.pack(">HIHHII", 0, 1, 0, 0, self.cmdsn, 0) + bytes(16)
        self.sock.sendall(bhs + text + bytes(-len(text) & 3))

    def read(self, n):
        while len(self.buf) < n:
            got = self.sock.recv(65536)
            if not got:
                raise EOFError
            self.buf += got
        got, self.buf = self.buf[:n], self.buf[n:]
        return got

    def pdu(self):
        bhs = self.read(48)
        size = int.from_bytes(bhs[5:8], "big")
        return bhs, self.read(size + (-size & 3))[:size]

    def login(self):
        bhs, _ = self.pdu()
        assert bhs[36] == 0, f"login status {bhs[36]:02x}{bhs[37]:02x}"
        self.window = window(bhs)
        self.sock.sendall(self.command(bytes(6), 0xABC))  # takes the unit attention
        self.pdu()
        return self

    def command(self, cdb, itt, expected=0, data=b"", immediate=False):
        flags = 0x80 | (0x20 if expected else 0)
        bhs = struct.pack(">BBHI", SCSI | (IMMEDIATE if immediate else 0), flags, 0, len(data)) + bytes(8)
        bhs += struct.pack(">IIII", itt, expected, self.cmdsn, 0) + cdb.ljust(16, b"\0")
        self.cmdsn += not immediate
        return bhs + data + bytes(-len(data) & 3)


def write10(lba, blocks):
    return struct.pack(">BBIBHB", 0x2A, 0, lba, 0, blocks, 0)


def window(bhs):
    return struct.unpack(">I", bhs[32:36])[0] - struct.unpack(">I", bhs[28:32])[0] + 1


if len(sys.argv) > 4:
    Session(sys.argv[4]).login()
    sys.exit()

# 64 KiB come along with a command where FirstBurstLength was not negotiated: there is room for eight of them, the others end with TASK SET FULL
BURST = ("FirstBurstLength=8192",)
s = Session().login()
assert s.window == 64, f"a window of {s.window}"
for count in (8, 64):
    s.sock.sendall(b"".join(s.command(write10(i * 128, 128), i + 1, 65536, bytes([count + i]) * 65536) for i in range(count)))
    status = {}
    for _ in range(count):
        bhs, _ = s.pdu()
        assert bhs[0] == 0x21, f"write: opcode {bhs[0]:02x}"
        status[int.from_bytes(bhs[16:20], "big") - 1] = bhs[3]
    good = [i for i in status if status[i] == 0]
    assert len(status) == count and len(good) >= 8 and all(status[i] in (0, 0x28) for i in status), status
    with open(image, "rb") as f:
        for i in good:
            f.seek(i * 65536)
            assert f.read(65536) == bytes([count + i]) * 65536, f"write {i} is wrong on disk"

# the command window is open again once all responses are here, whatever order they were made in
for count in (0, 1, 8):
    s = Session(isid=10 + count, keys=BURST).login()
    s.sock.sendall(
        b"".join(s.command(bytes(6), i + 1) for i in range(64))
        + b"".join(s.command(bytes(6), 500 + i, immediate=True) for i in range(count))
    )
    last = [s.pdu()[0] for _ in range(64 + count)][-1]
    assert window(last) == 64, f"{count} immediate: a window of {window(last)}"

# immediate commands take no slot that MaxCmdSN has promised to others
s = Session(isid=30, keys=BURST).login()
s.sock.sendall(
    b"".join(s.command(write10(0, 8), 500 + i, 4096, immediate=True) for i in range(9))
    + b"".join(s.command(bytes(6), i + 1) for i in range(64))
)
seen = [s.pdu()[0] for _ in range(9 + 64)]
assert sum(b[0] == REJECT for b in seen) == 1 and sum(b[0] == 0x21 for b in seen) == 64, [hex(b[0]) for b in seen]

# two logins of one initiator port at the same time: exactly one session stays
for _ in range(40):
    pair, alive = [], 0
    starts = [threading.Thread(target=lambda: pair.append(Session(isid=40))) for _ in range(2)]
    for t in starts:
        t.start()
    for t in starts:
        t.join()
    for s in pair:
        try:
            s.login()
        except (EOFError, ConnectionError):
            pass
    for s in pair:
        try:
            s.sock.sendall(s.command(bytes(6), 7))
            s.pdu()
            s.sock.sendall(s.command(bytes(6), 8))
            s.pdu()
            alive += 1
        except (EOFError, ConnectionError):
            pass
        s.sock.close()
    assert alive == 1, f"{alive} sessions of one port"
