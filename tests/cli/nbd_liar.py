# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# NBD servers that break one rule each, named on the command line, and keep the others: for the tests of the client.
# nbd_liar.py FOLDER CASE...: listens on FOLDER/CASE; what it serves is in FOLDER/CASE.image
import os, socket, struct, sys, threading

SIZE = 1 << 20


IMAGE = bytes((i * 7 + i // 509) & 255 for i in range(SIZE))


def make_image(case):
    image = bytearray(IMAGE)
    if case == "good-odd-extents":
        image[1000:1535] = bytes(535)
        image[1536:65536] = bytes(64000)
    return bytes(image)


class Link:
    lied = False

    def __init__(self, s, case, image):
        self.s = s
        self.case = case
        self.image = image
        self.simple = case.startswith("simple") or case == "hello-export-name-closes"

    def get(self, n):
        data = b""
        while len(data) < n:
            more = self.s.recv(n - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def put(self, *parts):
        self.s.sendall(b"".join(parts))

    def rep(self, option, kind, data=b"", magic=0x3E889045565A9, length=None):
        self.put(struct.pack(">QIII", magic, option, kind, len(data) if length is None else length), data)

    def chunk(self, kind, cookie, data=b"", done=1, length=None, magic=0x668E33EF):
        self.put(struct.pack(">IHHQI", magic, done, kind, cookie, len(data) if length is None else length), data)

    def data(self, cookie, off, length, done=1, hide=0):
        self.chunk(1, cookie, struct.pack(">Q", off) + self.image[off : off + length - hide], done, 8 + length - hide)

    def reply(self, cookie, error=0, data=b"", magic=0x67446698):
        self.put(struct.pack(">IIQ", magic, error, cookie), data)

    def silence(self, for_good=False):
        if for_good:  # a client that is let in again sends its request again
            self.listener.close()
        while self.s.recv(65536):
            pass
        raise EOFError

    def shake(self):
        if self.case == "hello-silent":
            self.silence()
        if self.case == "hello-magic":
            self.put(b"SSH-2.0-OpenSSH_9.2p1\r\n")
        if self.case == "hello-oldstyle":
            self.put(b"NBDMAGIC", struct.pack(">QQI", 0x420281861253, SIZE, 1), bytes(124))
        if self.case == "hello-newer":
            self.put(b"NBDMAGIC", b"IHAVEOPU", struct.pack(">H", 3))
        if self.case == "hello-half":
            self.put(b"NBDMAGIC")
            self.silence()
        self.put(b"NBDMAGICIHAVEOPT", struct.pack(">H", 3))
        self.get(4)
        while True:
            _, option, length = struct.unpack(">QII", self.get(16))
            data = self.get(length)
            if self.option(option, data):
                return

    def option(self, option, data):
        if option == 8:
            if self.case == "hello-early":
                self.rep(8, 1)
                self.rep(10, 1)
            if self.case == "hello-rep-magic":
                self.rep(8, 1, magic=1)
            if self.case == "hello-rep-option":
                self.rep(3, 1)
            if self.case == "hello-rep-long":
                self.rep(8, 0x80000001, b"x", length=1 << 20)
            if self.case == "hello-rep-type":
                self.rep(8, 2)
            if self.case == "hello-tls":
                self.rep(8, 0x80000005, b"no plain\ntext here")
            if self.case == "hello-shutdown":
                self.rep(8, 0x80000007)
            self.rep(8, 0x80000001 if self.simple else 1)
        elif option == 10:
            if self.case == "hello-context":
                self.rep(10, 4, struct.pack(">I", 1) + b"qemu:dirty")
            if self.case == "hello-context-twice":
                self.rep(10, 4, struct.pack(">I", 1) + b"base:allocation")
            self.rep(10, 4, struct.pack(">I", 7) + b"base:allocation")
            self.rep(10, 1)
        elif option == 7 and self.case.startswith("list-"):
            self.rep(7, 0x80000006)
        elif option == 3 and self.case.startswith("list-"):
            names = {
                "list-many": [b"n%d" % i for i in range(5000)],
                "list-huge": [b"%0200d" % i for i in range(9000)],
                "list-odd-names": [b"x" * 4096, b"%\x1b" * 1000, b"a\x1b[2J\n\xff"],
                "list-endless-slow": [b"a"],
                "list-malformed": [b"a"],
                "list-nul": [b"a\0b"],
            }.get(self.case, [])
            for name in names:
                self.rep(3, 2, struct.pack(">I", len(name)) + name)
            if self.case == "list-malformed":
                self.rep(3, 2, struct.pack(">I", 5) + b"four")
            if self.case == "list-endless-slow":
                self.silence()
            while self.case == "list-endless":
                self.rep(3, 2, struct.pack(">I", 1) + b"a")
            self.rep(3, 1)
        elif option == 7:
            if self.case == "hello-endless":
                while True:
                    self.rep(7, 3, struct.pack(">H", 2) + b"and another thing")
            if self.case == "hello-endless-slow":
                self.rep(7, 3, struct.pack(">H", 2))
                self.silence()
            if self.case == "hello-info-short":
                self.rep(7, 3, struct.pack(">HQ", 0, SIZE))
            if self.case == "hello-policy":
                self.rep(7, 0x80000002, b"not on a Friday")
            if self.case == "hello-no-export":
                self.rep(7, 1)
            if self.case == "hello-export-name-closes":
                self.rep(7, 0x80000001)
                return False
            flags = 0 if self.case == "hello-no-flags" else 0x1 | 0x4 | 0x8 | 0x20 | 0x40 | (0 if self.simple else 0x80)
            size = {"hello-huge": 1 << 63, "hello-empty": 0}.get(self.case, SIZE)
            self.rep(7, 3, struct.pack(">HQH", 0, size, flags))
            blocks = {
                "hello-block-odd": (3, 4096, 1 << 25),
                "hello-block-large": (1 << 17, 1 << 17, 1 << 25),
                "hello-block-prefer": (4096, 512, 1 << 25),
                "hello-block-most": (4096, 4096, 1024),
            }.get(self.case)
            if blocks:
                self.rep(7, 3, struct.pack(">HIII", 3, *blocks))
            self.rep(7, 1)
            if self.case == "hello-more":
                self.put(b"more")
            return True
        elif option == 1:
            raise EOFError
        else:
            self.rep(option, 0x80000001)
        return False

    def serve(self):
        while True:
            magic, flags, kind, cookie, off, length = struct.unpack(">IHHQQI", self.get(28))
            assert magic == 0x25609513
            if kind == 2:
                return
            if kind == 1:
                self.get(length)
            self.answer(kind, cookie, off, length)

    def answer(self, kind, cookie, off, length):
        if kind == 0 and self.simple:
            if self.case == "simple-magic":
                self.reply(cookie, magic=0x96744668)
            if self.case == "simple-cookie":
                self.reply(cookie + 65536, 0, self.image[off : off + length])
            if self.case == "simple-structured":
                self.data(cookie, off, length)
            if self.case == "simple-short":
                self.reply(cookie, 0, self.image[off : off + length // 2])
                raise EOFError
            self.reply(cookie, 0, self.image[off : off + length])
            if self.case == "simple-twice":
                self.reply(cookie, 0, self.image[off : off + length])
        elif kind == 0:
            self.read(cookie, off, length)
        elif kind == 7:
            self.status(cookie, off, length)
        elif self.case == "write-silent" and kind == 1:
            self.silence(for_good=True)
        elif self.case == "write-data" and kind == 1:
            self.data(cookie, off, length)
        elif self.case == "write-shutdown" and kind == 1:
            self.reply(cookie, 108)
        else:
            self.reply(cookie)

    def read(self, cookie, off, length):
        half = length // 2
        if self.case == "read-silent":
            self.silence(for_good=True)
        if self.case == "read-closes":
            raise EOFError
        if self.case == "read-half":
            self.chunk(1, cookie, struct.pack(">Q", off) + self.image[off : off + half], length=8 + length)
            self.silence(for_good=True)
        if self.case == "read-magic":
            self.chunk(1, cookie, magic=0x12345678)
        if self.case == "read-cookie":
            self.data(cookie + 1, off, length)
        if self.case == "read-late":
            self.data(cookie, off, length)
            self.data(cookie, off, length)
        if self.case == "read-simple":
            self.reply(cookie, 0, self.image[off : off + length])
        if self.case == "read-before":
            self.data(cookie, off - 512 if off else off + (1 << 40), length)
        if self.case == "read-after":
            self.chunk(1, cookie, struct.pack(">Q", off) + bytes(length + 512))
        if self.case == "read-wrapped":
            self.data(cookie, (1 << 64) - 512, 512)
        if self.case == "read-long":
            self.chunk(1, cookie, struct.pack(">Q", off), length=0xFFFFFFFF)
        if self.case == "read-overlap":
            self.data(cookie, off, half, 0)
            self.data(cookie, off + half - 512, half + 512)
        if self.case == "read-hole-overlap":
            self.data(cookie, off, length, 0)
            self.chunk(2, cookie, struct.pack(">QI", off, 512))
        if self.case == "read-hole-outside":
            self.chunk(2, cookie, struct.pack(">QI", off + length, 512))
        if self.case == "read-hole-empty":
            self.chunk(2, cookie, struct.pack(">QI", off, 0))
        if self.case == "read-hole-length":
            self.chunk(2, cookie, struct.pack(">QQ", off, length))
        if self.case == "read-missing":
            self.data(cookie, off, half)
        if self.case == "read-none":
            self.chunk(0, cookie)
        if self.case == "read-none-filled":
            self.chunk(0, cookie, b"x")
        if self.case == "read-empty":
            self.chunk(1, cookie, struct.pack(">Q", off))
        if self.case == "read-type":
            self.chunk(77, cookie)
        if self.case == "read-status":
            self.chunk(5, cookie, struct.pack(">III", 7, length, 0))
        if self.case == "read-error-zero":
            self.chunk(0x8001, cookie, struct.pack(">IH", 0, 0))
        if self.case == "read-error-text":
            self.chunk(0x8001, cookie, struct.pack(">IH", 5, 100) + b"short")
        if self.case == "read-error-long":
            self.chunk(0x8001, cookie, struct.pack(">IH", 5, 0) + bytes(9000))
        if self.case == "read-scattered":
            for at in range(0, length, 1024):
                self.data(cookie, off + at, 512, 0)
        if self.case == "read-error-new":
            self.chunk(0x8077, cookie, struct.pack(">IH", 5, 4) + b"oops" + b"more")
            return
        if self.case == "read-error-words":
            words = b"disk\x1b[2J on\nfire \xff " + b"!" * 4000
            self.chunk(0x8001, cookie, struct.pack(">IH", 5, len(words)) + words)
            return
        if self.case == "read-error-bare":
            self.chunk(0x8001, cookie, struct.pack(">IH", 5, 0))
            return
        if self.case == "read-error-then-data":
            self.chunk(0x8002, cookie, struct.pack(">IHQ", 5, 0, off), 0)
            self.data(cookie, off, length)
            return
        if self.case == "read-error-odd":
            self.chunk(0x8001, cookie, struct.pack(">IH", 4711, 0))
            return
        if self.case == "good-pieces":
            for at in sorted(range(0, length, 4096), key=lambda a: (a // 4096 % 4, a)):
                if any(self.image[off + at : off + at + 4096]):
                    self.data(cookie, off + at, min(4096, length - at), 0)
            self.chunk(0, cookie)
            return
        self.data(cookie, off, length)

    def status(self, cookie, off, length):
        self.lied = self.case.startswith("status-") and self.case != "status-error"
        if self.case == "status-context":
            self.chunk(5, cookie, struct.pack(">III", 8, length, 0))
        if self.case == "status-empty":
            self.chunk(5, cookie, struct.pack(">I", 7))
        if self.case == "status-length":
            self.chunk(5, cookie, struct.pack(">IIIB", 7, length, 0, 0))
        if self.case == "status-zero":
            self.chunk(5, cookie, struct.pack(">III", 7, 0, 0))
        if self.case == "status-twice":
            self.chunk(5, cookie, struct.pack(">III", 7, length, 0), 0)
            self.chunk(5, cookie, struct.pack(">III", 7, length, 0))
        if self.case == "status-none":
            self.chunk(0, cookie)
        if self.case == "status-simple":
            self.reply(cookie)
        if self.case == "status-data":
            self.data(cookie, off, 512)
        if self.case == "status-long":
            self.chunk(5, cookie, struct.pack(">I", 7), length=4 + 8 * (1 << 21))
        if self.case == "status-error":
            self.reply(cookie, 22)
            return
        if self.case == "good-odd-extents" and off == 0:  # blocks that extents share are data
            runs = [(1000, 0), (24, 3), (511, 3), (1, 0)] + [(1, 3)] * 700 + [(63300, 3), (100, 1)]
            self.chunk(5, cookie, struct.pack(">I", 7) + b"".join(struct.pack(">II", *r) for r in runs))
            return
        self.chunk(5, cookie, struct.pack(">III", 7, min(length + 4096, 0xFFFFFE00), 0))


def serve(listener, case, image):
    while True:
        try:
            link = Link(listener.accept()[0], case, image)
        except OSError:  # closed by silence()
            return
        link.listener = listener
        try:
            link.shake()
            link.serve()
        except (EOFError, ConnectionError):
            pass
        link.s.close()
        if link.lied:  # a copy can do without block status if its connection is restored quickly
            listener.close()
            return


def start(folder, cases):
    for case in cases:
        image = make_image(case)
        with open(f"{folder}/{case}.image", "wb") as f:
            f.write(image)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(f"{folder}/{case}")
        listener.listen(64)
        threading.Thread(target=serve, args=(listener, case, image), daemon=True).start()


if __name__ == "__main__":
    start(sys.argv[1], sys.argv[2:])
    open(f"{sys.argv[1]}/ready", "w").close()
    threading.Event().wait()
