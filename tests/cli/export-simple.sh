#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A client without structured replies reads 3 MiB in one request.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires nbdsh

offer ram:8M --nbd "unix:$SOCK"
nbdsh -c "
h.set_request_structured_replies(False)
h.connect_uri('$URI')
assert not h.get_structured_replies_negotiated()
data = bytes(range(251)) * 12533
data = data[:3 << 20] + bytes((3 << 20) - len(data[:3 << 20]))
h.pwrite(data, 4096)
assert h.pread(len(data), 4096) == data
"
stop
