#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A first word that is nothing: status 2, the word quoted, what was perhaps meant.
. "$(dirname "$0")/lib.sh"
requires jq
fails 2 "^rdmastor: an applet's name is missing" "$RDMASTOR"
fails 2 "^rdmastor: unknown applet 'zebra'" "$RDMASTOR" zebra
fails 2 "^rdmastor: unknown applet 'zebra'" "$RDMASTOR" zebra --json
jq -e '.schema == "rdmastor.zebra" and .error.code == "usage" and .error.errno == "EINVAL"' fails.out >/dev/null || die "JSON: $(cat fails.out)"
fails 2 "^rdmastor: unknown option '--lst'" "$RDMASTOR" --lst
fails 2 "^rdmastor: --list: 'more' is one word too many" "$RDMASTOR" --list more
first=$("$RDMASTOR" --list | head -n 1)
[ -z "$first" ] || fails 2 "^hint: did you mean $first\?" "$RDMASTOR" "${first}x"
