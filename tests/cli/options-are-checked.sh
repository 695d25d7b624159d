#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Arguments of applets through the real binary: one line that names the applet, status 2, JSON wherever --json stands.
. "$(dirname "$0")/lib.sh"
requires applet:info jq
error 2 - "^rdmastor info: .*'--timeuot'" '^hint:.*--timeout' "$RDMASTOR" info --timeuot 3 ram:1M
error 2 - '^rdmastor info: .*--timeout' "'10x'" "$RDMASTOR" info --timeout 10x ram:1M
error 2 - '^rdmastor info: .*--output' "'xml' text json" "$RDMASTOR" info --output xml ram:1M
error 2 - '^rdmastor info: .*--json' "'yes'" "$RDMASTOR" info --json=yes ram:1M
error 2 usage '' "'--bogus'" "$RDMASTOR" info --bogus ram:1M --json
jq -e '.schema == "rdmastor.info" and .version == 2' error.out >/dev/null ||
	die "JSON: $(cat error.out)"
error 2 - '^rdmastor info: .*\<URI\>' 'missing|expected|given' "$RDMASTOR" info
error 2 - "^rdmastor info: .*'ram:2M'" operand "$RDMASTOR" info ram:1M ram:2M
ours info ram:1M --json | jq -es 'length == 1 and .[0].schema == "rdmastor.info" and .[0].version == 2 and (.[0] | has("error") | not)' \
	>/dev/null || die "info ram:1M --json is not one document without an error"
