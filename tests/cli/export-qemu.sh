#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# qemu-io writes patterns and reads them back; qemu-img finds the image the same.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires qemu-io qemu-img

head -c 4M /dev/urandom >image
truncate -s 8M image
offer ram:8M --nbd "unix:$SOCK"
qemu-img convert -n -f raw -O raw image "$URI"
qemu-img compare -f raw -F raw image "$URI"
qemu-io -f raw -c 'write -P 0x5a 1M 300k' -c 'read -P 0x5a 1M 300k' -c 'write -z 1M 64k' -c 'read -P 0 1M 64k' -c 'discard 4M 1M' \
	-c flush "$URI" >io
if grep -qi 'fail\|error' io; then die "$(cat io)"; fi
stop
