# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# An iSCSI target for discovery on ports 3260 and 3261 of 127.0.0.0/8 that errs as the file how.ADDRESS tells, or how.127.0.0.1 for addresses
# without one. Each connection has a process of its own. Makes the file "listening".
import os, select, signal, socket, struct, time

how = ''
LIST = b'TargetName=iqn.x:a\0TargetAddress=127.0.0.1:3260,1\0TargetName=iqn.x:b\0TargetAddress=127.0.0.1:3999,2\0'


def read(c, n):
    data = b''
    while len(data) < n:
        got = c.recv(n - len(data))
        if not got:
            raise EOFError
        data += got
    return data


def request(c):
    bhs = read(c, 48)
    n = int.from_bytes(bhs[5:8], 'big')
    return bhs, read(c, (n + 3) & ~3)[:n]


KEYS = b'HeaderDigest=None\0DataDigest=None\0DefaultTime2Wait=0\0DefaultTime2Retain=0\0ErrorRecoveryLevel=0\0'
CHALLENGE = b'CHAP_A=7\0CHAP_I=1\0CHAP_C=0x00112233445566778899aabbccddeeff\0'
# What the second stage is answered with.
LIES = {
    'silent': b'',
    'twice': KEYS + b'ErrorRecoveryLevel=0\0',
    'unasked': KEYS + b'MaxConnections=1\0',
    'unheard': KEYS + b'X-a=NotUnderstood\0',
    'no-answer': KEYS.replace(b'Retain=0', b'Retain=3600'),
    'digest': KEYS.replace(b'HeaderDigest=None', b'HeaderDigest=CRC32C'),
    'unended': KEYS[:-1],
    'no-text': b'\x01\x02\x03=\x04\0',
    'method-again': KEYS + b'AuthMethod=CHAP\0',
}


def silence(c):
    while c.recv(65536):
        pass
    raise EOFError


# All that is left to be said, byte by byte.
def slowly(c, data, pause):
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for i in range(len(data)):
        c.sendall(data[i:i + 1])
        time.sleep(pause)


def reply(c, bhs, opcode, flags, data=b'', status=0, ttt=0xffffffff, itt=None, length=None, ahs=0):
    head = bytearray(48)
    head[0], head[1], head[4] = opcode, flags, ahs
    head[5:8] = (len(data) if length is None else length).to_bytes(3, 'big')
    head[16:20] = bhs[16:20] if itt is None else itt
    if opcode == 0x23:
        head[36:38] = struct.pack('>H', status)
    else:
        head[20:24] = struct.pack('>I', ttt)
    head[8:14] = bhs[8:14] if how != 'isid' else b'\xff' * 6
    pdu = bytes(head) + data + bytes(-len(data) % 4)
    if how in ('drips', 'crawls'):
        slowly(c, pdu, 0.001 if how == 'drips' else 0.2)
    else:
        c.sendall(pdu)


def login(c, port):
    while True:
        bhs, data = request(c)
        stage = bhs[1] >> 2 & 3
        if how == 'mute' or how == 'mute-keys' and stage == 1:
            silence(c)
        elif how == 'mute-proof' and b'CHAP_R=' in data:
            silence(c)
        elif how.startswith('status='):
            reply(c, bhs, 0x23, 0, status=int(how[7:], 16))
        elif how == 'circle':
            reply(c, bhs, 0x23, 0, b'TargetAddress=127.0.0.1:%d\0' % (3261 if port == 3260 else 3260), 0x101)
        elif how == 'moved' and port == 3260:
            reply(c, bhs, 0x23, 0, b'TargetAddress=127.0.0.1:3261,1\0', 0x102)
        elif how == 'runs':
            reply(c, bhs, 0x23, 0, b'TargetAddress=127.0.0.%d\0' % (int(c.getsockname()[0].split('.')[3]) + 1), 0x101)
        elif how == 'nowhere':
            reply(c, bhs, 0x23, 0, b'TargetAlias=x\0', 0x101)
        elif how == 'no-address':
            reply(c, bhs, 0x23, 0, b'TargetAddress=a b\0', 0x101)
        elif how == 'itt':
            reply(c, bhs, 0x23, 0x81, b'AuthMethod=None\0', itt=b'\0\0\0\x63')
        elif how == 'stays' and stage == 1:
            reply(c, bhs, 0x23, 4, KEYS if b'HeaderDigest' in data else b'')
        elif how == 'back' and stage == 1:
            reply(c, bhs, 0x23, 0x81, KEYS)
        elif how == 'ahead':
            reply(c, bhs, 0x23, 0x83, b'AuthMethod=None\0')
        elif how == 'double':
            reply(c, bhs, 0x23, 0x81, b'AuthMethod=None\0')
            reply(c, bhs, 0x23, 0x81, b'AuthMethod=None\0')
        elif how == 'hangs-up-early':
            c.close()
            return
        elif how.startswith('chap') or how == 'mute-proof':
            if b'AuthMethod=' in data:
                reply(c, bhs, 0x23, 0, b'AuthMethod=CHAP\0')
            else:
                reply(c, bhs, 0x23, 0, {'chap-foreign': CHALLENGE.replace(b'A=7', b'A=9'), 'chap-half': CHALLENGE[:18], 'chap-twice': CHALLENGE * 2,
                                        'chap-empty': CHALLENGE[:18] + b'CHAP_C=0x\0'}.get(how, CHALLENGE))
        elif how == 'endless':
            reply(c, bhs, 0x23, 0x40 | stage << 2, b'TargetAlias=x\0')
        elif how == 'loops':
            reply(c, bhs, 0x23, stage << 2, b'AuthMethod=None\0' if data.count(b'AuthMethod') else b'')
        elif how == 'huge':
            reply(c, bhs, 0x23, 0, length=0xffffff)
        elif how == 'ahs':
            reply(c, bhs, 0x23, 0, ahs=1)
        elif how == 'http':
            c.sendall(b'HTTP/1.0 400 Bad Request\r\nContent-Length: 0\r\nContent-Type: text/plain\r\n\r\n')
            silence(c)
        elif stage == 0:
            reply(c, bhs, 0x23, 0x81, b'AuthMethod=None\0')
        else:
            reply(c, bhs, 0x23, 0x87, LIES.get(how, KEYS))
            return


