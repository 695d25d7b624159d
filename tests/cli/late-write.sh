#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A write gets stuck below `serve`. However the connections above it break, it lands before data that was written and
# flushed later. Three chains client - export - serve - disk run at once: the path between export and serve is cut;
# it is cut and the client comes back; only the client leaves and comes back.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires python3

# chain NAME SECONDS: starts one in the folder NAME; its client's socket is NAME/front.sock
chain() {
	local port i
	mkdir "$1"
	python3 "$HERE/late_disk.py" "$TMP/$1/disk.sock" "$2" >"$1/disk.out" &
	cleanup_fn kill -KILL $!
	wait_until test -S "$1/disk.sock"
	"$RDMASTOR" serve "nbd+unix:///?socket=$TMP/$1/disk.sock&io-timeout=60" --nvmf --nqn "$NQN" \
		--tcp 127.0.0.1:0 --ready-fd 3 3>"$1/serve.ready" >"$1/serve.out" 2>"$1/serve.err" &
	cleanup_fn kill -KILL $!
	wait_until test -s "$1/serve.ready"
	port=$(sed -nE 's#.*nvme\+tcp://127.0.0.1:([0-9]+)/.*#\1#p' "$1/serve.out" | head -1)
	python3 "$HERE/cut_proxy.py" "$port" >"$1/proxy.out" &
	echo $! >"$1/proxy.pid"
	cleanup_fn kill -KILL $!
	wait_until test -s "$1/proxy.out"
	"$RDMASTOR" export "nvme+tcp://127.0.0.1:$(cat "$1/proxy.out")/$NQN/1" --nbd "unix:$TMP/$1/front.sock" \
		--ready-fd 3 3>"$1/export.ready" >"$1/export.out" 2>"$1/export.err" &
	cleanup_fn kill -KILL $!
	wait_until test -s "$1/export.ready"
	[ -s "$1/export.ready" ] || die "$1: export: $(cat "$1/export.err")"
}

# client NAME CUT BACK: writes OLD, then NEW in its place, flushes, reads; and reads again when the stuck write was executed
client() {
	PYTHONPATH=$HERE PYTHONDONTWRITEBYTECODE=1 python3 - "$@" <<'PY'
import os, signal, struct, sys, time
from nbd_raw import Raw

name, cut, back = sys.argv[1], sys.argv[2] == "cut", sys.argv[3] == "back"
OLD, NEW = b"o" * 4096, b"n" * 4096

def wait_for(word):
    end = time.time() + 40
    while word not in open(name + "/disk.out").read():
        assert time.time() < end, "the disk never said " + word
        time.sleep(0.05)

def ask(c, kind, length=0, data=b""):
    c.s.sendall(struct.pack(">IHHQQI", 0x25609513, 0, kind, 7, 0, length) + data)

def reply(c, length=0):
    magic, error, _ = struct.unpack(">IIQ", c.get(16))
    assert magic == 0x67446698 and error == 0, error
    return c.get(length)

c = Raw(name + "/front.sock")
c.s.settimeout(60)
ask(c, 1, 4096, OLD)
wait_for("stuck")
if cut:
    os.kill(int(open(name + "/proxy.pid").read()), signal.SIGUSR1)
    time.sleep(0.3)
if back:
    c.s.close()
    c = Raw(name + "/front.sock")
    c.s.settimeout(60)
    ask(c, 1, 4096, OLD)
reply(c)
ask(c, 1, 4096, NEW)
reply(c)
ask(c, 3)
reply(c)
ask(c, 0, 4096)
assert reply(c, 4096) == NEW, "read before the stuck write was executed"
wait_for("late")
time.sleep(0.2)
ask(c, 0, 4096)
assert reply(c, 4096) == NEW, "the old data is back"
PY
}

chain path 9 # longer than the initiator's quiet time: only the target can know
chain both 3
chain client 3
client path cut stay & p=$!
client both cut back & b=$!
client client whole back & c=$!
for p in $p $b $c; do wait "$p"; done
grep -q 'lost' path/export.err || die "the loss is not reported: $(cat path/export.err)"
grep -Eq 'restored.* [0-9.]+ s' path/export.err ||
	die "the return is not reported: $(cat path/export.err)"
