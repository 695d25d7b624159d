#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Valid and invalid NBD URIs, each refusal with its reason.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires nbdkit jq

kit -v --filter=exportname memory 1M exportname='/a b' exportname-strict=true
ours info "nbd+unix:////a%20b?socket=$SOCK" --json | jq -e '.name == "/a b"' >/dev/null || die "a name with a slash and a blank"
says() { # STATUS CODE OBJECT WORDS URI
	error "$1" "$2" "$3" "$4" "$RDMASTOR" info "$5"
}
of_it() { # STATUS CODE WORDS URI: the object is the URI
	says "$1" "$2" "$(ere "$4")" "$3" "$4"
}
says 1 not-found "unix:$SOCK" "export 'nosuch'" "nbd+unix:///nosuch?socket=$SOCK"
wait_until grep -q 'replying to NBD_OPT_ABORT' server.out
says 1 not-found "unix:$SOCK" "export ''" "$URI"
of_it 2 usage "'sockte'" "nbd+unix:///?sockte=x&socket=$SOCK"
of_it 2 usage "'queue' queues=" "nbd+unix:///?socket=$SOCK&queue=2"
of_it 2 usage "'socket'" "nbd://127.0.0.1/?socket=$SOCK"
of_it 2 usage 'socket=PATH' "nbd+unix:///"
of_it 2 usage "'there'" "nbd+unix://there/?socket=$SOCK"
of_it 2 usage '\<host\>' "nbd:///x"
of_it 2 usage 'queues= \<256$' "$URI&queues=0"
of_it 2 usage '\<depth= \<1024$' "$URI&depth=5000"
of_it 2 usage 'io-timeout= \<0$' "$URI&io-timeout=0"
of_it 2 usage '\<107\>' "nbd+unix:///?socket=$(printf '/x%.0s' {1..60})"
of_it 2 usage "iface= \\<15\\>" "nbd://127.0.0.1/?iface="
for key in tls-psk-file=x tls-certificates=x tls-hostname=x tls-verify-peer=0; do
	of_it 2 usage "${key%=*}= TLS nbds" "$URI&$key"
done
of_it 2 usage 'tls=maybe expected.tls=optional$' "$URI&tls=maybe"
of_it 2 usage 'nbds.requires.TLS nbd.with.tls=optional' "nbds://127.0.0.1/?tls=optional"
of_it 2 usage "'tls-type'" "nbds://127.0.0.1/x?tls-type=x509"
of_it 2 usage "'me' TLS nbds" "nbd://me@127.0.0.1/"
says 1 not-found "unix:$TMP/nosuch" 'no.such.file' "nbd+unix:///?socket=$TMP/nosuch"
: >plain
says 1 refused "unix:$TMP/plain" 'connection.refused' "nbd+unix:///?socket=$TMP/plain"
says 1 refused '127.0.0.1:1' 'connection.refused' "nbd://127.0.0.1:1/"

# a file that is missing, also where a listing for a hint reads it again
for uri in 'nbds://127.0.0.1:1/?tls-psk-file=none' 'nbd://127.0.0.1:1/?tls=optional&tls-psk-file=none'; do
	error 1 not-found none '' ours info "$uri"
done
error 1 not-found 'none.*pem' '' ours info 'nbds://127.0.0.1:1/?tls-certificates=none'
