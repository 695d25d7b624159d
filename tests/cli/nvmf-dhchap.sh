#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Hosts in a file authenticate with DH-HMAC-CHAP; SIGHUP reads it again; each failure is named, and no secret is printed.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

one=DHHC-1:00:Y29ycmVjdCBob3JzZSBiYXR0ZXJ5IHN0YXBsZSAuLi7e4S7L:
two=DHHC-1:00:dGhpcyBpcyBub3QgdGhlIGtleSB5b3Ugd2FudGVkIS7Lr4OS:
umask 077
echo $one >one
echo "$two	behind the first blank" >two
chmod 600 one two
listen=(--nvmf --nqn "$NQN" --tcp 127.0.0.1:0 --rdma '127.0.0.1:0?rdma=iwarp')
uris() { sed -n 's/^rdmastor: *//p' out; }
security() { ours info "$1" --json | jq -r .security; }
key() { case $1 in *\?*) echo "$1&$2" ;; *) echo "$1?$2" ;; esac; }

echo "$HOST dhchap=$one dhchap-ctrl=$two # the only one" >hosts
serve ram:8M "${listen[@]}" --hosts-file hosts --log log
[ "$(grep -c '^nvme-cli: nvme connect .* --dhchap-secret KEY\b' out)" = 2 ] || die "$(cat out)"
for uri in $(uris); do
	uri=$(key "$uri" "hostnqn=$HOST")
	same one-way "$(security "$uri&dhchap-secret-file=one")" dh-hmac-chap
	same mutual "$(security "$uri&dhchap-secret-file=one&dhchap-ctrl-secret-file=two")" mutual-dh-hmac-chap
	error 1 auth '127.0.0.1:[0-9]*' 'refused wrong.secret dhchap-secret-file' ours info "$uri&dhchap-secret-file=two"
	error 1 auth '127.0.0.1:[0-9]*' 'controller.secret dhchap-ctrl-secret-file' ours info "$uri&dhchap-secret-file=one&dhchap-ctrl-secret-file=one"
	error 1 auth '127.0.0.1:[0-9]*' 'requires.authentication dhchap-secret-file' ours info "$uri"
done
uri="$(uris | grep tcp)?hostnqn=$HOST"
error 1 auth '127.0.0.1:[0-9]*' 'wrong.secret' ours info "${uri/hostnqn=/hostnqn=nqn.other.}&dhchap-secret-file=one"
grep -q "host '$HOST' failed to authenticate" log || die "$(cat log)"
random_file data 8
ours copy data "$uri&dhchap-secret-file=one" >/dev/null
ours copy "$uri&dhchap-secret-file=one" back >/dev/null
cmp data back

plain='correct horse battery' # of $one
in_memory() { python3 "$HERE/memory.py" "$@" "$SERVER" "${one:10:24}" "$plain"; }
if [ "$(id -u)" = 0 ]; then
	same 'in memory' "$(in_memory)" "$plain"
	same 'in memory that is not locked' "$(in_memory --unlocked)" ''
	locked "$plain" "$uri&dhchap-secret-file=one"
fi

# a file that became invalid changes nothing; a new one replaces the secrets, and reopens the log
echo "$HOST dhchap=nonsense" >hosts
kill -HUP "$SERVER"
wait_until grep -q 'hosts line 1: DH-HMAC-CHAP secret: expected.*keeping the old hosts' log
same 'old hosts' "$(security "$uri&dhchap-secret-file=one")" dh-hmac-chap
mv log log.1
echo "$HOST dhchap=$two" >hosts
kill -HUP "$SERVER"
wait_until grep -qs 'hosts: 1 hosts' log
[ "$(id -u)" != 0 ] || [ -z "$(in_memory)" ] || die "still in memory: $(in_memory)"
same 'new hosts' "$(security "$uri&dhchap-secret-file=two")" dh-hmac-chap
error 1 auth '127.0.0.1:[0-9]*' 'wrong.secret' ours info "$uri&dhchap-secret-file=one"
# a host that must use TLS, with a key that the authentication generates
mv log log.2
echo "$HOST dhchap=$one concat=required" >hosts
kill -HUP "$SERVER"
wait_until grep -qs 'hosts: 1 hosts' log
same 'concatenation' "$(security "$uri&dhchap-secret-file=one&concat=yes")" tls-generated-psk+dh-hmac-chap
error 1 unsupported '127.0.0.1:[0-9]*' 'requires.secure.channel.concatenation concat=yes' ours info "$uri&dhchap-secret-file=one"
rdma="$(key "$(uris | grep rdma)" "hostnqn=$HOST&dhchap-secret-file=one")"
error 1 unsupported '127.0.0.1:[0-9]*' 'requires.secure.channel.concatenation nvme.tcp' ours info "$rdma"
stop
! grep -e Y29y -e dGhp log log.1 log.2 err out || die 'a secret was printed'

for mode in 640 604 610; do
	chmod $mode hosts
	error 1 permission hosts "mode.$mode chmod.600" ours serve ram:1M "${listen[@]}" --hosts-file hosts
done
# systemd's credentials: the group's bits are the mask of an ACL
chmod 440 hosts
error 2 usage - 'list.of.secrets file' ours serve ram:1M "${listen[@]}" --hosts-file -
error 1 permission "$TMP/hosts" 'mode.440' env CREDENTIALS_DIRECTORY=/ "$RDMASTOR" serve ram:1M "${listen[@]}" --hosts-file "$TMP/hosts"
CREDENTIALS_DIRECTORY=$TMP serve ram:8M "${listen[@]}" --hosts-file "$TMP/hosts"
stop
chmod 444 hosts
error 1 permission "$TMP/hosts" 'mode.444' env CREDENTIALS_DIRECTORY="$TMP" "$RDMASTOR" serve ram:1M "${listen[@]}" --hosts-file "$TMP/hosts"
chmod 600 hosts
echo "$HOST" >>hosts
error 2 usage 'hosts line 2' 'twice' ours serve ram:1M "${listen[@]}" --hosts-file hosts
error 1 not-found nothing 'no.such.file' ours serve ram:1M "${listen[@]}" --hosts-file nothing
error 2 usage . 'regular.file' ours serve ram:1M "${listen[@]}" --hosts-file .
error 2 usage --dhchap-hash "'md5' sha384" ours serve ram:1M "${listen[@]}" --hosts-file hosts --dhchap-hash md5
error 2 usage --dhchap-dhgroup "'x25519' null ffdhe8192" ours serve ram:1M "${listen[@]}" --hosts-file hosts --dhchap-dhgroup x25519
error 2 usage '' '--dhchap-hash --dhchap-dhgroup --hosts-file' ours serve ram:1M "${listen[@]}" --dhchap-hash sha256
error 2 usage '' '--hosts-file --nvmf' ours serve ram:1M --iscsi --tcp 127.0.0.1:0 --hosts-file hosts

# keys of the URI
target=nvme+tcp://127.0.0.1:1/$NQN
echo nonsense >bad
error 2 usage '.*' 'dhchap-secret-file=bad expected DHHC-1:0n:' ours info "$target?dhchap-secret-file=bad"
error 2 usage '.*' 'dhchap-ctrl-secret-file dhchap-secret-file' ours info "$target?dhchap-ctrl-secret-file=two"
error 1 not-found '.*' 'nothing no.such.file' ours info "$target?dhchap-secret-file=nothing"

# an open address needs no warning then
echo "$HOST dhchap=$one" >hosts
serve ram:1M --nvmf --tcp 0.0.0.0:0 --hosts-file hosts
[ ! -s err ] || die "$(cat err)"
stop
