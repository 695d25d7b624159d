#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The longest name, all of it percent-encoded, appears complete in the URI.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires nbdinfo

name=$(printf '%512s' '' | tr ' ' '%')
# shellcheck disable=SC2016 # the command's own
"$RDMASTOR" export ram:1M --name "$name" --run 'printf %s "$uri" >uri; nbdinfo --size "$uri" >size' || die "exit status $?"
same size "$(cat size)" 1048576
same "bytes of the name" "$(grep -o %25 uri | wc -l)" 512
