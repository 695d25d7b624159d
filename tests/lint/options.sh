#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Option rows of all applets: names and letters are unique, numbers have a range that their type can hold and that has 0 only where that
# has a meaning, and -o, -v and -q mean output, verbose and
# quiet unless a replaced tool uses the letter for something else.
cd "$(dirname "$0")/../.." || exit 1
: "${RDMASTOR:=build/rdmastor}"
[ -x "$RDMASTOR" ] || { echo "needs the binary"; exit 77; }

# Letters that a replaced tool uses: srp_daemon's -o (once) and -v, nvme-cli's -q (host NQN), mount.nfs's -o, all of iscsistart, open-iscsi's -o (operation).
own_letters() {
	case $1 in
	srp-daemon) echo ov ;;
	nvmf-*) echo q ;;
	nfsrdma-mount) echo o ;;
	iscsistart) echo ovq ;;
	iscsiadm) echo o ;;
	esac
}

check() { # NAME OWN-LETTERS < rows
	awk -F'\t' -v applet="$1" -v own="$2" '
	function complain(text) { print applet ": " text; bad = 1 }
	BEGIN { fixed["o"] = "output"; fixed["v"] = "verbose"; fixed["q"] = "quiet"; fixed["h"] = "help" }
	BEGIN { # where 0 means never, at once, off, none or the first
		split("timeout poll-us ready-fd rwmixread offset ramp-time retry-connected ublk nbd-dev direct thread group-reporting retry", zero, " ")
		for (i in zero) zeroes["--" zero[i]]
	}
	NF != 4 { complain("row \"" $0 "\" has not four columns") }
	$4 != "" {
		split($4, range, " ")
		numbers++
		if (range[2] + 0 <= range[1] + 0) complain($1 ": a number without a range")
		if ($3 != "SIZE" && range[2] + 0 > 4294967295) complain($1 ": a range of more than 32 bits")
		if ((range[1] == 0) != ($1 in zeroes)) complain($1 ": begins at " range[1])
	}
	$1 !~ /^--[a-z0-9]+(-[a-z0-9]+)*$/ { complain($1 ": a name is lower-case words with hyphens") }
	$2 !~ /^(-[A-Za-z0-9])?$/ { complain($1 ": \"" $2 "\" is not a letter") }
	names[$1]++ { complain($1 " is there twice") }
	$2 != "" && letters[$2]++ { complain($2 " is there twice") }
	{
		name = substr($1, 3); letter = substr($2, 2)
		if (letter in fixed && name != fixed[letter] && !index(own, letter)) complain($2 " is " $1 " but everywhere else --" fixed[letter])
		for (l in fixed) if (name == fixed[l] && letter != l && !index(own, l)) complain($1 " has lost its letter -" l)
	}
	END {
		if (!numbers) complain("no numbers: every applet has --timeout")
		for (l in fixed) if (!names["--" fixed[l]]) complain("--" fixed[l] " is missing"); exit bad
	}'
}

bad=0
"$RDMASTOR" --option-rows | check common '' || bad=1
for applet in $("$RDMASTOR" --list); do
	"$RDMASTOR" "$applet" --option-rows | check "$applet" "$(own_letters "$applet")" || bad=1
done
exit $bad
