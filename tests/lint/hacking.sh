#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Every path in HACKING.md and doc/*.md exists. Words in capitals stand for any name: core/proto/PROTO/codec.c.
cd "$(dirname "$0")/../.." || exit 1
bad=0 count=0
while IFS=: read -r document path; do
	pattern=$(sed -E 's/\b[A-Z][A-Z_]*\b/*/g' <<<"$path")
	for file in $(eval echo "$(tr -cd 'A-Za-z0-9_.*{},/\n-' <<<"$pattern")"); do
		count=$((count + 1))
		compgen -G "$file" >/dev/null || { echo "$document: $path: $file does not exist"; bad=1; }
	done
done < <(grep -o '`[^`]*' HACKING.md doc/*.md | tr -d '\140' |
	grep -E '^[^:]*:(applets|core|include|tests|man|doc|deps|systemd|completions)/[^ ]*$')
[ "$count" -ge 40 ] || { echo "HACKING.md: only $count paths found"; bad=1; }
exit $bad
