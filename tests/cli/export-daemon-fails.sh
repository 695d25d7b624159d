#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# --daemon reports a failure of the child before it detaches, with the status of the child.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
error 1 - "$PWD/none" 'no.such.file' "$RDMASTOR" export "$PWD/none" --nbd "unix:$SOCK" --daemon
