#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Disks of nbdkit and qemu-nbd over TLS, with keys and with certificates, and what is said when a server refuses.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires openssl nbdkit qemu-nbd cmp jq python3 applet:bench

random_file disk 64
psk keys alice
psk wrong alice
key="nbds+unix://alice@/?socket=$SOCK&tls-psk-file=$PWD/keys"
bad="nbds+unix://alice@/?socket=$SOCK&tls-psk-file=wrong"
authority ca
authority another
certificate ca server localhost ca
certificate client client alice ca 30 rsa:2048
cp ca/ca-cert.pem client
mkdir anonymous
cp another/ca-cert.pem anonymous
cert="nbds+unix:///?socket=$SOCK&tls-certificates=$PWD/client"

copies() { # URI
	ours copy disk "$1" --force --verify >out || die "to $1"
	ours copy "$1" copied --force --verify >out || die "from $1"
	cmp disk copied || die "$1: bytes differ"
}

# nbdkit
kit --tls=require --tls-psk=keys memory 64M
copies "$key"
copies "$key&queues=1"
ours bench "$key" --rw randrw --bs 4k --iodepth 16 --size 4M --runtime 1 --verify --force >out 2>&1 || die "bench: $(cat out)"
error 1 closed "unix:$SOCK" "closed 'alice' another.key" ours info "$bad"
error 1 auth "unix:$SOCK" 'requires TLS nbds' ours info "$URI"
down
kit --tls=require --tls-certificates=ca --tls-verify-peer memory 64M
copies "$cert&tls-hostname=localhost"
ours info "$cert&tls-hostname=other&tls-verify-peer=no" --json >out 2>err || die "$(cat err)"
grep -q 'warning: .*tls-verify-peer=no is insecure: anyone in between can act as the server' err || die "no warning: $(cat err)"
error 1 auth "unix:$SOCK" "another.name 'other'" ours info "$cert&tls-hostname=other"
error 1 closed "unix:$SOCK" 'certificate' ours info "nbds+unix:///?socket=$SOCK&tls-certificates=anonymous&tls-verify-peer=no"
error 1 auth "unix:$SOCK" 'ca-cert.pem' ours info "nbds+unix:///?socket=$SOCK&tls-certificates=anonymous"
ours discover "$cert" >out || die discover
grep -qF "nbds+unix:///?socket=$SOCK&tls-certificates=" out || die "$(cat out)"
down
kit memory 1M
error 1 unsupported "unix:$SOCK" 'not offer TLS nbds' ours info "$key"

# TLS only if the server offers it. A server that offers it must complete it, for each connection to the disk.
optional="${key/nbds/nbd}&tls=optional"
insecure() { # SECURITY WARNING URI
	ours info "$3" --json >info.out 2>info.err || die "$3: $(cat info.err)"
	same "security of $3" "$(jq -r .security info.out)" "$1"
	same "warnings of $3" "$(grep -c "warning: .*$2" info.err)" 1
}
insecure file-permissions 'tls=optional is insecure, and the server does not offer TLS: anyone' "$optional"
ours discover "$optional" >out 2>discover.err || die discover
same 'warnings of discover' "$(grep -c 'warning: .*tls=optional is insecure, and the server does not offer TLS: anyone' discover.err)" 1
grep -q '[?&]tls=optional' out || die "$(cat out)"
down
conf_server "$PWD/disk"
insecure file-permissions 'does not offer TLS' "${optional/?socket/x?socket}"
conf_down
kit --tls=on --tls-psk=keys memory 1M
insecure tls-psk 'tls=optional is insecure: anyone in between can turn TLS off; use nbds' "$optional"
ours discover "$optional" >out 2>discover.err || die discover
same 'warnings of discover over TLS' "$(grep -c 'warning: .*can turn TLS off; use nbds' discover.err)" 1
ours discover "$key" >out 2>discover.err || die discover
same 'warnings of discover with nbds' "$(cat discover.err)" ''
error 1 closed "unix:$SOCK" "closed 'alice' another.key" ours info "${bad/nbds/nbd}&tls=optional"

# a server that returns without TLS: the disk returns, too, with the warning
offer "$optional" --nbd "unix:$PWD/export"
same warnings "$(grep -c 'use nbds' err)" 1
down KILL
kit memory 1M
ours info "nbd+unix:///?socket=$PWD/export" >out || die "$(cat err)"
wait_until grep -q 'the server does not offer TLS: anyone' err
stop
down

# qemu-nbd
mkdir qemu
cp keys qemu/keys.psk
cp disk served
up qemu-nbd -t -e 16 -k "$SOCK" -f raw --object "tls-creds-psk,id=t,dir=$PWD/qemu,endpoint=server" --tls-creds t served
copies "$key"
error 1 closed "unix:$SOCK" "closed 'alice' another.key" ours info "$bad"
down
up qemu-nbd -t -e 16 -k "$SOCK" -f raw --object "tls-creds-x509,id=t,dir=$PWD/ca,endpoint=server,verify-peer=yes" --tls-creds t served
copies "$cert&tls-hostname=localhost"
down

# a server that agrees to TLS, and is silent, or says more in clear
cat >lying.py <<'END'
import socket, struct, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
while True:
    c, _ = s.accept()
    c.sendall(b"NBDMAGICIHAVEOPT\0\3")
    c.recv(20, socket.MSG_WAITALL)
    c.sendall(struct.pack(">QIII", 0x3e889045565a9, 5, 1, 0) + sys.argv[2].encode())
    c.recv(100000)
    c.recv(100000)
END
up python3 lying.py "$SOCK" ''
error 1 timeout "unix:$SOCK" 'not finish TLS.handshake' ours info "$key&timeout=1"
down KILL
up python3 lying.py "$SOCK" more
error 1 protocol "unix:$SOCK" 'data.before.the.TLS' ours info "$key"
down KILL

# words and files
error 1 auth "$PWD/keys" "no.key 'bob'" ours info "nbds://bob@127.0.0.1/?tls-psk-file=$PWD/keys"
error 1 not-found nosuch/ca-cert.pem 'no.such.file' ours info 'nbds://127.0.0.1/?tls-certificates=nosuch'
HOME=$PWD error 2 usage '.*' 'no.certificates tls-psk-file=' ours info nbds://127.0.0.1/
mkdir -p .pki/libnbd
HOME=$PWD error 1 not-found "$PWD/.pki/libnbd/ca-cert.pem" 'no.such.file' ours info nbds://127.0.0.1/
error 2 usage '.*' 'tls-verify-peer= true false' ours info "$key&tls-verify-peer=maybe"
error 2 usage '.*' 'tls-hostname= nbds' ours info "$URI&tls-hostname=x"
error 2 usage '.*' "'me' nbds" ours info nbd://me@127.0.0.1/
