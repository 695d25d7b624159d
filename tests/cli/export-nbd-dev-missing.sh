#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Without the kernel's driver, or permission to use it, the error names what is missing; the hint is another way to export.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires jq

as_nobody() { if [ "$(id -u)" = 0 ]; then requires setpriv && setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; else "$@"; fi; }
cp "$RDMASTOR" rdmastor && chmod 755 . rdmastor
RDMASTOR=./rdmastor
if [ -d /sys/module/nbd ]; then
	error 1 permission '.*' 'root block.device' as_nobody "$RDMASTOR" export ram:1M --nbd-dev
	exit
fi
error 1 no-module '' 'module \bnbd\b root' as_nobody "$RDMASTOR" export ram:1M --nbd-dev
jq -e '.error.hint | test("--nbd\\b(?!-)")' error.out >/dev/null || die "no hint: $(cat error.out)"
if [ "$(id -u)" = 0 ] && ! modprobe -n -q nbd; then
	error 1 no-module '' 'module \bnbd\b' "$RDMASTOR" export ram:1M --nbd-dev
	jq -e '.error.text | test("root") | not' error.out >/dev/null ||
		die "root, too: $(cat error.out)"
fi
