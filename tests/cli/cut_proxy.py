# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# cut_proxy.py PORT: relays connections to that port at 127.0.0.1 and prints its own; SIGUSR1 cuts all of them.
import signal, socket, sys, threading

ends = []

def cut(*_):
    for s in ends:
        try:
            s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
    ends.clear()

def relay(a, b):
    try:
        while data := a.recv(65536):
            b.sendall(data)
    except OSError:
        pass
    for s in (a, b):
        try:
            s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

signal.signal(signal.SIGUSR1, cut)
l = socket.create_server(("127.0.0.1", 0))
print(l.getsockname()[1], flush=True)
while True:
    a = l.accept()[0]
    b = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    ends += [a, b]
    for pair in (a, b), (b, a):
        threading.Thread(target=relay, args=pair, daemon=True).start()
