# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# An honest client next to others that are not: neighbours.py PROTOCOL ADDRESS PID KIND COUNT LIMIT-MS [NQN]
# The honest one's requests must be answered within the limit as long as the others are there; the server's memory is bounded.
# A protocol is a class below; a kind of neighbour is a function.
import os, select, signal, struct, sys, time
from nvme_raw import Raw, command, host, resident

MOST_MIB = 128

class Nvme:
    "One I/O queue of a host of its own"
    def __init__(self, at, number, **how):
        self.admin, self.q = host(int(at), sys.argv[7], "nqn.test:host%d" % number, **how)
        self.s, self.cid, self.tags = self.q.s, 0, []

    def next(self):
        self.cid = (self.cid + 1) % 120
        return self.cid

    def ask_write(self, off, length):
        self.s.sendall(self.q.capsule(command(1, self.next(), length, lba=off >> 9, blocks=length >> 9)))

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

PROTOCOLS = {"nvme": Nvme}
PIECE = 131072

def frozen(c):
    "Everything is asked for, nothing is sent or taken"
    for k in range(60):
        c.ask_write(k * PIECE, PIECE)
        c.ask_read(k * PIECE, PIECE)
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
        c.ask_write(k * PIECE, PIECE)
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

KINDS = {f.__name__: f for f in (frozen, greedy, lying, slow)}

def neighbours(protocol, at, kind, count, ready):
    "Never returns; those that the server ends connect again"
    def steps(number):
        while True:
            try:
                yield from KINDS[kind](protocol(at, number, rcvbuf=65536))
            except (EOFError, OSError, AssertionError):
                yield from wait(0.2)
    all = [steps(n) for n in range(count)]
    for step in all:
        next(step)
    os.write(ready, b"x")
    while True:
        for step in all:
            next(step)
        if kind != "greedy":
            time.sleep(0.005)

def main():
    protocol, at, pid, kind, count, limit = PROTOCOLS[sys.argv[1]], sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]), float(sys.argv[6])
    honest = [protocol(at, 1000) for _ in range(3)] # on every thread of the server
    for c in honest:
        c.read(0, 4096)
    ready, tell = os.pipe()
    child = os.fork()
    if not child:
        neighbours(protocol, at, kind, count, tell)
    try:
        assert select.select([ready], [], [], 30)[0], "the neighbours did not get ready"
        worst, served, end = 0, 0, time.monotonic() + 3
        while time.monotonic() < end:
            for c in honest:
                for request in (lambda: c.read(1 << 20, 4096), lambda: c.read(0, PIECE), lambda: c.write(0, bytes(65536))):
                    begun = time.monotonic()
                    request()
                    worst = max(worst, time.monotonic() - begun)
                    served += 1
            time.sleep(0.01)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    most = resident(pid)
    print("%s, %d %s: %d requests, the longest took %.0f ms; %.0f MiB" % (sys.argv[1], count, kind, served, worst * 1000, most))
    assert worst * 1000 <= limit, "a request took longer than %.0f ms" % limit
    assert served >= 50, "hardly a request was answered"
    assert most <= MOST_MIB, "the server had more than %d MiB" % MOST_MIB

main()
