#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# SIGUSR1 prints the number of clients, as text and as JSON, and the server continues.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires nbdsh jq

offer ram:1M --nbd "unix:$SOCK"
kill -USR1 "$SERVER"
wait_until grep -q '^clients: 0$' err
export SERVER
sh_nbd -c '
import os, signal, time
os.kill(int(os.environ["SERVER"]), signal.SIGUSR1)
while "clients: 1\n" not in open("err").read():
    h.pread(512, 0)
    time.sleep(0.05)'
stop
offer ram:1M --nbd "unix:$SOCK" --json
kill -USR1 "$SERVER"
wait_until grep -q '}$' err
valid err
same status "$(jq -r '.schema, .version, .serving[0].clients' err)" $'rdmastor.export.status\n2\n0'
stop
