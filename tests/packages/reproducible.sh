#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The packages are byte-equal to those of a second build: from a copy of the sources in another folder, without git, with another
# output folder, umask, language and time zone.
set -eu
cd "$(dirname "$0")/../.."
mkdir "$TMP/elsewhere"
{ git ls-files -co --exclude-standard 2>/dev/null || find . -type f ! -path './build*'; } |
	while read -r file; do [ ! -f "$file" ] || echo "$file"; done | tar -c --files-from=- | tar -x -C "$TMP/elsewhere"
cp "$B/VERSION" "$TMP/elsewhere/VERSION"
touch -d "@$EPOCH" "$TMP/elsewhere/VERSION"
umask 077
env -u MAKEFLAGS -u MAKELEVEL LC_ALL=C.UTF-8 TZ=Asia/Kathmandu CCACHE_DISABLE=1 make -C "$TMP/elsewhere" B=out deb tarball
cmp "$DEB" "$TMP/elsewhere/out/${DEB##*/}"
cmp "$TARBALL" "$TMP/elsewhere/out/${TARBALL##*/}"
