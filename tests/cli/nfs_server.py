#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A port mapper, a mount daemon and an NFS 4.0 and 4.1 server, in so far as they are asked what they have. Argument: how it errs."""
import socket, struct, sys, threading

def w(*a): return b''.join(struct.pack('>I', x) for x in a)
def text(t): t = t.encode(); return w(len(t)) + t + b'\0' * (-len(t) % 4)
def entry(i, name, fsid): return w(1, 0, i) + text(name) + w(1, 1 << 1 | 1 << 8, 20, 2, 0, fsid, 0, 0)

how = sys.argv[1] if len(sys.argv) > 1 else ''
EXPORTS = w(1) + text('/exp') + w(0) + w(1) + text('/on\x1bly') + w(1) + text('10.0.0.7') + w(1) + text('@friends') + w(0) + w(0)
ROOT = [('srv', 0), ('exp', 7)]
SRV = [('data', 8), ('..', 9)]

def nfs(vers, proc, args):
    if vers != 4: return w(2, 4, 4)
    if not proc: return w(0)
    minor, ops = struct.unpack('>II', args[4:12])
    if minor > 1: return w(0, 10021, 0, 0)
    if not ops: return w(0, 0, 0, 0)
    inside = b'srv' in args
    r = w(0, 0, 0, ops, 24, 0) + (w(15, 0) if inside else b'') + w(9, 0, 1, 1 << 8, 16, 0, 0, 0, 0, 26, 0) + b'VERIFIER'
    for i, (name, fsid) in enumerate(SRV if inside else ROOT): r += entry(i + 1, name, fsid)
    return r + w(0, 1)

def answer(call):
    xid, _, _, prog, vers, proc = struct.unpack('>6I', call[:24])
    at = 24
    for _ in range(2): at += 8 + (struct.unpack('>I', call[at + 4:at + 8])[0] + 3 & ~3)
    head = w(xid, 1, 0, 0, 0)
    if how == 'xid': head = w(xid + 1, 1, 0, 0, 0)
    if prog == 100000: return head + w(0, 20048)
    if prog == 100005: return head + (w(0) + (EXPORTS if proc == 5 else b'') if how != 'short' else w(0, 1, 4))
    return head + nfs(vers, proc, call[at:])

def whole(s, n):
    b = b''
    while len(b) < n:
        more = s.recv(n - len(b))
        if not more: raise EOFError
        b += more
    return b

def serve(s):
    try:
        while True:
            n = struct.unpack('>I', whole(s, 4))[0] & 0x7fffffff
            r = answer(whole(s, n))
            s.sendall(w(0x80000000 | len(r)) + r)
    except (EOFError, OSError): pass

def listen(port):
    l = socket.create_server(('127.0.0.1', port), backlog=9)
    def run():
        while True: threading.Thread(target=serve, args=(l.accept()[0],), daemon=True).start()
    threading.Thread(target=run).start()

for port in (111, 2049, 20048): listen(port)
open('listening', 'w').close()
