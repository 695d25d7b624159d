#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# --version: the number in VERSION and the commit, the libraries of deps.lock, the RDMA providers inside.
# shellcheck disable=SC2154 # top is set by lib.sh
. "$(dirname "$0")/lib.sh"
"$RDMASTOR" --version >out || die "exit status $?"
[ "$(wc -l <out)" = 3 ] || die "not three lines: $(cat out)"
sed -n 1p out | grep -Eq "^rdmastor $(ere "$(sed 's/+.*//' "$top/VERSION")")(\+[0-9a-z.]+)?$" || die "no version: $(cat out)"
while read -r name version _; do
	sed -n 2p out | grep -qF "$name $version" || die "$name $version is missing: $(cat out)"
done < <(grep -v '^#' "$top/deps/deps.lock")
sed -n 3p out | grep -Eq '^RDMA providers: [a-z]' || die "no providers: $(cat out)"
ln -s "$RDMASTOR" mount.nfsrdma
for word in -V --version; do
	./mount.nfsrdma $word | cmp - out || die "mount.nfsrdma $word differs"
done
"$RDMASTOR" info --version | cmp - out || die "info --version differs"
