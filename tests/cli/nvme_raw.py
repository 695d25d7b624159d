# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A minimal NVMe/TCP host for requests right or wrong: for the tests of serve.
import socket, struct

DISCOVERY = "nqn.2014-08.org.nvmexpress.discovery"

def command(opcode, cid, data=0, inside=False, nsid=1, lba=0, blocks=0, dw10=None):
    "An SQE; its data is sent by transfer, or follows in the capsule"
    sgl = struct.pack("<QI3xB", 0, data, 0x01 if inside else 0x5A)
    tail = struct.pack("<QIIII", lba, (blocks - 1) & 0xFFFF, 0, 0, 0) if dw10 is None else struct.pack("<6I", dw10, 0, 0, 0, 0, 0)
    return struct.pack("<BBHI16x", opcode, 0x40, cid, nsid) + sgl + tail

def connect(cid, qid=0, entries=32, kato=0, data=1024, inside=True):
    sgl = struct.pack("<QI3xB", 0, data, 0x01 if inside else 0x5A)
    return struct.pack("<BBHB19x", 0x7F, 0x40, cid, 1) + sgl + struct.pack("<HHHBBI12x", 0, qid, entries - 1, 4, 0, kato)

def connect_data(subnqn, hostnqn, cntlid=0xFFFF, hostid=b"\1" * 16):
    return struct.pack("<16sH238x256s256s256x", hostid, cntlid, subnqn.encode(), hostnqn.encode())

class Raw:
    def __init__(self, port, source="127.0.0.1", hello=True, timeout=None, rcvbuf=0):
        self.s = socket.socket()
        self.s.settimeout(timeout)
        if rcvbuf:
            self.s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        self.s.bind((source, 0))
        self.s.connect(("127.0.0.1", port))
        self.s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.got = b""
        if hello:
            self.s.sendall(struct.pack("<BBBBIHBBI112x", 0, 0, 128, 0, 128, 0, 0, 0, 0))
            assert self.pdu()[0] == 1

    def connected(self):
        return self.s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == 1 # TCP_ESTABLISHED

    def get(self, n):
        while len(self.got) < n:
            more = self.s.recv(1 << 18)
            if not more:
                raise EOFError
            self.got += more
        data, self.got = self.got[:n], self.got[n:]
        return data

    def pdu(self):
        "type, flags, header, data"
        kind, flags, hlen, offset, length = struct.unpack("<BBBBI", self.get(8))
        body = self.get(length - 8)
        return kind, flags, body[: hlen - 8], body[offset - 8 :] if offset else b""

    def send(self, sqe, data=b""):
        self.s.sendall(self.capsule(sqe, data))

    def capsule(self, sqe, data=b""):
        return struct.pack("<BBBBI", 4, 0, 72, 72 if data else 0, 72 + len(data)) + sqe + data

    def data(self, cid, ttag, offset, data, last=True):
        "H2CData"
        self.s.sendall(struct.pack("<BBBBIHHII4x", 6, 4 if last else 0, 24, 24, 24 + len(data), cid, ttag, offset, len(data)) + data)

    def reply(self):
        "cid, status, result of the next completion; R2Ts are answered with zeroes, data is in self.data_in"
        self.data_in = b""
        while True:
            kind, flags, head, data = self.pdu()
            if kind == 5:
                result, _, _, cid, status = struct.unpack("<QHHHH", head)
                return cid, status >> 1, result
            if kind == 7:
                self.data_in += data
                if flags & 8:
                    return struct.unpack_from("<H", head)[0], 0, 0
            elif kind == 9:
                cid, ttag, offset, length = struct.unpack("<HHII", head[:12])
                self.data(cid, ttag, offset, bytes(length))
            else:
                raise EOFError("the target ended it: PDU of type %d" % kind)

    def connect(self, subnqn, hostnqn, qid=0, entries=32, cntlid=0xFFFF, kato=0):
        self.send(connect(1, qid, entries, kato), connect_data(subnqn, hostnqn, cntlid))
        _, status, result = self.reply()
        assert not status, hex(status)
        return result & 0xFFFF

    def enable(self):
        self.send(struct.pack("<BBHB35xB3xIQ8x", 0x7F, 0x40, 2, 0, 0, 0x14, 0x460001))
        assert not self.reply()[1]

    def read(self, off, length, cid=9):
        self.send(command(2, cid, length, lba=off >> 9, blocks=length >> 9))
        assert not self.reply()[1]
        return self.data_in

    def write(self, off, data, cid=9):
        self.send(command(1, cid, len(data), lba=off >> 9, blocks=len(data) >> 9))
        assert not self.reply()[1]

def host(port, subnqn, hostnqn, queues=1, entries=128, **how):
    "[admin queue, I/O queue…] of a host"
    admin = Raw(port, **how)
    cntlid = admin.connect(subnqn, hostnqn)
    admin.enable()
    all = [admin]
    for qid in range(1, queues + 1):
        q = Raw(port, **how)
        q.connect(subnqn, hostnqn, qid, entries, cntlid)
        all.append(q)
    return all

def resident(pid):
    "the most memory that process has had, in MiB"
    with open("/proc/%s/status" % pid) as f:
        return next(int(l.split()[1]) for l in f if l.startswith("VmHWM")) / 1024
