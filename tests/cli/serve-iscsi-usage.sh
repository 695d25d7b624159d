#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Wrong calls of serve --iscsi.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

umask 077
error 2 usage '' 'protocol' ours serve ram:1M --tcp :0
error 2 usage '' 'iscsi' ours serve ram:1M --nvmf --tcp 127.0.0.1:0 --iqn iqn.2024-01.lab:d
error 2 usage '' 'allow-host' ours serve ram:1M --iscsi --tcp 127.0.0.1:0 --allow-host nqn.2024-01.lab:h
error 2 usage '' 'iscsi' ours serve ram:1M --nvmf --tcp 127.0.0.1:0 --initiators-file initiators
error 2 usage '' 'iqn' ours serve ram:1M --iscsi --tcp 127.0.0.1:0 --iqn disk
error 2 usage '' 'iqn disks' ours serve ram:1M --iscsi --tcp 127.0.0.1:0 --iqn iqn.a --iqn iqn.b
error 2 usage '' 'allow-initiator' ours serve ram:1M --iscsi --tcp 127.0.0.1:0 --allow-initiator 'my host'
error 2 usage '' 'iscsi address' ours serve ram:1M --nvmf --tcp 127.0.0.1:0 --iscsi
error 2 usage '' 'tcp follow' ours serve ram:1M --tcp 127.0.0.1:0 --nvmf --iscsi --tcp 127.0.0.1:0

refused() { # WORDS LINE...
	printf '%s\n' "${@:2}" >initiators
	error 2 usage "initiators line $(($# - 1))" "$1" ours serve ram:1M --iscsi --tcp 127.0.0.1:0 --initiators-file initiators
	! grep -e longenough -e short error.err || die 'a secret was printed'
}
good='user=joe secret=longenough1234'
refused 'user=NAME' 'iqn.a secret=longenough1234'
refused 'secret=SECRET' 'iqn.a user=joe'
refused 'secret= 12.to.256' 'iqn.a user=joe secret=shortsecret'
refused 'target-secret= 12.to.256' "iqn.a $good target-secret=short"
refused 'target-user= target-secret=' "iqn.a $good target-user=disk"
refused 'user= twice' "iqn.a $good user=jim"
refused 'unknown.word' "iqn.a $good longenough1234"
refused 'unknown.word chap=md5' "iqn.a $good chap=none"
refused 'iqn.a twice' '# a comment' '' "iqn.a $good" "iqn.a $good"
refused '\* twice' "* $good" "* $good"
refused 'same both.directions' "iqn.a $good target-secret=longenough1234"
refused "same 'iqn.b' both.directions" "iqn.b $good" 'iqn.a user=joe secret=anothergood123 target-secret=longenough1234'
refused 'initiator.name' "iqn.$(printf '%0230d' 0) $good"
for mode in 640 604 610; do
	chmod $mode initiators
	error 1 permission initiators "mode.$mode chmod.600" ours serve ram:1M --iscsi --tcp 127.0.0.1:0 --initiators-file initiators
done
error 1 not-found nothing 'no.such.file' ours serve ram:1M --iscsi --tcp 127.0.0.1:0 --initiators-file nothing
error 2 usage . 'regular.file' ours serve ram:1M --iscsi --tcp 127.0.0.1:0 --initiators-file .
for option in --secret-file --target-user --target-secret-file; do
	error 2 usage '' "$option initiators-file" ours serve ram:1M --iscsi --tcp 127.0.0.1:0 $option x
done
error 2 usage '.*' 'rdma' ours serve ram:1M --iscsi --rdma '127.0.0.1:0?rdma=tcp'

# a file of another kind: no word of it is printed, as each may be a secret
(umask 077; echo 'hush1hush1hush:hush2 user=joe' >other)
for option in '--iscsi --initiators-file' '--nvmf --hosts-file'; do
	# shellcheck disable=SC2086 # several words
	error 2 usage 'other line 1' 'expected' ours serve ram:1M ${option% *} --tcp 127.0.0.1:0 ${option#* } other
	! grep -q hush error.err || die "a secret was printed: $(cat error.err)"
done
echo '* user=joe secret=hush1hush1hush:hush2' >other
error 2 usage 'other line 1' 'expected USER:KEY' ours export ram:1M --nbd 127.0.0.1:0 --tls-psk-file other
! grep -q hush error.err || die "a secret was printed: $(cat error.err)"
