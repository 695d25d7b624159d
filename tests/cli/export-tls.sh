#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# export with TLS: foreign clients and ours copy a disk, with keys and with certificates; whoever can't authenticate is refused, and
# both sides say why.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires openssl nbdcopy nbdinfo nbdsh qemu-img python3 cmp jq

random_file disk 64
psk keys alice
psk wrong alice
psk other bob
# The clients that are connected, as status shows them.
clients() {
	ours status --json >status.json && valid status.json && jq -r --argjson pid "$SERVER" '.serving[] | select(.pid == $pid) | .nbd_clients // [] |
		.[] | "\(.name) \(.transport) \(.traddr) \(.pid) \(.uid) \(.security) \(.tls_version) \(.tls_cipher) \(.tls_identity)"' status.json
}
nobody_is_connected() { [ -z "$(clients)" ]; }
# hold URI: nbdsh, a foreign client, keeps a connection until `leave`
mkfifo held
hold() {
	nbdsh -c 'h.set_uri_allow_local_file(True)' -c "h.connect_uri('$1')" -c 'import sys' -c 'sys.stdin.read()' <held >hold.out 2>&1 &
	holder=$!
	exec 9>held
}
leave() {
	exec 9>&-
	wait "$holder" || die "nbdsh: $(cat hold.out)"
	wait_until nobody_is_connected
}
cipher='TLS_AES_(128_GCM_SHA256|256_GCM_SHA384)'
address() { sed -n 's#.*nbds://\([^/]*\)/.*#\1#p' out | head -1; }

offer disk --nbd 127.0.0.1:0 --nbd "unix:$SOCK" --tls-psk-file keys --json
jq -e '[.listeners[].nbd_uri[:4]] | all(. == "nbds")' out >/dev/null || die "$(cat out)"
at=$(jq -r '.listeners[0].nbd_uri' out | sed 's#nbds://\(.*\)/#\1#')
uri="nbds://alice@$at/?tls-psk-file=$PWD/keys"
nbdcopy "$uri" copied
cmp disk copied
nbdcopy "nbds+unix://alice@/?socket=$SOCK&tls-psk-file=$PWD/keys" null:
mkdir qemu
cp keys qemu/keys.psk
qemu-img convert --object "tls-creds-psk,id=t,dir=$PWD/qemu,endpoint=client,username=alice" --image-opts \
	"driver=nbd,host=${at%:*},port=${at#*:},tls-creds=t" -O raw copied
cmp disk copied
ours copy "$uri" ours --verify >copy.out
cmp disk ours
[ "$(ours info "$uri" --json | jq -r .security)" = tls-psk ] || die "info"
nbdsh -c "h.set_tls(nbd.TLS_REQUIRE)" -c "h.set_tls_username('alice')" -c "h.set_tls_psk_file('keys')" \
	-c "h.connect_tcp('${at%:*}', '${at#*:}')" -c 'assert h.get_tls_negotiated() and h.get_structured_replies_negotiated()' \
	-c 'buf = h.pread(3 << 20, 12288)' -c "assert buf == open('disk', 'rb').read()[12288:12288 + (3 << 20)]" \
	-c 'h.pwrite(buf[:1000 * 512], 512)' -c 'h.flush()' -c 'assert h.pread(1000 * 512, 512) == buf[:1000 * 512]' -c 'h.shutdown()'

# status shows who is connected, and how each has proven itself
hold "$uri"
wait_running "$holder" eval 'clients | grep -Eqx " tcp 127.0.0.1 null null tls-psk 1.3 $cipher alice"'
port=$(jq -r --argjson pid "$SERVER" '.serving[] | select(.pid == $pid) | .nbd_clients[].trsvcid' status.json)
ours status >text
grep -Eq "^CLIENT +EXPORT +SECURITY +TLS +CIPHER +PID +IDENTITY" text || die "$(cat text)"
grep -Eq "^127.0.0.1:$port +- +tls-psk +1.3 +$cipher +$SERVER +alice" text || die "$(cat text)"
leave
hold "nbds+unix://alice@/?socket=$SOCK&tls-psk-file=$PWD/keys"
wait_running "$holder" eval 'clients | grep -Eqx " unix null $holder $(id -u) tls-psk 1.3 $cipher alice"'
ours status | grep -Eq "^process $holder \(uid $(id -u)\) +- +tls-psk +1.3 +$cipher +$SERVER +alice" || die "$(ours status)"
leave

