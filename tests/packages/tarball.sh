#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The tarball unpacks into a root folder as its help says; its binary runs and is static; owners, modes and times are fixed.
set -eu
cd "$(dirname "$0")/../.."
mkdir "$TMP/root"
tar -C "$TMP/root" --strip-components=1 --no-same-owner -xf "$TARBALL"
at=$TMP/root/usr/local
"$at/bin/rdmastor" --version | grep "^rdmastor $(cat "$B/VERSION")\$"
! readelf -ldW "$at/bin/rdmastor" | grep -E 'INTERP|NEEDED|RPATH|RUNPATH' || exit 1
for file in share/man/man1/rdmastor.1 share/bash-completion/completions/rdmastor lib/systemd/system/rdmastor-{srp.service,serve@.service,export@.service,export@.socket} \
	share/doc/rdmastor/{copyright,rdmastor.cdx.json,README.md,CHANGELOG.md,peers.md,schema/common.json} share/doc/rdmastor/LICENSES/{GPL-2.0-only,Linux-OpenIB,LGPL-2.1-only}.txt; do
	[ -s "$at/$file" ] || { echo "$file is missing"; exit 1; }
done
grep -q '^\.Pa /usr/local/share/doc/rdmastor/schema/' "$at/share/man/man1/rdmastor.1"
for unit in srp serve@ export@; do grep -q '^ExecStart=/usr/local/bin/rdmastor ' "$at/lib/systemd/system/rdmastor-$unit.service"; done
TZ=UTC tar -tvf "$TARBALL" --numeric-owner --full-time >"$TMP/list"
if grep -vE "^(drwxr-xr-x|-rwxr-xr-x|-rw-r--r--|l.{9}) 0/0 .* $(TZ=UTC date -d "@$EPOCH" '+%Y-%m-%d %H:%M:%S') " "$TMP/list"; then exit 1; fi
