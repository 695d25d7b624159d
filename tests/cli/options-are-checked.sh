#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# An applet's words through the real binary: one line that names the applet, status 2, JSON wherever --json stands.
. "$(dirname "$0")/lib.sh"
requires applet:info jq
fails 2 "^rdmastor info: unknown option '--timeuot'" "$RDMASTOR" info --timeuot 3 ram:1M
grep -qx 'hint: did you mean --timeout?' fails.err || die "hint: $(cat fails.err)"
fails 2 "^rdmastor info: --timeout: '10x' is not a time in seconds" "$RDMASTOR" info --timeout 10x ram:1M
fails 2 "^rdmastor info: --output: 'xml' is not one of text\|json" "$RDMASTOR" info --output xml ram:1M
fails 2 "^rdmastor info: --json takes no argument, but 'yes' was given" "$RDMASTOR" info --json=yes ram:1M
fails 2 "^rdmastor info: unknown option '--bogus'" "$RDMASTOR" info --bogus ram:1M --json
jq -e '.schema == "rdmastor.info" and .version == 1 and .error.code == "usage"' fails.out >/dev/null || die "JSON: $(cat fails.out)"
fails 2 '^rdmastor info: URI is missing' "$RDMASTOR" info
fails 2 "^rdmastor info: 'ram:2M' is one operand too many" "$RDMASTOR" info ram:1M ram:2M
"$RDMASTOR" info ram:1M --json | jq -es 'length == 1 and .[0].schema == "rdmastor.info" and .[0].version == 1 and (.[0] | has("error") | not)' \
	>/dev/null || die "info ram:1M --json is not one document without an error"
