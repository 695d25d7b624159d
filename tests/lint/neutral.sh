#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Rooms that serve every protocol name none, not even in a comment: a new protocol must not need a change there.
cd "$(dirname "$0")/../.." || exit 1
shopt -s nullglob
set -o pipefail
bad=0

names() { # WORDS FILE...: lines with one of the words, alone or as a part of an identifier
	grep -nHiE "(^|[^a-z])($1)([^a-z]|\$)" "${@:2}" | sed 's/$/  <- names a protocol/'
}

frame=(core/target/*.[ch] include/target.h)
[ ${#frame[@]} -gt 1 ] || { echo "core/target is missing"; bad=1; }
names 'nvme|nvmf|nqn|nbds?|scsi|iscsi|iser|iqn|srp|nfs|rpc|toy' "${frame[@]}" && bad=1
names 'nvme|nvmf|nqn|nbds?' core/block/*.[ch] include/{bdev,split,copy,ring}.h core/proto/{inflight,ring,cutter}*.[ch] && bad=1
exit $bad
