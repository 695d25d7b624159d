#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Servers that break the rules for replies: each ends its own connection with a named reason, nothing hangs, no wrong byte arrives.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires python3
mkdir lies documents
PYTHONDONTWRITEBYTECODE=1 python3 "$HERE/nbd_lies.py" lies documents <<'END' || exit 1
fine good
fine good-pieces
fine good-odd-extents
fine simple
fine status-error
lie simple-magic lost 'NBD reply'
lie simple-cookie lost in.flight
lie simple-structured lost structured.reply
lie simple-short lost connection.closed
lie simple-twice lost in.flight
lie read-silent lost '\bread\b within.1.s\b'
lie read-closes lost 'connection.(closed|reset)'
lie read-half lost '\bread\b within.1.s\b'
lie read-magic lost 'NBD reply'
lie read-cookie lost in.flight
lie read-late lost in.flight
lie read-simple lost 'structure|simple without|simple'
lie read-before lost 'data outside'
lie read-after lost 'data outside'
lie read-wrapped lost 'data outside'
lie read-long lost 'data outside'
lie read-overlap lost 'twice|overlap'
lie read-hole-overlap lost 'twice|overlap'
lie read-hole-outside lost 'data outside'
lie read-hole-empty lost 'hole length.0'
lie read-hole-length lost 'hole chunk length'
lie read-missing lost 'success|complete data'
lie read-none lost 'success|complete data'
lie read-none-filled lost 'NONE.chunk data'
lie read-empty lost 'chunk data'
lie read-type lost 'chunk type'
lie read-status lost 'block.status asked|requested|unexpected'
lie read-error-zero lost 'error.chunk'
lie read-error-text lost 'error.chunk text'
lie read-error-long lost '\berror length'
lie read-scattered lost parts
lie read-error-new io "EIO 'oops'"
lie read-error-words io "EIO 'disk[?].2J.on[?]fire.[?].!{100,300}'"
lie read-error-bare io EIO
lie read-error-then-data io EIO
lie read-error-odd io 'error protocol|unknown'
lie status-context lost 'block.status asked|requested|unexpected'
lie status-empty lost 'block.status length'
lie status-length lost 'block.status length'
lie status-zero lost 'extent length'
lie status-twice lost 'block.status twice'
lie status-none lost 'block.status success|complete'
lie status-simple lost 'block.status success|complete'
lie status-data lost 'data request.*read|read.*request'
lie status-long lost 'block.status length'
sinks write-silent lost '\bwrite\b within.1.s\b'
sinks write-data lost 'data request.*read'
sinks write-shutdown lost shut
END
for document in documents/*; do valid "$document"; done
