#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Lines of code are up to 100 columns wide, with tabs of 8. clang-format keeps them so.
cd "$(dirname "$0")/../.." || exit 1
tests/lint/files | tr ' ' '\n' | grep '\.[ch]$' | grep -v '^include/uapi/' | xargs -d '\n' perl -CSD -ne '
	$columns = $_;
	1 while $columns =~ s/\t/" " x (8 - $-[0] % 8)/e;
	print("$ARGV:$.:$_"), $bad = 1 if length($columns) > 101;
	close ARGV if eof;
	END { exit $bad }
' || { echo 'wider than 100 columns: clang-format -i FILE'; exit 1; }
