#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# deps/fetch on a machine without apt: tarballs come from DEPS_DIR, else from deps/upstream, and only those with the hash of deps.lock.
set -eu
cd "$(dirname "$0")/../.."
while read -r name version _; do
	awk -v n="$name" '$1 == n { print $2 }' deps/upstream | grep -qE "^https://.*[^0-9.]${version//./\\.}\.tar\." ||
		{ echo "deps/upstream: no https address of $name $version"; exit 1; }
done < <(grep -v '^#' deps/deps.lock)

cd "$TMP"
mkdir bin deps up dir
cp "$OLDPWD/deps/fetch" deps/
for tool in awk basename cat cp cut dirname grep mkdir mv rm sha256sum sh tail; do ln -s "$(command -v $tool)" bin/; done
# shellcheck disable=SC2016 # expanded when it runs
printf '#!%s\nfor word; do [ "$last" != -o ] || to=$word; last=$word; done\ncp "up/${last##*/}" "$to"\n' "$(command -v sh)" >bin/curl
chmod +x bin/curl
echo pristine >up/lib-1.0.tar.gz
cp up/lib-1.0.tar.gz dir/lib_1.0.orig.tar.gz
echo "lib https://example.org/lib-1.0.tar.gz" >deps/upstream
echo "lib 1.0 tar.gz $(sha256sum <up/lib-1.0.tar.gz | cut -d' ' -f1) trixie" >deps/deps.lock
# fetch VARIABLE=VALUE…: into an empty folder
fetch() { rm -rf dist && env -i PATH="$TMP/bin" "$@" deps/fetch dist >out 2>&1; }
fails() { ! fetch "${@:2}" && grep -qE "$1" out && [ ! -e dist/lib_1.0.orig.tar.gz ] || { echo "fetch ${*:2}:"; cat out; exit 1; }; }

fetch DEPS_DIR=dir DEPS_OFFLINE=1 && grep -q COPY out && cmp dist/lib_1.0.orig.tar.gz up/lib-1.0.tar.gz || { cat out; exit 1; }
fetch A=1 && grep -q FETCH out && cmp dist/lib_1.0.orig.tar.gz up/lib-1.0.tar.gz || { cat out; exit 1; }
fails 'lib_1.0.orig.tar.gz: .*DEPS_OFFLINE' DEPS_OFFLINE=1
echo changed >dir/lib_1.0.orig.tar.gz
fails 'dir/lib_1.0.orig.tar.gz: SHA-256' DEPS_DIR=dir
echo changed >up/lib-1.0.tar.gz
fails 'SHA-256' A=1
rm up/lib-1.0.tar.gz
fails 'https://example.org/lib-1.0.tar.gz.*DEPS_DIR' A=1
