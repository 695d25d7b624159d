#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# On a terminal the progress is one line without escape sequences, as wide as there is room, and erased before the result.
. "$(dirname "$0")/lib.sh"
requires python3 nbdkit
random_file src 8
kit --filter=rate file src rate=64M burstiness=0.1
# at TERM COLUMNS COMMAND…: what is shown, in lines; every line of progress begins with "\r"
at() { python3 "$HERE/terminal.py" "$@" | tr -d '\n' | tr '\r' '\n'; }

for term in xterm dumb ''; do
	at "$term" 100 "$RDMASTOR" copy "$URI" dst --request 64K --depth 2 >shown
	grep -q "^copying \[=*> *\] *[0-9]*%  .* of 8 MiB  .*/s  0:[0-9]* left" shown || die "'$term': no bar: $(cat -v shown)"
	! grep -q $'\e' shown || die "'$term': an escape sequence: $(cat -v shown)"
	# blanks over the line, then the result at the beginning of the next
	tail -n 1 shown | grep -q '^copied 8 MiB ' || die "'$term': the end: $(tail -n 4 shown | cat -v)"
	tail -n 2 shown | head -n 1 | grep -q '^ *$' || die "'$term': not erased: $(tail -n 4 shown | cat -v)"
done
for columns in 100 60 20; do
	at xterm $columns "$RDMASTOR" copy "$URI" dst --request 64K --depth 2 >shown
	[ "$(grep '^copying' shown | awk '{ print length }' | sort -n | tail -n 1)" -lt $columns ] ||
		die "$columns columns: $(cat -v shown)"
done
! grep -q '\[' shown || die "a bar without room: $(cat -v shown)"

# what a map lists is in the bar, and not in the rate
truncate -s 1G big
random_file tail 1
cat tail >>big
"$RDMASTOR" copy big most --no-sparse --request 4M --resume map --json >out 2>err || die "$(cat err)"
valid out
grep -q '^0x00000000 .*+$' map || die "$(cat map)"
sed -i -e '/^# rdmastor checksum/d' -e 's/^0x00000000  0x40100000  +$/0x00000000  0x40000000  +\n0x40000000  0x00100000  ?/' map
"$RDMASTOR" copy big most --no-sparse --resume map --depth 1 --request 512 --progress=json >out 2>err || die "$(cat err)"
valid err
tail -n 1 err | jq -e '.done_bytes == .total_bytes and .copied_bytes == 1048576 and .bytes_per_second < 1048576000' >/dev/null ||
	die "$(cat err)"
grep -q '^copied 1 MiB ' out || die "$(cat out)"
at xterm 100 "$RDMASTOR" copy big most --resume map >shown
tail -n 1 shown | grep -q 'already complete.*\<map\>' || die "$(cat -v shown)"
