#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# --install: a link per applet and per tool replaced that works, again is success, and a foreign file in the way is named.
. "$(dirname "$0")/lib.sh"
first=$("$RDMASTOR" --list | head -n 1)
[ -n "$first" ] || { echo "needs an applet"; exit 77; }
mkdir links beside
"$RDMASTOR" --install links || die "exit status $?"
replaced=(ibsrpdm mount.nfsrdma srp_daemon)
[ "$(ls links)" = "$({ "$RDMASTOR" --list; printf "%s\n" "${replaced[@]}"; } | sort)" ] || die "links: $(ls links)"
links/"$first" --help | head -n 1 | grep -q "^Usage: rdmastor $first " || die "the link is not the applet"
"$RDMASTOR" --install links || die "again: exit status $?"

cp "$RDMASTOR" beside/rdmastor
beside/rdmastor --install beside || die "beside: exit status $?"
[ "$(readlink "beside/$first")" = rdmastor ] || die "beside itself: $(readlink "beside/$first")"

rm "links/$first"
echo mine >"links/$first"
error 1 - "links/$first\\>" 'already|exists' "$RDMASTOR" --install links
[ "$(cat "links/$first")" = mine ] || die "overwrote a foreign file"
error 1 - nowhere 'no.such.file' "$RDMASTOR" --install nowhere
error 2 - '^rdmastor: .*--install' '\<DIR\>' "$RDMASTOR" --install