random_file disk2 64
nbdcopy disk2 "$uri"
cmp disk disk2
ours copy copied "$uri" --force >copy.out
cmp disk copied

# strangers
for key in wrong other; do
	user=alice
	[ $key = wrong ] || user=bob
	if nbdinfo "nbds://$user@$at/?tls-psk-file=$PWD/$key" 2>nbdinfo.err; then die "$key was accepted"; fi
	error 1 auth "$at" "rejected 'PSK|PSK $user wrong.key unknown.user" ours info "nbds://$user@$at/?tls-psk-file=$PWD/$key"
done
mkdir empty
error 1 auth "$at" 'rejected certificates no.common.way' ours info "nbds://$at/?tls-certificates=empty&tls-verify-peer=no"
[ "$(grep -c 'warning' err)" = 1 ] || die "not one warning in ten seconds: $(cat err)"
grep -q "wrong key of user 'alice'" err || die "$(cat err)"

# without TLS: an option is refused, the oldest way to open an export closes the connection
error 1 auth "$at" 'requires TLS nbds' ours info "nbd://$at/"
if nbdinfo "nbd://$at/" 2>nbdinfo.err; then die "plain text was served"; fi
python3 - "$at" <<'END'
import socket, struct, sys
host, port = sys.argv[1].split(":")

def dial():
    s = socket.create_connection((host, int(port)))
    hello = s.recv(18, socket.MSG_WAITALL)
    assert hello[:8] == b"NBDMAGIC"
    s.sendall(struct.pack(">I", 3))
    return s

def opt(s, code, data=b""):
    s.sendall(struct.pack(">8sII", b"IHAVEOPT", code, len(data)) + data)

def reply(s):
    magic, code, kind, length = struct.unpack(">QIII", s.recv(20, socket.MSG_WAITALL))
    s.recv(length, socket.MSG_WAITALL)
    return kind

s = dial()
for code in 3, 6, 7, 8, 9, 10, 99:
    opt(s, code)
    assert reply(s) == 0x80000005, code
opt(s, 5, b"x")
assert reply(s) == 0x80000003
opt(s, 2)
assert reply(s) == 1 and s.recv(1) == b""
s = dial()
opt(s, 1, b"")
assert s.recv(1) == b""
# what is sent in clear behind STARTTLS is not an option within TLS: the server ends the connection
s = dial()
s.sendall(struct.pack(">8sII", b"IHAVEOPT", 5, 0) + struct.pack(">8sII", b"IHAVEOPT", 8, 0))
assert reply(s) == 1
try:
    assert s.recv(1) == b""
except ConnectionResetError:
    pass
# nor is it TLS
s = dial()
opt(s, 5)
assert reply(s) == 1
opt(s, 8)
assert s.recv(1000)[:1] in (b"", b"\x15") # an alert
END
stop

# certificates
authority ca
authority another
certificate server server 127.0.0.1 ca 10 rsa:2048
cp ca/ca-cert.pem server
certificate client client alice ca
cp ca/ca-cert.pem client
mkdir anonymous
cp ca/ca-cert.pem anonymous
certificate foreign client alice another
cp ca/ca-cert.pem foreign
certificate distrust client alice ca
cp another/ca-cert.pem distrust
certificate late client alice ca 0
cp ca/ca-cert.pem late

