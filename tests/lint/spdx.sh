#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Every source, script, man page and completion names the licence pair in its first three lines.
cd "$(dirname "$0")/../.." || exit 1
tests/lint/files | xargs -d '\n' perl -e '
	my $line = "SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB";
	for my $name (@ARGV) {
		open(my $file, "<", $name) or next;
		my $head = join("", map { scalar(<$file>) // "" } 1 .. 3);
		next if index($head, $line) >= 0;
		next unless $name =~ m{\.([ch]|sh|py)$|^Makefile$|^man/.*\.\d$|^(completions|deps)/} || $head =~ /^#!/;
		print "$name: no licence line: put \x27$line\x27 into its first three lines\n";
		$bad = 1;
	}
	exit $bad // 0;
'
