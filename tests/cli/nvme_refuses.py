# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# NVMe/TCP controllers of one disk that refuse commands: nvme_refuses.py IMAGE OPCODE:STATUS:COUNT…, numbers in hexadecimal but for
# COUNT. Each argument is a port, printed first, where so many I/O commands of this opcode are refused. Writes change nothing.
import socket, struct, sys, threading

IMAGE = open(sys.argv[1], "rb").read()

class Port:
    def __init__(self, refusal):
        opcode, status, count = refusal.split(":")
        self.opcode, self.status, self.count, self.lock = int(opcode, 16), int(status, 16), int(count), threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))

    def refuses(self, opcode):
        with self.lock:
            if opcode != self.opcode or not self.count:
                return False
            self.count -= 1
            return True

    def run(self):
        while True:
            s = self.listener.accept()[0]
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.serve, args=(s,), daemon=True).start()

    def serve(self, s):
        try:
            Queue(self, s).run()
        except (EOFError, OSError): pass

def identify(cns):
    page = bytearray(4096)
    if cns == 1: # controller
        page[4:24], page[24:64], page[64:72] = b"REFUSES".ljust(20), b"refuses".ljust(40), b"1".ljust(8)
        struct.pack_into("<HI", page, 78, 1, 0x10400)
        page[77], page[111], page[512], page[513], page[525] = 5, 1, 0x66, 0x44, 1
        struct.pack_into("<HI", page, 514, 128, 1)
        struct.pack_into("<I", page, 536, 0x100005)
        struct.pack_into("<II", page, 1792, 4, 1)
    elif cns == 0: # namespace
        struct.pack_into("<QQQ", page, 0, *[len(IMAGE) // 512] * 3)
        page[104:120], page[130] = b"R" * 16, 9
    elif cns == 2: # list of namespaces
        page[0] = 1
    elif cns != 3:
        return None
    return bytes(page)

class Queue:
    def __init__(self, port, s):
        self.port, self.s, self.admin = port, s, True

    def get(self, n):
        data = b""
        while len(data) < n:
            more = self.s.recv(n - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def pdu(self):
        head = self.get(8)
        return head, self.get(struct.unpack("<I", head[4:])[0] - 8)

    def reply(self, cid, status=0, result=0):
        self.s.sendall(struct.pack("<BBBBIQHHHH", 5, 0, 24, 0, 24, result, 0xFFFF, 0, cid, status << 1))

    def data(self, cid, data):
        self.s.sendall(struct.pack("<BBBBIHHIII", 7, 4, 24, 24, 24 + len(data), cid, 0, 0, len(data), 0) + data)
        self.reply(cid)

    def take(self, cid, n):
        "Data of a write that did not come along"
        self.s.sendall(struct.pack("<BBBBIHHIII", 9, 0, 24, 0, 24, cid, 7, 0, n, 0))
        while n:
            head, body = self.pdu()
            if head[0] == 6:
                n -= struct.unpack_from("<I", body, 8)[0]
            else:
                self.later.append((head, body))

    def fabrics(self, c, cid):
        off = struct.unpack_from("<I", c, 44)[0]
        if c[4] == 1:
            self.admin = not struct.unpack_from("<H", c, 42)[0]
            self.reply(cid, 0, 1)
        else:
            self.reply(cid, 0, {0: 127 | 1 << 16 | 30 << 24 | 1 << 37, 0x1C: 1}.get(off, 0) if c[4] == 4 else 0)

    def command(self, head, body):
        c, (cid,), (length,) = body[:64], struct.unpack_from("<H", body, 2), struct.unpack_from("<I", body, 32)
        if c[0] == 0x7F:
            self.fabrics(c, cid)
        elif self.admin:
            page = identify(c[40]) if c[0] == 6 else None
            if page:
                self.data(cid, page)
            elif c[0] != 0x0C:
                self.reply(cid, 2 if c[0] == 6 else 0)
        else:
            if c[0] == 1 and not head[3]:
                self.take(cid, length)
            at = struct.unpack_from("<Q", c, 40)[0] * 512
            if self.port.refuses(c[0]):
                self.reply(cid, self.port.status)
            elif c[0] == 2:
                self.data(cid, IMAGE[at : at + length])
            else:
                self.reply(cid)

    def run(self):
        self.later = []
        self.pdu()
        self.s.sendall(struct.pack("<BBBBIHBBI", 1, 0, 128, 0, 128, 0, 0, 0, 131072).ljust(128, b"\0"))
        while True:
            self.command(*(self.later.pop(0) if self.later else self.pdu()))

ports = [Port(refusal) for refusal in sys.argv[2:]]
print(*[port.listener.getsockname()[1] for port in ports], flush=True)
for port in ports[1:]:
    threading.Thread(target=port.run, daemon=True).start()
ports[0].run()