offer disk --nbd 127.0.0.1:0 --tls-certificates server
at=$(address)
nbdcopy "nbds://$at/?tls-certificates=$PWD/client" copied
cmp disk copied
mkdir pki
cp client/* pki
qemu-img convert --object "tls-creds-x509,id=t,dir=$PWD/pki,endpoint=client" --image-opts "driver=nbd,host=${at%:*},port=${at#*:},tls-creds=t" -O raw copied
cmp disk copied
hold "nbds://$at/?tls-certificates=$PWD/client"
wait_running "$holder" eval 'clients | grep -Eqx " tcp 127.0.0.1 null null tls 1.3 $cipher CN=alice"'
kill -USR1 "$SERVER"
wait_until grep -Eq "^client 127.0.0.1:[0-9]+ of export '': tls, $cipher, CN=alice" err
leave
ours copy "nbds://$at/?tls-certificates=client" ours --force >copy.out
cmp disk ours
[ "$(ours info "nbds://$at/?tls-certificates=client" --json | jq -r .security)" = tls ] || die "info"
ours info "nbds://$at/?tls-certificates=distrust&tls-verify-peer=false" >info.out
grep -q 'certificate: CN=127.0.0.1, for 127.0.0.1, issued by CN=ca, valid from 20' info.out || die "$(cat info.out)"
ours doctor "nbds://$at/?tls-certificates=distrust" --json >doctor.json && die "doctor: trusted"
jq -e '[.findings[] | select(.topic == "target")] | .[0].state == "failure" and .[0].code == "auth" and
	(.[1] | .check == "certificate" and .issuer == "CN=ca" and .names == "127.0.0.1" and .state == "warning")' doctor.json || die "$(cat doctor.json)"
error 1 auth "$at" "another.name 'wrong' tls-hostname" ours info "nbds://$at/?tls-certificates=client&tls-hostname=wrong"
error 1 auth "$at" "can't.be.trusted ca-cert.pem" ours info "nbds://$at/?tls-certificates=distrust"
error 1 auth "$at" 'certificate' ours info "nbds://$at/?tls-certificates=anonymous"
error 1 auth "$at" '(rejected|closed) certificate' ours info "nbds://$at/?tls-certificates=foreign"
sleep 1 # its last second
error 1 auth "$at" '(rejected|closed) certificate' ours info "nbds://$at/?tls-certificates=late"
if nbdinfo "nbds://$at/?tls-certificates=$PWD/anonymous" 2>nbdinfo.err; then die "a client without certificate was served"; fi
stop
# without an authority, any client is served: with a warning where others can connect
rm server/ca-cert.pem
offer disk --nbd :0 --tls-certificates server
grep -q -e '--allow' err || die "no warning"
anonymous="nbds://127.0.0.1:$(address | sed 's/.*://')/?tls-certificates=$PWD/anonymous&tls-hostname=127.0.0.1"
ours info "$anonymous" >info.out
hold "$anonymous"
wait_running "$holder" eval 'clients | grep -Eqx " tcp 127.0.0.1 null null tls 1.3 $cipher null"'
leave
stop

# files
error 1 not-found none 'no.such.file' ours export disk --nbd "unix:$SOCK" --tls-psk-file none
chmod 644 keys
offer disk --nbd "unix:$SOCK" --tls-psk-file keys
grep -q 'warning: keys: secret file is readable.*644.*chmod 600 keys' err || die "no warning"
ours info "nbds+unix://alice@/?socket=$SOCK&tls-psk-file=keys" >info.out 2>info.err
grep -q 'warning: keys: secret file is readable' info.err || die "no warning of info"
stop
chmod 600 keys
error 2 usage '' '--tls-psk-file --nbd' ours export disk --ublk --tls-psk-file keys
cp client/client-key.pem server/server-key.pem
error 2 usage server/server-key.pem 'private.key server-cert.pem' ours export disk --nbd "unix:$SOCK" --tls-certificates server
echo junk >server/server-cert.pem
error 2 usage server/server-cert.pem 'PEM.certificate' ours export disk --nbd "unix:$SOCK" --tls-certificates server
