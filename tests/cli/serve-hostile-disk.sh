#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Of two disks of one target, one is on a hostile target over RDMA, which reads and overwrites all memory whose key it was
# given. It finds its own disk's data there and not the other's, and can't alter what hosts of the other disk read and write.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires python3

python3 -c 'import sys; sys.stdout.buffer.write((b"the data of another disk. " * 50000)[: 1 << 20])' >disk
PYTHONDONTWRITEBYTECODE=1 python3 "$HERE/nvme_evil.py" 'the data of another disk' >found &
evil=$!
end_evil() { kill -KILL "$evil" 2>/dev/null || true; }
cleanup_fn end_evil
wait_running "$evil" test -s found
serve disk "nvme+rdma://127.0.0.1:$(head -1 found)/nqn.test:evil?rdma=iwarp&crc=0&queues=1" --nvmf --queues 1 --poll-us 0 \
	--tcp 127.0.0.1:0 --nqn "$NQN" --nqn nqn.test:evil
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$HERE python3 - "$PORT" "$NQN" <<'END'
import sys, time
from nvme_raw import *
port, disk = int(sys.argv[1]), open("disk", "rb").read()
admin, mine = host(port, sys.argv[2], "nqn.test:a")
def all_read():
    "16 buffers at once"
    mine.s.sendall(b"".join(mine.capsule(command(2, k, 65536, lba=k * 128, blocks=128)) for k in range(16)))
    for k in range(16):
        cid, status, _ = mine.reply()
        assert not status
        assert mine.data_in == disk[cid * 65536 : (cid + 1) * 65536], "altered"
all_read()
admin2, other = host(port, "nqn.test:evil", "nqn.test:b")
other.read(0, 4096) # may be overwritten by now: it is the hostile disk's own
end = time.monotonic() + 1.5
while time.monotonic() < end:
    all_read()
    mine.write(0, bytes(65536))
    assert mine.read(0, 65536) == bytes(65536), "what was written was altered"
    mine.send(command(1, 5, 4096, inside=True, blocks=8), disk[:4096])
    assert not mine.reply()[1]
    assert mine.read(0, 4096) == disk[:4096], "what came in a capsule was altered"
    disk = disk[:4096] + bytes(61440) + disk[65536:]
    # in-capsule data for the hostile disk must not open the capsules to it
    other.send(command(1, 6, 4096, inside=True, blocks=8), b"B" * 4096)
    other.reply()
END
wait_until grep -q own found
! grep -q other found || die 'the hostile target read the data of another disk'
stop
