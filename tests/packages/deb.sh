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
doc=$TMP/deb/usr/share/doc/rdmastor
zcat "$doc/changelog.gz" >"$TMP/changelog"
rm -r "$TMP/deb/usr/share/lintian" "$doc/changelog.gz"
diff -r "$TMP/installed" "$TMP/deb"

# Its version: after the last release and all builds that had no number, before the next release
version=$(dpkg-deb -f "$DEB" Version) release=$(sed 's/+.*//' VERSION)
dpkg --compare-versions "$version" ge "$release" && dpkg --compare-versions "$version" lt "$release.1" &&
	dpkg --compare-versions "$version" gt 0~20261127.021112.f788e888 || { echo "version $version"; exit 1; }
grep -qF "rdmastor ($version)" <(head -n 1 "$TMP/changelog") && grep -qF "rdmastor ($release)" "$TMP/changelog" || { cat "$TMP/changelog"; exit 1; }

# Manual pages name the version, and documents that are installed; so do the links of the README
for page in "$TMP"/deb/usr/share/man/man*/*; do
	grep -qxF ".Os rdmastor $(cat "$B/VERSION")" "$page" || { echo "$page: no version"; exit 1; }
done
grep -rhoE '/usr/share/doc/rdmastor[^ ]*' "$TMP/deb/usr/share/man" | sed 's/APPLET/info/' | sort -u >"$TMP/named"
[ "$(wc -l <"$TMP/named")" -ge 4 ] || { echo 'manual pages name no documents'; exit 1; }
grep -oE '\]\([^)#]+' "$doc/README.md" | sed 's/^](//; /^https:/d; s#^#/usr/share/doc/rdmastor/#' >>"$TMP/named"
while read -r file; do [ -e "$TMP/deb/$file" ] || { echo "$file is named, but not installed"; exit 1; }; done <"$TMP/named"

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
