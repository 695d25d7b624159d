#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Lines of code are up to 100 columns wide, with tabs of 8. clang-format keeps them so.
cd "$(dirname "$0")/../.." || exit 1
bad=0
while read -r file; do
	if expand "$file" | LC_ALL=C.UTF-8 grep -nP '^.{101,}' | sed "s|^|$file:|" | grep .; then bad=1; fi
done < <(tests/lint/files | tr ' ' '\n' | grep '\.[ch]$' | grep -v '^include/uapi/')
[ $bad = 0 ] || echo 'wider than 100 columns: clang-format -i FILE'
exit $bad
