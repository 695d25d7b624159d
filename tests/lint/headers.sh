#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Every contract in include/ compiles alone and twice, for musl with gcc and for glibc with clang, so none depends on earlier
# includes.
cd "$(dirname "$0")/../.." || exit 1
: "${SHIP_CC:=gcc -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Iinclude}" "${FUZZ_CC:=clang -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Iinclude}"
mapfile -t headers < <(find include -name '*.h' 2>/dev/null | sort)
[ ${#headers[@]} != 0 ] || { echo 'include/ holds no header yet'; exit 77; }
bad=0
for h in "${headers[@]}"; do
	h=${h#include/}
	for cc in "$SHIP_CC" "$FUZZ_CC"; do
		# Including it twice shows a missing #pragma once.
		# shellcheck disable=SC2086 # a command with its options
		printf '#include "%s"\n#include "%s"\n' "$h" "$h" | $cc -Werror -fsyntax-only -x c - ||
			{ echo "include/$h: does not compile alone with ${cc%% *}: include in it what it needs"; bad=1; }
	done
done
exit $bad
