#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Keys that hosts and targets exchange. Those in this file are of nvme-cli 2.3 (DH-HMAC-CHAP) and of libnvme's test/psk.c (TLS).
. "$(dirname "$0")/lib.sh"
set -e
requires jq
umask 077
nvme() { "$RDMASTOR" nvme "$@"; }

# makes PATTERN COMMAND…: two different keys of that form, which are valid
makes() {
	local pattern=$1
	shift
	nvme "$@" >one
	nvme "$@" >two
	grep -Eqx "$pattern" one && [ "$(wc -l <one)" = 1 ] || die "$*: $(cat one)"
	! cmp -s one two || die "$* repeats itself"
	nvme "check-${1#gen-}" -f one >/dev/null
}
base64='[A-Za-z0-9+/]'
makes "DHHC-1:00:$base64{48}:" gen-dhchap-key
makes "DHHC-1:00:$base64{70}==:" gen-dhchap-key -l 48
makes "DHHC-1:00:$base64{91}=:" gen-dhchap-key --key-length 64
makes "DHHC-1:01:$base64{48}:" gen-dhchap-key -m 1
makes "DHHC-1:02:$base64{70}==:" gen-dhchap-key --hmac 2
makes "DHHC-1:03:$base64{91}=:" gen-dhchap-key -m 3 -l 64
makes "NVMeTLSkey-1:01:$base64{48}:" gen-tls-key
makes "NVMeTLSkey-1:02:$base64{70}==:" gen-tls-key -m 2
for name in kxchap-secret kxchap tls-psk tls; do
	nvme keys "gen-$name" -m 1 >key
	case $name in kxchap*) pattern="DHHC-1:01:$base64{48}:" ;; tls*) pattern="NVMeTLSkey-1:01:$base64{48}:" ;; esac
	grep -Eqx "$pattern" key || die "keys gen-$name: $(cat key)"
	same "keys check-$name" "$(nvme keys "check-$name" --key-fd 0 <key)" 'Key is valid (HMAC 1, length 32)'
done
error 2 usage '' DHHC "$RDMASTOR" nvme keys check-kxchap --json -f key
same "completion of keys" "$("$RDMASTOR" --complete nvme keys check- | cut -f1 | sort | xargs)" \
	'check-kxchap check-kxchap-secret check-tls check-tls-psk'

error 2 usage '' '--key-length.48 32' "$RDMASTOR" nvme gen-dhchap-key -m 1 -l 48 --json
error 2 usage '' '--key-length.40 48' "$RDMASTOR" nvme gen-dhchap-key -l 40 --json
error 2 usage '' '-m 3' "$RDMASTOR" nvme gen-dhchap-key -m 4 --json
error 2 usage '' '-m 2' "$RDMASTOR" nvme gen-tls-key -m 0 --json
error 2 usage '' 'text' "$RDMASTOR" nvme gen-dhchap-key --json
error 2 usage '' 'text' "$RDMASTOR" nvme gen-tls-key --json
error 2 usage '' "'gen-x' nvme-cli" "$RDMASTOR" nvme keys gen-x --json

# checks JSON LINE KEYWORD…: what is said of that key
checks() {
	local fields=$1 line=$2 command=$3
	shift 3
	nvme "check-$command" --json -f key "$@" >out
	valid out
	same "$command $(cat key)" "$(jq -c 'del(.schema, .version)' out)" "$fields"
	same "$command, text" "$(nvme "check-$command" -f key "$@" | head -n 1)" "$line"
}
echo DHHC-1:01:lsQiaT7k8KIpUOKZaaNSqhOzmnDvVmzOrF5fGV6FmTCp0iKh: >key
checks '{"hash":"SHA-256","length":32}' 'Key is valid (HMAC 1, length 32)' dhchap-key
error 2 usage '' NVMeTLSkey "$RDMASTOR" nvme check-tls-key --json -f key
echo NVMeTLSkey-1:01:VRLbtnN9AQb2WXW3c9+wEf/DRLz0QuLdbYvEhwtdWwNf9LrZ: >key
checks '{"hash":"SHA-256","length":32}' 'Key is valid (HMAC 1, length 32)' tls-key
identity='NVMe1R01 nqn.psk-test-host nqn.psk-test-subsys iSbjiStwJ/1TrTvDlt2fjFmzvsytOJelidNnA+X5lEU='
checks "{\"hash\":\"SHA-256\",\"length\":32,\"psk_identity\":\"$identity\"}" 'Key is valid (HMAC 1, length 32)' tls-key \
	-n nqn.psk-test-host -c nqn.psk-test-subsys
error 2 usage '' DHHC "$RDMASTOR" nvme check-dhchap-key --json -f key
error 2 usage '' 'hostnqn subsysnqn' "$RDMASTOR" nvme check-tls-key --json -f key -n nqn.psk-test-host
error 2 usage '' 'NQN long' "$RDMASTOR" nvme check-tls-key --json -f key -n "$(printf 'n%.0s' {1..300})" -c nqn.x

sed -i s/VRLb/VRLc/ key
error 2 usage '' checksum "$RDMASTOR" nvme check-tls-key --json -f key
! grep -q VRLc error.out error.err || die 'the key is quoted'
error 2 usage '' 'no.key --key-file' "$RDMASTOR" nvme check-tls-key --json
error 2 usage '' 'more.than.one' "$RDMASTOR" nvme check-tls-key --json -f key --key-fd 0
error 2 usage '' 'long' "$RDMASTOR" nvme check-dhchap-key --json -k "$(printf 'D%.0s' {1..200})"
error 1 not-found '' 'none No.such.file' "$RDMASTOR" nvme check-tls-key --json -f none
nvme check-dhchap-key -k DHHC-1:01:lsQiaT7k8KIpUOKZaaNSqhOzmnDvVmzOrF5fGV6FmTCp0iKh: 2>err >out
grep -q 'warning: .*key-file' err && grep -q valid out || die "$(cat err out)"
chmod 644 key
nvme check-tls-key -f key 2>err >out || grep -q 'warning: .*mode 644' err || die "$(cat err)"
