#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# nvmf-discover: a bare host, nvme-cli's connection options, configuration files, and hints for the options it lacks.
. "$(dirname "$0")/lib.sh"
set -e
requires jq

serve ram:1M --nvmf --nqn "$NQN" --tcp 127.0.0.1:0
subnqns() { jq -r '.records[].subnqn' "$1"; }

# found WORD…: the subsystem is listed, and the controller asked once
found() {
	ours nvmf-discover --json -q "$HOST" "$@" >log || die "$*: $(cat log)"
	same "$*" "$(subnqns log)" "$NQN"
}
found "127.0.0.1:$PORT"
found "127.0.0.1:$PORT" -t tcp -w 127.0.0.1
found "[::ffff:127.0.0.1]:$PORT"
found -t tcp -a 127.0.0.1 -s "$PORT" -n nqn.2014-08.org.nvmexpress.discovery
found -t tcp -a 127.0.0.1 -s "$PORT" -g -G -T 4
found "nvme+tcp://127.0.0.1:$PORT" -g -G -T 4
found "transport=tcp;traddr=127.0.0.1;trsvcid=$PORT" -g
found -t tcp -a 127.0.0.1 -s "$PORT" -i 2 -W 1 -P 1 -Q 32 -k 5 -c 2 -l 600 -F 5 -D --disable-sqflow
"$RDMASTOR" nvmf-discover -t tcp -a 127.0.0.1 -s "$PORT" -k 5 -D >/dev/null 2>note
! grep -q ignored note || die "without --verbose: $(cat note)"
"$RDMASTOR" nvmf-discover -t tcp -a 127.0.0.1 -s "$PORT" -k 5 -D -v >/dev/null 2>note
for option in keep_alive_tmo duplicate_connect; do
	grep -q "$option.*ignored" note || die "$option is not in: $(cat note)"
done

# Files, one controller of two being away
cat >some.conf <<-C
	# comment
	-t tcp -a 127.0.0.1 -s $PORT -k 5 -l 600
	--transport=tcp --traddr=127.0.0.1 --trsvcid=$PORT
C
found -J some.conf
found -J some.conf -g
echo '-t tcp -a 127.0.0.1 -s 1' >>some.conf
error 3 refused 127.0.0.1:1 'connection.refused' "$RDMASTOR" nvmf-discover -J some.conf
same 'other records' "$(subnqns error.out)" "$NQN"
jq -e '.failed_controllers == [{uri: "nvme+tcp://127.0.0.1:1", error: .error}]' error.out >/dev/null || die "$(cat error.out)"
echo '-t tcp -a 127.0.0.1 -s 1' >dead.conf
error 1 refused 127.0.0.1:1 'connection.refused' "$RDMASTOR" nvmf-discover -J dead.conf
echo '-t tcp -a 127.0.0.1 -s 0' >wrong.conf
error 2 usage 'wrong.conf line 1' 'trsvcid \<1\> \<65535\>' "$RDMASTOR" nvmf-discover -J wrong.conf
echo '[{"hostnqn":"nqn.host","subsystems":[{"nqn":"nqn.x","ports":[{"transport":"tcp","traddr":"127.0.0.1"}]}]}]' >disks.json
error 2 usage '' 'disks.json' "$RDMASTOR" nvmf-discover -J disks.json
error 1 not-found '' 'none.conf no.such.file' "$RDMASTOR" nvmf-discover -J none.conf

# A controller with no subsystem for this host
serve_allowed() { serve ram:1M --nvmf --nqn "$NQN" --tcp 127.0.0.1:0 --allow-host nqn.other; }
stop
serve_allowed
"$RDMASTOR" nvmf-discover -q "$HOST" "nvme+tcp://127.0.0.1:$PORT" >log 2>note
grep -q "$HOST" note || die "the host NQN is not in: $(cat note)"
stop

# Wrong calls
error 1 refused 127.0.0.1:1 'TCP RDMA connection.refused' "$RDMASTOR" nvmf-discover 127.0.0.1:1
error 2 usage '' 'trsvcid \<1\> \<65535\>' "$RDMASTOR" nvmf-discover 127.0.0.1:0
error 2 usage '' '--keep-alive-tmo \<x\>' "$RDMASTOR" nvmf-discover -t tcp -a 127.0.0.1 -k x
error 2 usage '' '--hdr-digest TCP' "$RDMASTOR" nvmf-discover -t rdma -a 127.0.0.1 -g
error 2 usage '' '--transport' "$RDMASTOR" nvmf-discover -a 127.0.0.1
error 2 usage '' '--traddr' "$RDMASTOR" nvmf-discover -t tcp
error 2 usage '' 'HOST -a' "$RDMASTOR" nvmf-discover 127.0.0.1 -a 127.0.0.2
error 2 usage '' 'URI -w' "$RDMASTOR" nvmf-discover nvme+tcp://h -w 127.0.0.2
error 2 usage '' '--config' "$RDMASTOR" nvmf-discover 127.0.0.1 -J some.conf
error 2 usage '' "'\\[::1' \\[ADDRESS\\]" "$RDMASTOR" nvmf-discover '[::1'
[ -e /etc/nvme ] || error 2 usage '' 'HOST --traddr discovery.conf' "$RDMASTOR" nvmf-discover
for option in -S -C --dhchap-secret; do
	error 2 usage '' "'$option' nvme-cli nvmf-connect-all" "$RDMASTOR" nvmf-discover -t tcp -a 127.0.0.1 $option x
done
for option in -SDHHC-1:00:ABC: -gCDHHC-1:00:ABC: --dhchap-secret=DHHC-1:00:ABC:; do # secrets are not repeated
	error 2 usage '' 'unknown.option nvme-cli' "$RDMASTOR" nvmf-discover -t tcp -a 127.0.0.1 "$option"
	! grep -q DHHC error.out error.err || die "shows the secret: $(cat error.err)"
done
for option in -p --persistent; do
	error 2 usage '' "'$option' nvme-cli nvmf-connect" "$RDMASTOR" nvmf-discover -t tcp -a 127.0.0.1 $option
done
error 2 usage '' "'-r' nvme-cli --json" "$RDMASTOR" nvmf-discover -t tcp -a 127.0.0.1 -r f
error 2 usage '' "'-d' nvme-cli --traddr" "$RDMASTOR" nvmf-discover -d nvme0
error 2 usage '' "'-O' nvme-cli --dry-run" "$RDMASTOR" nvmf-discover -O
