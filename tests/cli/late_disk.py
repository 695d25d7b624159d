# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# late_disk.py SOCKET: an NBD server of 1 MiB in memory that executes the first write only after SIGUSR1, as a storage network does that
# fails over. It prints "stuck" when it has that write, and "late" when it has executed it. It does everything else at once.
import signal, socket, struct, sys, threading

PATH = sys.argv[1]
disk = bytearray(1 << 20)
released = threading.Event()
signal.signal(signal.SIGUSR1, lambda *_: released.set())
stuck = threading.Semaphore(1)

def get(s, n):
    data = b""
    while len(data) < n:
        more = s.recv(n - len(data))
        if not more:
            raise EOFError
        data += more
    return data

def hello(s):
    s.sendall(b"NBDMAGICIHAVEOPT" + struct.pack(">H", 3))
    get(s, 4)
    while True:
        _, code, length = struct.unpack(">QII", get(s, 16))
        get(s, length)
        answer = lambda kind, data=b"": s.sendall(struct.pack(">QIII", 0x3E889045565A9, code, kind, len(data)) + data)
        if code != 7:
            answer(0x80000001)  # NBD_REP_ERR_UNSUP
            continue
        answer(3, struct.pack(">HQH", 0, len(disk), 0x10D))  # flush, FUA, several connections
        answer(1)
        return

def requests(s):
    lock = threading.Lock()
    def reply(cookie, data=b""):
        with lock:
            s.sendall(struct.pack(">II", 0x67446698, 0) + cookie + data)
    def write(cookie, off, data, late):
        if late:
            released.wait()
        disk[off:off + len(data)] = data
        if late:
            print("late", flush=True)
        try:
            reply(cookie)
        except OSError:
            pass
    while True:
        _, _, kind, cookie, off, length = struct.unpack(">IHH8sQI", get(s, 28))
        if kind == 0:
            reply(cookie, bytes(disk[off:off + length]))
        elif kind == 1:
            data, late = get(s, length), stuck.acquire(blocking=False)
            if late:
                print("stuck", flush=True)
                threading.Thread(target=write, args=(cookie, off, data, True), daemon=True).start()
            else:
                write(cookie, off, data, False)
        elif kind == 2:
            return
        else:
            reply(cookie)

def serve(s):
    try:
        hello(s)
        requests(s)
    except (EOFError, OSError):
        pass
    s.close()

l = socket.socket(socket.AF_UNIX)
l.bind(PATH)
l.listen(16)
def accept():
    while True:
        threading.Thread(target=serve, args=(l.accept()[0],), daemon=True).start()
threading.Thread(target=accept, daemon=True).start()
released.wait()
while True: signal.pause()
