#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# --clients is the most at once; one that leaves makes room. The status lists 256 of those that have opened an export, and counts more.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires python3 jq

offer ram:1M --nbd "unix:$SOCK" --clients 2 --queues 1
PYTHONPATH=$HERE python3 - "$SOCK" <<'END'
import sys, time
from nbd_raw import Raw
a, b = Raw(sys.argv[1]), Raw(sys.argv[1])
c = Raw(sys.argv[1], hello=False)
assert c.closed()
b.s.close()
while True: # until there is room
    try:
        Raw(sys.argv[1])
        break
    except (EOFError, ConnectionError):
        time.sleep(0.02)
a.ask(0, 0, 512)
assert a.simple()[0] == 0
END
# logged once
same "notices" "$(grep -c 'refused.*2 connections' err)" 1
kill -USR1 "$SERVER"
wait_until grep -Eq '^refused: [1-9]' err
stop

offer ram:1M --name one --nbd "unix:$SOCK" --clients 400
mkfifo up hold
PYTHONPATH=$HERE python3 - "$SOCK" >up <<'END' &
import sys
from nbd_raw import Raw
silent = Raw(sys.argv[1], hello=False)
crowd = [Raw(sys.argv[1]) for _ in range(259)]
for client in crowd: # who gets an answer was admitted
    client.ask(0, 0, 512)
    assert client.simple()[0] == 0
print("up", flush=True)
open("hold").read()
END
crowd=$!
read -r _ <up
exec 8>hold
ours status --json >json
valid json
same listed "$(jq -c --argjson pid "$SERVER" '.serving[] | select(.pid == $pid) | [.clients, (.nbd_clients | length), .nbd_clients_left_out]' json)" '[260,256,3]'
same one "$(jq -r --argjson pid "$SERVER" '.serving[] | select(.pid == $pid) | .nbd_clients[0] | "\(.name) \(.transport) \(.security) \(.pid)"' json)" \
	"one unix file-permissions $crowd"
ours status | grep -q "^process $SERVER: 3 more clients are not listed" || die "$(ours status)"
kill -USR1 "$SERVER"
wait_until grep -q '^3 more clients' err
same 'clients of the log' "$(grep -c "^client process $crowd of export 'one': file-permissions" err)" 256
exec 8>&-
wait "$crowd"
stop
