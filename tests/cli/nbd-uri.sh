#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# What an NBD URI may say and what not, each refusal with its reason.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires nbdkit jq

kit -v --filter=exportname memory 1M exportname='/a b' exportname-strict=true
ours info "nbd+unix:////a%20b?socket=$SOCK" --json | jq -e '.export == "/a b"' >/dev/null || die "a name with a slash and a blank"
says() { # STATUS REGEX URI
	fails "$1" "$2" "$RDMASTOR" info "$3"
}
says 1 "the server has no export 'nosuch'" "nbd+unix:///nosuch?socket=$SOCK"
for ((i = 0; i < 50; i++)); do grep -q 'replying to NBD_OPT_ABORT' server.out && break; sleep 0.1; done
[ $i -lt 50 ] || die "no good-bye to a server that refuses: $(cat server.out)"
says 1 "the server has no export ''" "$URI"
says 2 "unknown key 'sockte'" "nbd+unix:///?sockte=x&socket=$SOCK"
says 2 'did you mean queues=' "nbd+unix:///?socket=$SOCK&queue=2"
says 2 "unknown key 'socket'" "nbd://127.0.0.1/?socket=$SOCK"
says 2 'socket=PATH is missing' "nbd+unix:///"
says 2 "'there': a unix socket is on no host" "nbd+unix://there/?socket=$SOCK"
says 2 'no host in' "nbd:///x"
says 2 'queues=: must be 1 to' "$URI&queues=0"
says 2 'depth=: must be 1 to 1024' "$URI&depth=5000"
says 2 'io-timeout=: must be more than 0' "$URI&io-timeout=0"
says 2 'at most 107 bytes long' "nbd+unix:///?socket=$(printf '/x%.0s' {1..60})"
says 2 "iface='': 1 to 15 characters" "nbd://127.0.0.1/?iface="
for uri in nbds://127.0.0.1/x "nbds+unix:///x?socket=$SOCK"; do
	says 1 "asks for TLS, which is not supported" "$uri"
done
for key in tls-type=x509 tls-hostname=x tls-verify-peer=0; do
	says 1 "${key%=*}=: TLS is not supported" "$URI&$key"
done
says 1 "a user \('me'\) belongs to TLS" "nbd://me@127.0.0.1/"
says 1 'nosuch: connect: no such file' "nbd+unix:///?socket=$TMP/nosuch"
: >plain
says 1 "nobody listens at unix:$TMP/plain" "nbd+unix:///?socket=$TMP/plain"
says 1 'nobody listens at TCP 127.0.0.1:1' "nbd://127.0.0.1:1/"
