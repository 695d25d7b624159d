#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# If SIGCHLD is ignored at start-up, the command's status is known nevertheless.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires python3
rc=0
python3 -c '
import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])' "$RDMASTOR" export ram:1M --run 'exit 7' || rc=$?
same "exit status" "$rc" 7
