#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A first word that is nothing: status 2, the word quoted, what was perhaps meant.
. "$(dirname "$0")/lib.sh"
requires jq
error 2 - '^rdmastor: .*applet' 'missing|expected|given --help' "$RDMASTOR"
error 2 - "^rdmastor: .*'zebra'" applet "$RDMASTOR" zebra
error 2 usage '' "applet 'zebra'" "$RDMASTOR" zebra --json
jq -e '.schema == "rdmastor" and .error.errno == "EINVAL"' error.out >/dev/null ||
	die "JSON: $(cat error.out)"
error 2 - "^rdmastor: .*'--lst'" option "$RDMASTOR" --lst
error 2 - '^rdmastor: .*--list' "'more'" "$RDMASTOR" --list more
first=$("$RDMASTOR" --list | head -n 1)
[ -z "$first" ] || error 2 - "'${first}x'" "^hint:.*\\<$first\\>" "$RDMASTOR" "${first}x"
error 2 usage '' 'no applet' "$RDMASTOR" --json
error 2 usage '' "--list 'more'" "$RDMASTOR" --list more --json
error 2 - "'zebra'" applet "$RDMASTOR" help zebra
