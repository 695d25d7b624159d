# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# An NBD client that sends whatever a test asks for, valid or not: for the tests of export.
import socket, struct

class Raw:
    def __init__(self, path, hello=True, structured=False):
        self.s = socket.socket(socket.AF_UNIX)
        self.s.connect(path)
        if not hello:
            return
        self.get(18)
        self.s.sendall(struct.pack(">I", 3))
        if structured:
            self.option(8)
            assert self.reply()[1] == 1
        self.option(7, struct.pack(">IHH", 0, 1, 3))
        while True:
            _, kind, _ = self.reply()
            if kind == 1:
                return
            assert kind == 3, hex(kind)

    def get(self, n):
        data = b""
        while len(data) < n:
            more = self.s.recv(n - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def option(self, code, data=b"", length=None, magic=b"IHAVEOPT"):
        self.s.sendall(magic + struct.pack(">II", code, len(data) if length is None else length) + data)

    def reply(self):
        magic, code, kind, length = struct.unpack(">QIII", self.get(20))
        assert magic == 0x3E889045565A9
        return code, kind, self.get(length)

    def ask(self, kind, off, length, flags=0, cookie=1, magic=0x25609513):
        self.s.sendall(struct.pack(">IHHQQI", magic, flags, kind, cookie, off, length))

    def simple(self):
        magic, error, cookie = struct.unpack(">IIQ", self.get(16))
        assert magic == 0x67446698, hex(magic)
        return error, cookie

    def closed(self):
        "Waits for the end of the connection"
        try:
            while True:
                if not self.s.recv(65536):
                    return True
        except ConnectionResetError:
            return True
