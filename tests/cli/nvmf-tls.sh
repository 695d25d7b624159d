#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Hosts in a file use TLS with a key; SIGHUP reads it again; each failure is named on both sides, and no key is printed.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

secret=DHHC-1:00:Y29ycmVjdCBob3JzZSBiYXR0ZXJ5IHN0YXBsZSAuLi7e4S7L:
umask 077
ours nvme gen-tls-key >one
ours nvme gen-tls-key -m 2 >two
echo $secret >secret
one=$(cat one) two=$(cat two)
listen=(--nvmf --nqn "$NQN" --tcp 127.0.0.1:0)
uri() { echo "$(sed -n 's/^rdmastor: *//p' out)?hostnqn=$1"; }
security() { ours info "$1" --json | jq -r .security; }
# discovered HOSTNQN: what the log says of TLS
discovered() {
	local uri
	uri=$(uri "$1")
	ours nvmf-discover "${uri/$NQN/}" --json | jq -r '.records[] | .treq + ", " + .sectype'
}

printf '%s\n' "$HOST tls=$one # the only one" "nqn.both dhchap=$secret tls=$two" >hosts
serve ram:8M "${listen[@]}" --hosts-file hosts --log log
port='127.0.0.1:[0-9]*'
same security "$(security "$(uri "$HOST")&tls-key-file=one")" tls-psk
ours info "$(uri "$HOST")&tls-key-file=one" | grep -q '^security: *TLS 1.3, .*AES-128-GCM-SHA256' || die 'no AES-128'
both="$(uri nqn.both)&tls-key-file=two"
same 'with authentication' "$(security "$both&dhchap-secret-file=secret")" tls-psk+dh-hmac-chap
ours info "$both&dhchap-secret-file=secret" | grep -q '^security: *TLS 1.3, .*AES-256-GCM-SHA384, DH-HMAC-CHAP$' || die 'no AES-256'
random_file data 8
ours copy data "$(uri "$HOST")&tls-key-file=one" >/dev/null
ours copy "$(uri "$HOST")&tls-key-file=one" back >/dev/null
cmp data back

# the status of the server shows the hosts that are connected, and how each has proven itself
mkfifo hold
hosts() { ours status --json | jq -r --argjson pid "$SERVER" '.serving[] | select(.pid == $pid) | .hosts // [] | .[] |
	"\(.hostnqn) \(.subnqn) \(.traddr) \(.security) \(.tls_version) \(.tls_cipher) \(.tls_identity | .[:8])"'; }
hosts_are() { [ "$(hosts)" = "$1" ]; }
# connected URI HOST-AS-SHOWN
connected() {
	"$RDMASTOR" copy -q "$1" - >hold 2>hold.err & copy=$!
	exec 8<hold
	wait_until hosts_are "$2"
}
disconnect() {
	exec 8<&-
	wait "$copy" || true
	wait_until hosts_are ''
}
connected "$(uri "$HOST")&tls-key-file=one" "$HOST $NQN 127.0.0.1 tls-psk 1.3 TLS_AES_128_GCM_SHA256 NVMe1R01"
ours status --json >status.json
valid status.json
ours status >text
grep -Eq "^$HOST +127.0.0.1 +tls-psk +1.3 +TLS_AES_128_GCM_SHA256 +$SERVER +NVMe1R01 $HOST $NQN " text || die "$(cat text)"
kill -USR1 "$SERVER"
wait_until grep -q "host $HOST at 127.0.0.1: tls-psk, TLS_AES_128_GCM_SHA256" log
disconnect
connected "$both&dhchap-secret-file=secret" "nqn.both $NQN 127.0.0.1 tls-psk+dh-hmac-chap 1.3 TLS_AES_256_GCM_SHA384 NVMe1R02"
disconnect

error 1 auth "$port" 'TLS wrong.key unknown.host check-tls-key' ours info "$(uri "$HOST")&tls-key-file=two"
grep -q "unknown host 'NVMe1R02 $HOST $NQN " log || die "$(cat log)"
error 1 auth "$port" 'TLS unknown.host' ours info "$(uri nqn.other)&tls-key-file=one"
error 1 auth "$port" 'requires.authentication' ours info "$both"
error 1 auth "$port" 'authentication' ours info "$(uri "$HOST")"
same 'the discovery log' "$(discovered "$HOST")" 'required, sq flow control disable supported, tls13'
for query in "$(uri "$HOST")&tls-key-file=one" "$both&dhchap-secret-file=secret"; do
	ours nvmf-discover "${query/$NQN/}" --uris >uris
	same 'security of the printed URI' "$(security "$(<uris)")" "$(security "$query")"
done
stop
! grep -e "${one:16:40}" -e "${two:16:40}" log err out || die 'a key was printed'

# the reason of the first refusal is reported at once, those of the next 10 s are only counted
echo "$HOST tls=$one" >hosts
serve ram:8M "${listen[@]}" --hosts-file hosts --log log
error 1 auth "$port" 'host' ours info "$(uri "$HOST")"
grep -q "host '$HOST' refused, as it does not use TLS" log || die "$(cat log)"
echo "$HOST tls=nonsense" >hosts
kill -HUP "$SERVER"
wait_until grep -q 'hosts line 1: TLS key: expected.*keeping the old hosts' log
same 'old hosts' "$(security "$(uri "$HOST")&tls-key-file=one")" tls-psk
printf '%s\n' "$HOST tls=$two" "nqn.plain dhchap=$secret" >hosts
mv log log.1
kill -HUP "$SERVER"
wait_until grep -qs 'hosts: 2 hosts' log
same 'new hosts' "$(security "$(uri "$HOST")&tls-key-file=two")" tls-psk
same 'beside one without TLS' "$(security "$(uri nqn.plain)&dhchap-secret-file=secret")" dh-hmac-chap
same 'the new log' "$(discovered "$HOST")" 'not required, sq flow control disable supported, tls13'
error 1 auth "$port" 'wrong.key' ours info "$(uri "$HOST")&tls-key-file=one"
stop

# a target without TLS
serve ram:8M "${listen[@]}"
error 1 closed "$port" 'closed TLS' ours info "$(uri "$HOST")&tls-key-file=one"
same 'no TLS' "$(discovered "$HOST")" 'not required, sq flow control disable supported, none'
stop

# keys of the URI
target=nvme+tcp://127.0.0.1:1/$NQN
echo nonsense >bad
error 2 usage '.*' 'tls-key-file=bad expected NVMeTLSkey-1:0n:' ours info "$target?tls-key-file=bad"
error 2 usage '.*' 'tls-key-file=secret expected NVMeTLSkey-1:0n:' ours info "$target?tls-key-file=secret"
error 1 not-found '.*' 'nothing no.such.file' ours info "$target?tls-key-file=nothing"
error 2 usage '.*' 'tls-key-file NVMe/TCP' ours info "nvme+rdma://127.0.0.1:1/$NQN?rdma=iwarp&tls-key-file=one"
