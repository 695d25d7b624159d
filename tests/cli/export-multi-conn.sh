#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A write on one connection, flushed on another, is in the file.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires nbdsh

truncate -s 1M disk
offer disk --nbd "unix:$SOCK" --queues 2
nbdsh -c "
a, b = nbd.NBD(), nbd.NBD()
a.connect_uri('$URI')
b.connect_uri('$URI')
assert a.can_multi_conn()
a.pwrite(b'm' * 4096, 8192)
b.flush()
assert b.pread(4096, 8192) == b'm' * 4096
assert open('disk', 'rb').read()[8192:12288] == b'm' * 4096
"
stop
