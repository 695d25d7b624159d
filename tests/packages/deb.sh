#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# lintian finds nothing in the Debian package. It holds what `make install` installs, and an installed one runs.
set -eu
cd "$(dirname "$0")/../.."
lintian --allow-root --fail-on error,warning,info,pedantic --display-info --pedantic "$DEB"

env -u MAKEFLAGS -u MAKELEVEL make -s install B="$B" DESTDIR="$TMP/installed" PREFIX=/usr >/dev/null
find "$TMP/installed/usr/share/man" -type l -delete
dpkg-deb -x "$DEB" "$TMP/deb"
gzip -dr "$TMP/deb/usr/share/man"
rm -r "$TMP/deb/usr/share/lintian" "$TMP/deb/usr/share/doc/rdmastor/changelog.gz"
diff -r "$TMP/installed" "$TMP/deb"

mkdir -p "$TMP/root/var/lib/dpkg"
touch "$TMP/root/var/lib/dpkg/status"
if [ "$(id -u)" = 0 ]; then
	dpkg --root="$TMP/root" --log=/dev/null --install "$DEB"
	[ "$(dpkg-query --admindir="$TMP/root/var/lib/dpkg" -W -f '${db:Status-Status}' rdmastor)" = installed ]
	dpkg --root="$TMP/root" --verify rdmastor | tee "$TMP/changed"
	[ ! -s "$TMP/changed" ]
else
	dpkg-deb -x "$DEB" "$TMP/root"
fi
"$TMP/root/usr/bin/rdmastor" --version | grep "^rdmastor $(cat "$B/VERSION")\$"
