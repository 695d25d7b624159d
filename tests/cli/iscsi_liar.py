# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# iscsi_liar.py HOW: an iSCSI target with a disk of 1 MiB that is honest until the first READ(10), then lies as HOW says. Prints its
# port.
import socket, struct, sys, threading

how = sys.argv[1]
KEYS = {'HeaderDigest': 'None', 'DataDigest': 'None', 'DefaultTime2Wait': '0', 'DefaultTime2Retain': '0', 'ErrorRecoveryLevel': '0', 'MaxConnections': '1',
        'InitialR2T': 'Yes', 'ImmediateData': 'No', 'MaxBurstLength': '65536', 'FirstBurstLength': '4096', 'MaxOutstandingR2T': '1', 'DataPDUInOrder': 'Yes',
        'DataSequenceInOrder': 'Yes', 'MaxRecvDataSegmentLength': '8192'}
DISK = bytearray(1 << 20)


def read(c, n):
    data = b''
    while len(data) < n:
        got = c.recv(n - len(data))
        if not got:
            raise EOFError
        data += got
    return data


class Session:
    def __init__(self, c):
        self.c, self.stat, self.exp, self.window = c, 1, 1, 8

    def put(self, opcode, flags, itt, data=b'', byte2=0, byte3=0, word20=0xffffffff, tail=b'', counts=True, ahs=0, length=None):
        head = bytearray(48)
        head[0:5] = opcode, flags, byte2, byte3, ahs
        head[5:8] = (len(data) if length is None else length).to_bytes(3, 'big')
        head[16:36] = struct.pack('>5I', itt, word20, self.stat, self.exp, self.exp + self.window - 1)
        head[36:36 + len(tail)] = tail
        self.stat += counts
        self.c.sendall(bytes(head) + data + bytes(-len(data) % 4))

    def login(self):
        while True:
            bhs = read(self.c, 48)
            n = int.from_bytes(bhs[5:8], 'big')
            words = dict(p.split('=', 1) for p in read(self.c, (n + 3) & ~3)[:n].decode().split('\0') if p)
            answer = {k: KEYS[k] for k in words if k in KEYS}
            if 'AuthMethod' in words:
                answer['AuthMethod'] = 'None'
            text = ''.join(f'{k}={v}\0' for k, v in answer.items()).encode()
            head = bytearray(48)
            head[0], head[1] = 0x23, bhs[1]
            head[5:8] = len(text).to_bytes(3, 'big')
            head[8:14], head[14:16], head[16:20] = bhs[8:14], b'\0\1', bhs[16:20]
            head[24:36] = struct.pack('>3I', self.stat, 1, 1 + self.window)
            self.stat += 1
            self.c.sendall(bytes(head) + text + bytes(-len(text) % 4))
            if bhs[1] & 0x80 and bhs[1] & 3 == 3:
                return

    def good(self, itt, data=b''):
        if data:
            self.put(0x25, 0x81, itt, data, tail=bytes(12))
        else:
            self.put(0x21, 0x80, itt, tail=bytes(12))

    def sense(self, itt, key, asc, ascq):
        data = bytearray(18)
        data[0], data[2], data[7], data[12], data[13] = 0x70, key, 10, asc, ascq
        self.put(0x21, 0x80, itt, b'\0\x12' + bytes(data), byte3=2, tail=bytes(12))

    def lie(self, itt, lba, want):
        if how not in ('honestly', 'short', 'medium', 'reserved'):
            try:  # a connection that is restored at once would let the copy continue
                l.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        data = bytes(DISK[lba * 512:lba * 512 + want])
        at = lambda sn, off: struct.pack('>3I', sn, off, 0)
        if how == 'beyond':
            self.put(0x25, 0x81, itt, data + b'x' * 4, tail=at(0, 0))
        elif how == 'offset':
            self.put(0x25, 0x81, itt, data[:512], tail=at(0, 0x80000000))
        elif how == 'twice':
            self.put(0x25, 0, itt, data, tail=at(0, 0), counts=False)
            self.put(0x25, 0x81, itt, data, tail=at(1, 0))
        elif how == 'stranger':
            self.put(0x25, 0x81, 0x7777, data, tail=at(0, 0))
        elif how == 'r2t':
            self.put(0x31, 0x80, itt, word20=5, tail=struct.pack('>3I', 0, 0, want), counts=False)
        elif how == 'again':
            self.good(itt, data)
            self.good(itt, data)
        elif how == 'unknown':
            self.put(0x3c, 0x80, itt)
        elif how == 'ahs':
            self.put(0x25, 0x81, itt, data, tail=at(0, 0), ahs=3)
        elif how == 'long':
            self.put(0x21, 0x80, itt, length=0xffffff)
        elif how == 'sense':
            self.put(0x21, 0x80, itt, b'\xff\xff' + bytes(18), byte3=2)
        elif how == 'rejects':
            self.put(0x3f, 0x80, 0xffffffff, byte2=4)
        elif how == 'leaves':
            self.put(0x32, 0x80, 0xffffffff, tail=b'\2\0' + bytes(6))
        elif how == 'pings':
            while True:
                self.put(0x20, 0x80, 0xffffffff, word20=7, counts=False)
        elif how == 'short':  # says all is well, and has sent half
            self.put(0x25, 0x81, itt, data[:want // 2], tail=at(0, 0))
        elif how == 'medium':
            self.sense(itt, 3, 0x11, 0)
        elif how == 'reserved':
            self.put(0x21, 0x80, itt, byte3=0x18)
        else:  # honest: with a ping before, and in pieces; the ping must be answered
            self.put(0x20, 0x80, 0xffffffff, word20=7, counts=False)
            for i in range(0, want, 4096):
                piece = data[i:i + 4096]
                self.put(0x25, 0x81 if i + 4096 >= want else 0, itt, piece, tail=at(i // 4096, i), counts=i + 4096 >= want)

    def command(self, bhs):
        itt, cdb = struct.unpack('>I', bhs[16:20])[0], bhs[32:48]
        self.exp += 1
        if cdb[0] == 0x12 and not cdb[1]:
            self.good(itt, b'\0\0\6\2\x5b\0\0\2LIAR    DISK            1   ' + bytes(60))
        elif cdb[0] == 0x25:
            self.good(itt, struct.pack('>II', len(DISK) // 512 - 1, 512))
        elif cdb[0] == 0x00:
            self.good(itt)
        elif cdb[0] == 0x28:
            self.lie(itt, int.from_bytes(cdb[2:6], 'big'), 512 * int.from_bytes(cdb[7:9], 'big'))
        else:
            self.sense(itt, 5, 0x20, 0)

    def run(self):
        try:
            self.login()
            while True:
                bhs = read(self.c, 48)
                opcode, n = bhs[0] & 0x3f, int.from_bytes(bhs[5:8], 'big')
                read(self.c, (n + 3) & ~3)
                if opcode == 1:
                    self.command(bhs)
                elif opcode == 0:
                    assert bhs[20:24] == b'\0\0\0\7' and bhs[16:20] == b'\xff' * 4, 'the answer to the ping'
                    print('answered', flush=True)
                elif opcode == 6:
                    print('logout', flush=True)
                    self.put(0x26, 0x80, struct.unpack('>I', bhs[16:20])[0])
        except (EOFError, OSError):
            pass
        self.c.close()


DISK[:] = (b'honest' * (len(DISK) // 6 + 1))[:len(DISK)]
l = socket.create_server(('127.0.0.1', 0))
print(l.getsockname()[1], flush=True)
try:
    while True:
        threading.Thread(target=Session(l.accept()[0]).run, daemon=True).start()
except OSError:
    threading.Event().wait()
