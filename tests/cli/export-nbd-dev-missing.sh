#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Without the kernel's driver, or the right to ask it, it is said what is missing, and how clients get the disk without it.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires jq

as_nobody() { if [ "$(id -u)" = 0 ]; then requires setpriv && setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; else "$@"; fi; }
cp "$RDMASTOR" rdmastor && chmod 755 . rdmastor
if [ -d /sys/module/nbd ]; then
	refused 1 'only root can change block devices' as_nobody ./rdmastor export ram:1M --nbd-dev
	exit
fi
refused 1 'the kernel module nbd is not loaded: only root can load it' as_nobody ./rdmastor export ram:1M --nbd-dev
grep -qx 'hint: without it, --nbd offers the disk to NBD clients' refused.err || die "no hint: $(cat refused.err)"
[ "$(id -u)" != 0 ] || [ -n "$(modprobe -n -q nbd && echo there)" ] ||
	refused 1 'the kernel module nbd is not loaded: t' ./rdmastor export ram:1M --nbd-dev
same code "$(as_nobody ./rdmastor export ram:1M --nbd-dev --json 2>/dev/null | jq -r .error.code)" no-module
