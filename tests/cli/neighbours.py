# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# An honest client next to others that are not: neighbours.py PROTOCOL PORT PID COUNT [NQN [PID…]]
# COUNT neighbours of all kinds, or these processes when they are stopped. Neighbours that the server ends connect again, so the honest one
# is never alone: if it had to wait for their end, its requests would take longer than the whole test may. The server's memory is
# bounded. A protocol is a class below; a kind of neighbour is a function.
import os, signal, socket, struct, sys, time
from nvme_raw import Raw, command, host, resident

MOST_MIB = 128

class Nvme:
    "One I/O queue of a host of its own"
    def __init__(self, port, number, **how):
        self.admin, self.q = host(port, sys.argv[5], "nqn.test:host%d" % number, **how)
        self.s, self.cid = self.q.s, 0

    def next(self):
        self.cid = (self.cid + 1) % 120
        return self.cid

    def ask_write(self, off, length): # reply() sends the data
        self.s.sendall(self.q.capsule(command(1, self.next(), length, lba=off >> 9, blocks=length >> 9)))

    def promise(self, off, length):
        self.ask_write(off, length)
        return True

    def ask_read(self, off, length):
        self.s.sendall(self.q.capsule(command(2, self.next(), length, lba=off >> 9, blocks=length >> 9)))

    def begin_data(self):
        "Takes one request for data and begins to send it"
        while True:
            kind, _, head, _ = self.q.pdu()
            if kind == 9:
                cid, ttag, offset, length = struct.unpack("<HHII", head[:12])
                self.s.sendall(struct.pack("<BBBBIHHII4x", 6, 4, 24, 24, 24 + length, cid, ttag, offset, length))
                return

    def one_reply(self):
        return self.q.reply()[1]

    def read(self, off, length):
        return self.q.read(off, length)

    def write(self, off, data):
        self.q.write(off, data)

class Nbd:
    "A client with an address of its own"
    def __init__(self, port, number, rcvbuf=0):
        self.s, self.asked = socket.socket(), {}
        if rcvbuf:
            self.s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        self.s.bind(("127.0.1.%d" % (number % 250 + 1), 0))
        self.s.connect(("127.0.0.1", port))
        self.s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.get(18)
        self.s.sendall(struct.pack(">I8sII", 3, b"IHAVEOPT", 1, 0)) # NBD_OPT_EXPORT_NAME
        self.get(10)

    def get(self, n):
        data = b""
        while len(data) < n:
            more = self.s.recv(n - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def ask(self, kind, off, length, data=b""):
        cookie = len(self.asked) + 1
        while cookie in self.asked:
            cookie += 1
        self.asked[cookie] = 0 if kind else length
        self.s.sendall(struct.pack(">IHHQQI", 0x25609513, 0, kind, cookie, off, length) + data)

    def ask_read(self, off, length):
        self.ask(0, off, length)

    def ask_write(self, off, length):
        self.ask(1, off, length, bytes(length))

    def promise(self, off, length): # what is sent behind it is data
        self.ask(1, off, length)
        return False

    def begin_data(self): pass

    def one_reply(self):
        magic, error, cookie = struct.unpack(">IIQ", self.get(16))
        assert magic == 0x67446698 and not error, (magic, error)
        return self.get(self.asked.pop(cookie))

    def read(self, off, length):
        self.ask_read(off, length)
        return self.one_reply()

    def write(self, off, data):
        self.ask(1, off, len(data), data)
        self.one_reply()

PROTOCOLS = {"nvme": Nvme, "nbd": Nbd}
PIECE = 131072

def frozen(c):
    "Everything is asked for, nothing is sent or taken"
    for k in range(60):
        c.ask_read(k * PIECE, PIECE)
    for k in range(60):
        if not c.promise(k * PIECE, PIECE):
            break
    yield from wait(1 << 30)

def wait(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield

def greedy(c):
    "As much as it may have in flight, always, and it takes part in all of it"
    for k in range(100):
        c.ask_read(k * 4096, PIECE) if k % 2 else c.ask_write(k * 4096, PIECE)
    while True:
        c.one_reply()
        c.ask_read(0, PIECE)
        yield

def lying(c):
    "Promises data and sends a byte of it now and then"
    for k in range(100):
        if not c.promise(k * PIECE, PIECE):
            break
    c.begin_data()
    while True:
        c.s.send(b"x")
        yield from wait(0.02)

def slow(c):
    "Does its part, on a line of 1 MiB/s"
    for k in range(16):
        c.ask_read(k * PIECE, PIECE)
    taken = 0
    while True:
        more = c.s.recv(32768)
        if not more:
            raise EOFError
        taken += len(more)
        while taken > PIECE:
            c.ask_read(0, PIECE)
            taken -= PIECE
        yield from wait(0.03)

KINDS = frozen, greedy, lying, slow

def neighbours(protocol, port, count, ready):
    "Never returns; those that the server ends connect again"
    def steps(number):
        while True:
            try:
                yield from KINDS[number % len(KINDS)](protocol(port, number, rcvbuf=65536))
            except (EOFError, OSError, AssertionError):
                yield from wait(0.2)
    all = [steps(n) for n in range(count)]
    for step in all:
        next(step)
    os.write(ready, b"x")
    while True:
        for step in all:
            next(step)
        time.sleep(0.005)

def main():
    protocol, port, pid, count, stopped = PROTOCOLS[sys.argv[1]], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), sys.argv[6:]
    honest = [protocol(port, 200) for _ in range(3)] # on every thread of the server
    for c in honest:
        c.read(0, 4096)
    ready, tell = os.pipe()
    child = os.fork()
    if not child:
        os.close(ready)
        for number in stopped: # processes of our own program
            os.kill(int(number), signal.SIGSTOP)
        neighbours(protocol, port, count, tell)
    os.close(tell)
    try:
        assert os.read(ready, 1), "the neighbours did not get ready"
        for _ in range(25):
            for c in honest:
                c.read(1 << 20, 4096)
                c.read(0, PIECE)
                c.write(0, bytes(65536))
            time.sleep(0.01)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    most = resident(pid)
    print("%s, %d neighbours: %.0f MiB" % (sys.argv[1], count + len(stopped), most))
    assert most <= MOST_MIB, "the server had more than %d MiB" % MOST_MIB

main()
