#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# nbd-server answers in simple replies and knows no holes: copies in both directions work; read-only and unknown exports are
# named.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
PATH=$PATH:/usr/sbin:/sbin
requires nbd-server cmp jq

random_file src 16
truncate -s 16M disk
conf_server "$TMP/disk" 'flush = true' 'fua = true' 'trim = true'
X="nbd+unix:///x?socket=$SOCK"
ours info "$X" --json >info || die info
jq -e '.structured_replies == false and .size == 16777216' info >/dev/null || die "$(cat info)"
ours copy src "$X" --verify >out || die "to it"
cmp src disk || die "bytes differ on the server"
ours copy "$X" dst >out || die "from it"
cmp src dst || die "bytes differ"
error 1 not-found "unix:$SOCK" "export 'nosuch'" "$RDMASTOR" info "nbd+unix:///nosuch?socket=$SOCK"
conf_down
conf_server "$TMP/disk" 'readonly = true'
error 1 permission "unix:$SOCK" "export 'x' read-only" "$RDMASTOR" copy src "$X"
ours copy "$X" dst2 >out || die "from a read-only one"
cmp src dst2 || die "bytes differ"
