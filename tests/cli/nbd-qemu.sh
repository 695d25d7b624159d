#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A qcow2 image is restored through qemu-nbd, which takes one client at a time; zeroes stay holes; qemu finds the image sound.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires qemu-nbd qemu-img cmp jq

holes raw
qemu-img create -q -f qcow2 img.qcow2 8M
up qemu-nbd -t -f qcow2 -k "$SOCK" img.qcow2
ours info "$URI" >info || die info
grep -q '^queues: *1$' info || die "more than one connection to a server that does not say it can: $(cat info)"
ours copy raw "$URI" --verify >out || die "to it"
ours copy "$URI" dst >out || die "from it"
cmp raw dst || die "bytes differ"
down
qemu-img check -q img.qcow2 || die "qemu-img check"
qemu-img compare -q -f raw -F qcow2 raw img.qcow2 || die "the image differs"
[ "$(stat -c %s img.qcow2)" -lt $((4 << 20)) ] || die "holes were written: $(stat -c %s img.qcow2) bytes"

up qemu-nbd -t -r -f qcow2 -k "$SOCK" img.qcow2
error 1 permission "unix:$SOCK" "export '' read-only" "$RDMASTOR" copy raw "$URI"
down
up qemu-nbd -t -x disk -D 'a disk' -f qcow2 -k "$SOCK" img.qcow2
error 1 not-found "unix:$SOCK" "export 'export.'nosuch'.not.present'" \
	"$RDMASTOR" info "nbd+unix:///nosuch?socket=$SOCK"
ours info "nbd+unix:///disk?socket=$SOCK" >/dev/null || die "a name"
