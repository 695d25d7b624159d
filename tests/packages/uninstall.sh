#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# `make uninstall` removes what `make install` has installed with the same DESTDIR and PREFIX, links included, and nothing else.
set -eu
cd "$(dirname "$0")/../.."
run() { env -u MAKEFLAGS -u MAKELEVEL make -s "$1" B="$B" DESTDIR="$TMP/root" PREFIX=/opt/local INSTALL_LINKS=1; }
run install >/dev/null
at=$TMP/root/opt/local
[ -x "$at/bin/rdmastor" ] && [ -L "$at/bin/nvmf-connect" ] && [ -e "$at/share/doc/rdmastor/README.md" ] || { echo 'not installed'; exit 1; }
echo mine | tee "$at/bin/info" "$at/share/man/man1/other.1" >/dev/null
run uninstall >"$TMP/removed"
grep -qF "$at/bin/rdmastor" "$TMP/removed"
(cd "$at" && find . ! -type d | sort) | diff <(printf '%s\n' ./bin/info ./share/man/man1/other.1) -
find "$at" -type d -name '*rdmastor*' | grep . && exit 1
run uninstall
