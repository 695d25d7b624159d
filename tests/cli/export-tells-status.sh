#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# SIGUSR1 tells how many clients there are, as text and as JSON, and the server goes on.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires nbdsh jq

told() { # REGEX: the server says it within 5 s
	for _ in $(seq 100); do grep -Eq "$1" err && return; sleep 0.05; done
	die "no '$1'"
}

offer ram:1M --nbd "unix:$SOCK"
kill -USR1 "$SERVER"
told '^clients: 0$'
export SERVER
sh_nbd -c '
import os, signal, time
os.kill(int(os.environ["SERVER"]), signal.SIGUSR1)
for _ in range(100):
    if "clients: 1\n" in open("err").read(): break
    h.pread(512, 0)
    time.sleep(0.05)
else: raise SystemExit("the client is not counted")'
stop
offer ram:1M --nbd "unix:$SOCK" --json
kill -USR1 "$SERVER"
told '}$'
valid err
same status "$(jq -r '.schema, .version, .serving[0].clients' err)" $'rdmastor.export.status\n2\n0'
stop
