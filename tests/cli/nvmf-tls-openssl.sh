#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The TLS of NVMe/TCP with openssl as the peer, in both roles and with both cipher suites: openssl has the pre-shared key as a session,
# which other code than ours has derived. After the handshake PDUs pass in each direction.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires openssl python3 applet:info
openssl s_server -help 2>&1 | grep -q psk_session || { echo "needs openssl with -psk_session"; exit 77; }
set -e
umask 077

cat >psk.py <<'PY'
import base64, hashlib, hmac, struct, sys
config, host, nqn = open(sys.argv[1]).read().strip(), sys.argv[2], sys.argv[3]
key = base64.b64decode(config.split(":")[2])[:-4]
md, cipher, size = (hashlib.sha384, "2", 48) if len(key) == 48 else (hashlib.sha256, "1", 32)

def expand_label(secret, label, context):
    """HKDF-Extract without a salt, then HKDF-Expand-Label (RFC 8446, 7.1); one block, as no key is longer than the hash"""
    info = struct.pack(">H", size) + bytes([len(label)]) + label + bytes([len(context)]) + context
    return hmac.new(hmac.new(bytes(size), secret, md).digest(), info + b"\1", md).digest()

def der(tag, data):
    return bytes([tag]) + (bytes([len(data)]) if len(data) < 128 else bytes([0x81, len(data)])) + data

retained = key if config.split(":")[1] == "00" else expand_label(key, b"tls13 HostNQN", host.encode())
digest = base64.b64encode(hmac.new(retained, f"{host} {nqn} NVMe-over-Fabrics".encode(), md).digest()).decode()
psk = expand_label(retained, b"tls13 nvme-tls-psk", f"0{cipher} {digest}".encode())
# SSL_SESSION of openssl: version, TLS 1.3, cipher suite, no ID, the key, time, timeout
session = der(2, b"\1") + der(2, b"\3\4") + der(4, b"\x13" + bytes([int(cipher)])) + der(4, b"") + der(4, psk)
session = der(0x30, session + der(0xA1, der(2, b"\x65\0\0\0")) + der(0xA2, der(2, b"\x7f\0\0\0")))
lines = base64.b64encode(session).decode()
name = "SSL SESSION PARAMETERS"
print(f"-----BEGIN {name}-----", *(lines[i:i + 64] for i in range(0, len(lines), 64)), f"-----END {name}-----", sep="\n")
open(sys.argv[1] + ".identity", "w").write(f"NVMe1R0{cipher} {host} {nqn} {digest}")
PY

ours nvme gen-tls-key >one
ours nvme gen-tls-key -m 2 >two
for key in one two; do
	python3 psk.py $key "$HOST" "$NQN" >$key.session
	openssl sess_id -in $key.session -noout -text >$key.text || die "openssl does not read the session"
done
declare -A suite=([one]=TLS_AES_128_GCM_SHA256 [two]=TLS_AES_256_GCM_SHA384)
printf '\0\0\200\0\200' >icreq
printf '\1\0\200\0\200\0\0\0\0\0\0\0\0\20' >icresp # data of 4 KiB at most
truncate -s 128 icreq icresp
mkfifo typed

hex() { head -c "$1" | od -An -v -tx1 | tr -d ' \n'; }
# begins FILE HEX LENGTH: it has these bytes first, and at least so many
begins() { [ "$(stat -c %s "$1")" -ge "$3" ] && [ "$(hex $((${#2} / 2)) <"$1")" = "$2" ]; }
# listens_at PORT: somebody does, on 127.0.0.1
listens_at() { grep -q ":.* 0100007F:$(printf %04X "$1") 00000000:0000 0A " /proc/net/tcp; }
# openssl_up s_client|s_server IDENTITY-OF KEY WORD...: what is written to descriptor 5 it sends, what it receives is in "received"
openssl_up() {
	local role=$1 identity
	identity=$(cat "$2.identity")
	openssl "$role" "${@:4}" -quiet -brief -tls1_3 -psk_identity "$identity" -psk_session "$3.session" <typed >received 2>said &
	peer=$!
	exec 5>typed
}
openssl_down() {
	exec 5>&-
	kill $peer 2>/dev/null || true
	wait $peer || true
}

# our target
for key in one two; do
	echo "$HOST tls=$(cat $key)" >hosts
	serve ram:8M --nvmf --nqn "$NQN" --tcp 127.0.0.1:0 --hosts-file hosts --log log
	addr=$(sed -n 's/^rdmastor: *nvme+tcp:\/\/\([^/]*\).*/\1/p' out)
	openssl_up s_client $key $key -connect "$addr"
	cat icreq >&5
	wait_running $peer begins received 0100800080 128
	grep -q "^Ciphersuite: ${suite[$key]}$" said || die "$key: $(cat said)"
	openssl_down
	sed 's/psk = expand.*/psk = open("\/dev\/urandom", "rb").read(size)/' psk.py >other.py
	cp $key wrong
	python3 other.py wrong "$HOST" "$NQN" >wrong.session
	openssl_up s_client $key wrong -connect "$addr"
	! wait $peer || die "$key: a wrong key was accepted"
	exec 5>&-
	grep -qi alert said || die "$key: $(cat said)"
	same 'nothing received' '' "$(cat received)"
	stop
done

# our initiator
port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
for key in one two; do
	openssl_up s_server $key $key -nocert -accept "127.0.0.1:$port" -naccept 1
	wait_running $peer listens_at "$port"
	ours info "nvme+tcp://127.0.0.1:$port/$NQN?hostnqn=$HOST&tls-key-file=$key" >out 2>err &
	initiator=$!
	wait_running $initiator begins received 0000800080 128
	grep -q "^Ciphersuite: ${suite[$key]}$" said || die "$key: $(cat said)"
	cat icresp >&5
	wait_running $initiator begins received 0000800080 $((128 + 72 + 1024)) # Fabrics Connect
	same 'a command capsule' 04 "$(tail -c +129 received | hex 1)"
	openssl_down
	! wait $initiator || die "an initiator without a target is content"
done