def text(c):
    bhs, _ = request(c)
    if how == 'pieces':
        for i in range(0, len(LIST), 7):
            last = i + 7 >= len(LIST)
            reply(c, bhs, 0x24, 0x80 if last else 0x40, LIST[i:i + 7], ttt=0xffffffff if last else 9)
            if not last:
                bhs, _ = request(c)
    elif how == 'mute-list':
        silence(c)
    elif how == 'nops':
        while True:
            reply(c, bhs, 0x20, 0x80, ttt=77, itt=b'\xff' * 4)
            request(c)
    elif how == 'nops-unheard':
        while True:
            reply(c, bhs, 0x20, 0x80, ttt=77, itt=b'\xff' * 4)
    elif how == 'huge-list':
        reply(c, bhs, 0x24, 0x80, length=0xffffff)
    elif how == 'other-list':
        reply(c, bhs, 0x24, 0x80, LIST, itt=b'\0\0\0\x63')
    elif how == 'ends-on':
        reply(c, bhs, 0x24, 0xc0, LIST)
    elif how == 'goes-on':
        while True:
            reply(c, bhs, 0x24, 0x40, b'TargetName=iqn.x:a\0', ttt=9)
            bhs, _ = request(c)
    elif how == 'empty-on':
        reply(c, bhs, 0x24, 0x40, ttt=9)
    elif how == 'nop':
        reply(c, bhs, 0x20, 0x80, ttt=77, itt=b'\xff' * 4)
        back, _ = request(c)
        good = back[0] == 0x40 and back[20:24] == b'\0\0\0\x4d' and back[16:20] == b'\xff' * 4
        reply(c, bhs, 0x24, 0x80, LIST if good else b'TargetName=the answer is wrong\0')
    elif how == 'rejects':
        reply(c, bhs, 0x3f, 0x80)
    elif how == 'leaves':
        reply(c, bhs, 0x32, 0x80)
    elif how == 'odd':
        reply(c, bhs, 0x25, 0x80)
    elif how == 'nothing':
        reply(c, bhs, 0x24, 0x80)
    elif how == 'escape':
        reply(c, bhs, 0x24, 0x80, b'TargetName=iqn.x:\x1b[2J\0')
    elif how == 'hangs-up':
        c.close()
    else:
        reply(c, bhs, 0x24, 0x80, LIST)
    bhs, _ = request(c)
    if how == 'mute-end':
        silence(c)
    reply(c, bhs, 0x26, 0x80)
    while how == 'talks-on':
        time.sleep(0.05)
        reply(c, bhs, 0x26, 0x80)


def serve(c):
    global how
    address, port = c.getsockname()
    name = 'how.' + address
    with open(name if os.path.exists(name) else 'how.127.0.0.1') as f:
        how = f.read().strip()
    try:
        login(c, port)
        text(c)
    except (EOFError, OSError):
        pass


listeners = [socket.create_server(('', p), backlog=8) for p in (3260, 3261)]
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
open('listening', 'w').close()
while True:
    for s in select.select(listeners, [], [])[0]:
        c, _ = s.accept()
        if not os.fork():
            serve(c)
            os._exit(0)
        c.close()
