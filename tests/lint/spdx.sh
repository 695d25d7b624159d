#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Every source, script, man page and completion names the licence pair in its first three lines.
cd "$(dirname "$0")/../.." || exit 1
tests/lint/files | {
	bad=0
	while read -r f; do
		case $f in
		*.c | *.h | *.sh | *.py | Makefile | man/*.[0-9] | completions/* | deps/*) ;;
		*) head -c 2 "$f" | grep -q '#!' || continue ;;
		esac
		sed 3q "$f" | grep -q 'SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB' && continue
		echo "$f: no licence line: put 'SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB' into its first three lines"
		bad=1
	done
	exit $bad
}
