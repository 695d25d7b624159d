#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The version: that of VERSION at its tag, else with the commit; an archive of `make dist` has that of its commit, and its time.
set -eu
cd "$(dirname "$0")/../.."
export GIT_CONFIG_GLOBAL=/dev/null GIT_{AUTHOR,COMMITTER}_NAME=x GIT_{AUTHOR,COMMITTER}_EMAIL=x@y GIT_{AUTHOR,COMMITTER}_DATE='@1700000000 +0000'
mkdir -p "$TMP/tree/packaging"
cp packaging/version "$TMP/tree/packaging/"
cp Makefile "$TMP/tree/"
cd "$TMP/tree"
echo 1.2.3 >VERSION
is() { [ "$(packaging/version)" = "$1" ] || { echo "version $(packaging/version), not $1"; exit 1; }; }
is 1.2.3 # no git
git init -q .
git add .
git commit -q -m x
commit=$(git rev-parse HEAD | cut -c 1-8)
is "1.2.3+$commit"
git tag v1.2.2
is "1.2.3+$commit"
git tag -a -m x v1.2.3
is 1.2.3
echo '#' >>Makefile
is "1.2.3+$commit.dirty"
git commit -q -a -m y
commit=$(git rev-parse HEAD | cut -c 1-8)
is "1.2.3+$commit"

env -u MAKEFLAGS -u MAKELEVEL make -s dist B="$TMP/out" >/dev/null 2>&1
tar -C "$TMP" -xf "$TMP/out/rdmastor-1.2.3+$commit.tar.xz"
[ "$(tar -tf "$TMP/out/rdmastor-1.2.3+$commit.tar.xz" | grep -c '/VERSION$')" = 1 ]
cd "$TMP/rdmastor-1.2.3+$commit"
is "1.2.3+$commit"
[ "$(stat -c %Y VERSION)" = 1700000000 ]
