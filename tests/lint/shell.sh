#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Every shell script passes shellcheck; each file with a #! is executable, because the runners skip other files.
cd "$(dirname "$0")/../.." || exit 1
command -v shellcheck >/dev/null || { echo 'shellcheck is not installed: deps/install test'; exit 77; }
tests/lint/files | {
	bad=0
	while read -r f; do
		case $(head -c 64 "$f" | sed -n '1s/^#! *//p') in
		*/sh | */sh\ * | */bash | */bash\ * | */env\ sh | */env\ bash) ;;
		*) continue ;;
		esac
		[ -x "$f" ] || { echo "$f: starts with #! but cannot be run: chmod +x $f"; bad=1; }
		shellcheck --severity=warning "$f" || bad=1
	done
	exit $bad
}
