#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Compare manual pages with the binary: every option has its ".It Fl …" and every such line its option; every applet has a page,
# which rdmastor(1) lists, and there is no page without an applet. Common options are in rdmastor(1). Examples can be pasted:
# none is broken into lines by the formatter. No page is headed as one of BSD.
cd "$(dirname "$0")/../.." || exit 1
: "${RDMASTOR:=build/rdmastor}"
for tool in mandoc groff; do command -v $tool >/dev/null || { echo "needs $tool"; exit 77; }; done
[ -x "$RDMASTOR" ] || { echo "needs the binary"; exit 77; }
bad=0
complain() { echo "$*"; bad=1; }

# rows WORD…: print "-l --name" or "--name", one option per line
rows() { "$RDMASTOR" "$@" --option-rows | awk -F'\t' '{ print ($2 == "" ? "" : $2 " ") $1 }' | sort; }
# The same from the lines ".It Fl l , Fl -name Ar arg" of a page
documented() { sed -nE 's/^\.It (Fl ([A-Za-z0-9]) , )?Fl -([a-z0-9-]+).*/-\2 --\3/p' "$1" | sed 's/^- //' | sort; }

mandoc -T lint -W warning man/*.[1-8] || complain "mandoc finds errors"
for page in man/*; do
	groff -Kutf8 -mandoc -ww -Tutf8 "$page" 2>&1 >/dev/null | grep . && complain "$page: groff warns"
done
# groff 1.22 heads pages with "BSD" unless .ds doc-volume-operating-system precedes .Dt, and ends them so without .Os OS.
for page in man/*; do
	groff -Kutf8 -mandoc -Tutf8 -P-c "$page" 2>/dev/null | sed -n '1p;$p' | grep -q BSD && complain "$page: header or footer says BSD: see man/rdmastor.1"
done
# .Dl is filled: at 80 columns 67 are left for a line. Macros in a line print less than they take.
perl -ne '
	if (/^\.Dl (.*)/ && !/ Ns /) {
		$shown = $1;
		$shown =~ s/^"(.*)"$/$1/;
		$shown =~ s/\\(\(..|.)/x/g;
		print("$ARGV:$.: wider than 67 columns: break it with \\e\n"), $bad = 1 if length($shown) > 67;
	}
	close ARGV if eof;
	END { exit $bad }
' man/* || bad=1
common=$(rows)
comm -23 <(echo "$common") <(documented man/rdmastor.1) | while read -r row; do echo "man/rdmastor.1: '$row', which every applet has, is missing"; done | grep . && bad=1

for applet in $("$RDMASTOR" --list); do
	page=man/rdmastor-$applet.1
	[ -f "$page" ] || { complain "$page: missing"; continue; }
	grep -Eq "^\.It (.* )?Xr rdmastor-$applet 1( |$)" man/rdmastor.1 || complain "man/rdmastor.1: $applet is not in the list of applets"
	comm -23 <(comm -23 <(rows "$applet") <(echo "$common")) <(documented "$page") >"${TMP:-/tmp}/missing"
	# A common option without its letter, which the applet uses for another option, may be described, but need not be
	while read -r row; do
		grep -q -- "^-. $row\$" <<<"$common" || complain "$page: '$row' is an option but is not documented so"
	done <"${TMP:-/tmp}/missing"
	comm -13 <(rows "$applet") <(documented "$page") >"${TMP:-/tmp}/stray"
	while read -r row; do complain "$page: documents '$row', which is not an option"; done <"${TMP:-/tmp}/stray"
done
# Every scheme that is completed has its entry in rdmastor-uri(7), and its form in the synopsis.
words=$(grep -h '^\.It Cm ' man/rdmastor-uri.7 | tr ' ' '\n')
forms=$(sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESCRIPTION/p' man/rdmastor-uri.7)
for applet in $("$RDMASTOR" --list); do "$RDMASTOR" --complete "$applet" ''; done | cut -f1 | grep -E ':(//)?$' | grep -v ^: | sort -u >"${TMP:-/tmp}/schemes"
grep -q '^nbd+unix://$' "${TMP:-/tmp}/schemes" || complain "no schemes are completed"
while read -r scheme; do
	grep -qxF -e "${scheme%%:*}" <<<"$words" || complain "man/rdmastor-uri.7: scheme ${scheme%%:*} is missing"
	grep -qF -e ".Cm $scheme" <<<"$forms" || complain "man/rdmastor-uri.7: $scheme is missing in the synopsis"
done <"${TMP:-/tmp}/schemes"
# Every key that is completed for a disk of the examples is described there, too.
sed -nE '/^\.Sh EXAMPLES/,/^\.Sh SEE/s/^([a-z+]+:[^?]*).*/\1/p' man/rdmastor-uri.7 | sort -u >"${TMP:-/tmp}/disks"
while read -r disk; do
	"$RDMASTOR" --complete info "$disk?" | cut -f1 | sed -nE 's/.*[?&](.*)=$/\1/p'
done <"${TMP:-/tmp}/disks" | sort -u >"${TMP:-/tmp}/keys"
grep -qx io-timeout "${TMP:-/tmp}/keys" || complain "no keys are completed"
while read -r key; do
	grep -qE "(^|[ ,&?])$key=" man/rdmastor-uri.7 || complain "man/rdmastor-uri.7: key $key is missing"
done <"${TMP:-/tmp}/keys"
# Every guarantee of "DATA INTEGRITY" names its tests, and they exist.
guarantees=$(sed -n '/^\.Sh DATA INTEGRITY/,/^\.Sh EXAMPLES/p' man/rdmastor-uri.7)
items=$(grep -c '^\.It' <<<"$guarantees")
named=$(awk '/^\.It/ { test = 0 } /^\.Pq Pa tests\// { if (!test++) n++ } END { print n + 0 }' <<<"$guarantees")
[ "$items" -gt 0 ] && [ "$items" = "$named" ] || complain "man/rdmastor-uri.7: $named of $items guarantees name a test"
for file in $(sed -nE 's/^\.Pq Pa (tests\/.*) \.$/\1/p' <<<"$guarantees" | tr -d ,); do
	[ -f "$file" ] || complain "man/rdmastor-uri.7: $file does not exist"
done
for page in man/*.1; do
	applet=$(basename "$page" .1)
	applet=${applet#rdmastor-}
	[ "$applet" = rdmastor ] || "$RDMASTOR" --list | grep -qx -e "$applet" || complain "$page: there is no such applet"
done
exit $bad
