# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A portal that relays to an iSCSI target, but lists other addresses of it: iscsi_list.py PORT TARGET-PORT NAME ADDRESS... on 127.0.0.1.
# It prints its port.
import socket, sys, threading

PORT, TARGET, NAME = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
LIST = f"TargetName={NAME}\0".encode() + b"".join(f"TargetAddress={a}\0".encode() for a in sys.argv[4:])

def read(s, n):
    data = b""
    while len(data) < n:
        got = s.recv(n - len(data))
        if not got:
            raise EOFError
        data += got
    return data

def requests(client, target):
    try:
        while data := client.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass

def responses(client, target):
    try:
        while True:
            bhs = bytearray(read(target, 48))
            data = read(target, (int.from_bytes(bhs[5:8], "big") + 3) & ~3)
            if bhs[0] == 0x24:
                bhs[5:8], data = len(LIST).to_bytes(3, "big"), LIST + bytes(-len(LIST) % 4)
            client.sendall(bytes(bhs) + data)
    except (EOFError, OSError):
        client.close()

listener = socket.create_server(("127.0.0.1", PORT))
print(listener.getsockname()[1], flush=True)
while True:
    client, target = listener.accept()[0], socket.create_connection(("127.0.0.1", TARGET))
    for relay in requests, responses:
        threading.Thread(target=relay, args=(client, target), daemon=True).start()
