#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# --help: every applet with its summary; APPLET --help: its usage, even if other arguments are wrong.
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

# URIs: in the binary, and named where a URI is expected
"$RDMASTOR" help uri >uri.out || die "help uri: exit status $?"
[ "$(wc -l <uri.out)" -ge 35 ] && [ "$(wc -l <uri.out)" -le 50 ] || die "help uri has $(wc -l <uri.out) lines"
! LC_ALL=C grep -n '[^ -~]' uri.out || die "help uri: not ASCII"
! grep -n '.\{81\}' uri.out || die "help uri: too wide"
for scheme in $("$RDMASTOR" --complete info '' | cut -f1 | grep '://$'); do
	grep -qF "$scheme" uri.out || die "help uri: $scheme is missing"
done
grep -q 'rdmastor help uri' out && grep -q 'rdmastor help boot' out || die "--help does not name the help on URIs and on booting"
for applet in info copy iscsi-login nvmf-connect boot; do
	"$RDMASTOR" "$applet" --help | grep -q 'rdmastor help uri' || die "$applet --help does not name the help on URIs"
done
! "$RDMASTOR" nvme --help | grep -q 'help uri' || die 'nvme takes no URI'
"$RDMASTOR" help boot | grep -q '^  rd.rdmastor=URI' || die 'help boot has no kernel parameters'
[ "$("$RDMASTOR" --complete he | cut -f1)" = help ] || die 'help is not completed'
"$RDMASTOR" --complete help u | grep -q '^uri' || die 'uri is not completed'
