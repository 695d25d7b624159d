#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# --help: every applet with its summary; APPLET --help: its usage, whatever else is wrong with the words.
. "$(dirname "$0")/lib.sh"
"$RDMASTOR" --help >out || die "exit status $?"
for applet in $("$RDMASTOR" --list); do
	grep -Eq "^  $applet +[a-zA-Z]" out || die "$applet is missing: $(cat out)"
	"$RDMASTOR" "$applet" --no-such-option --help >applet.out || die "$applet --help: exit status $?"
	head -n 1 applet.out | grep -q "^Usage: rdmastor $applet \[OPTION\.\.\.\]" || die "$applet --help: $(head -n 1 applet.out)"
	grep -Eq '^  -h, --help +[a-z]' applet.out || die "$applet --help has no --help"
	sed -n '/^Examples:/,$p' applet.out | grep -Eq "^  .*\<$applet\>" || die "$applet --help has no example"
	! LC_ALL=C grep -n '[^ -~]' applet.out || die "$applet --help: not ASCII, which a serial console may not have"
	"$RDMASTOR" "$applet" --help | cmp - <("$RDMASTOR" help "$applet") || die "help $applet differs from $applet --help"
done
"$RDMASTOR" help | cmp - out || die "help differs from --help"
