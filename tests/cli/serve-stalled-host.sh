#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A host that does not send the data it announced delays the stop for a limited time, and the disk is still closed in order.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires python3
truncate -s 64M disk
serve disk --nvmf --tcp 127.0.0.1:0
below=$SERVER
end_below() { kill -KILL "$below" 2>/dev/null || true; }
cleanup_fn end_below

serve "$TCP" --nvmf --tcp 127.0.0.1:0 --stop-timeout 1 --verbose
# it has been asked for the data of a write, and sends none
mkfifo stalled
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$HERE python3 - "$PORT" "${TCP##*/}" <<'END' >stalled &
import sys, time
from nvme_raw import *
admin, io = host(int(sys.argv[1]), sys.argv[2], "nqn.test:stalled")
io.send(command(1, 5, 1 << 20, blocks=2048))
assert io.pdu()[0] == 9, "no R2T"
print("stalled", flush=True)
time.sleep(3600)
END
host=$!
end_host() { kill -KILL "$host" 2>/dev/null || true; }
cleanup_fn end_host
read -r _ <stalled || die "the host could not write"
stop 1
grep -q 'requests.*\<1 s' err || die "output: $(cat err)"
grep -q 'wait.*shutdown' err || die 'the disk below was not closed in order'
