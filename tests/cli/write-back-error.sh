#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Acknowledged data can't be written back: every later flush of every client fails, and so does the stop. The disk is
# a loop device over a sparse file on a full file system.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires python3 unshare losetup
[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
if [ "${1-}" != inside ]; then
	unshare -m true 2>/dev/null || { echo "no mount namespaces"; exit 77; }
	exec unshare -m "$HERE/${0##*/}" inside
fi

mkdir small
mount -t tmpfs -o size=4m none small || { echo "no tmpfs"; exit 77; }
cleanup_fn umount -l small
truncate -s 64M small/disk
device=$(losetup -f --show small/disk 2>err) || { echo "no loop device: $(cat err)"; exit 77; }
cleanup_fn losetup -d "$device"
disk="file:$device?direct=0"

two_clients() {
	PYTHONPATH=$HERE python3 - "$SOCK" <<'PY'
import sys
from nbd_raw import Raw
READ, WRITE, FLUSH, FUA = 0, 1, 3, 1
MiB = 1 << 20

def ask(c, kind, off=0, data=b"", flags=0):
    c.ask(kind, off, len(data), flags)
    c.s.sendall(data)
    return c.simple()[0]

writer, other = Raw(sys.argv[1]), Raw(sys.argv[1])
for n in range(64):
    assert not ask(writer, WRITE, n * MiB // 4, b"x" * (MiB // 4))
first = ask(other, FLUSH)
assert first, "nothing was lost"
for c in writer, other, writer, Raw(sys.argv[1]):
    assert ask(c, FLUSH) == first, "a flush hid the error from the next"
    assert ask(c, WRITE, 0, b"x" * 4096, FUA) == first, "a forced write"
PY
}

offer "$disk" --nbd "unix:$SOCK" --queues 2
two_clients || die 'the error of one client is not that of all'
stop 1
grep -q "$device.*data.*flush" err || die "the stop prints: $(cat err)"

# Reopening clears the error.
offer "$disk" --nbd "unix:$SOCK"
stop

head -c 32M /dev/urandom >src
serve "$disk" --nvmf --tcp 127.0.0.1:0
"$RDMASTOR" copy src "$TCP" --force >out2 2>err2 && die 'copy: its flush did not fail'
grep -q 'flush' err2 || die "copy prints: $(cat err2)"
stop 1
grep -q "$device.*data.*flush" err || die "the stop prints: $(cat err)"
