#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The tour of `make demo`, to its end.
# shellcheck disable=SC2154 # top is set by lib.sh
. "$(dirname "$0")/lib.sh"
command -v nbdcopy >/dev/null || { echo 'needs nbdcopy'; exit 77; }
"$top/tests/demo" >out 2>&1 || die "exit status $?: $(tail -3 out)"
grep -q '^All three are equal' out || die "$(tail -3 out)"
