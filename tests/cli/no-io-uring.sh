#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Files work without io_uring; one note per disk says that it is missing.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires python3 jq nbdcopy
without() { python3 "$HERE/no_io_uring.py" "$@"; }
without true || { echo "no seccomp"; exit 77; }

holes disk
holes other
notes() { grep -c "$1: .*io_uring.*operation not permitted" "$2" || true; }

"$RDMASTOR" info disk >out 2>err
[ ! -s err ] || { echo "needs io_uring: $(cat err)"; exit 77; }
without "$RDMASTOR" info disk --json >out 2>err
valid out
same "notes of info" "$(notes disk err)" 1
jq -e .size out >/dev/null || die "no JSON: $(cat out)"
without "$RDMASTOR" info disk --quiet >out 2>err
[ ! -s err ] || die "--quiet prints: $(cat err)"

without "$RDMASTOR" copy disk copied --verify --quiet >/dev/null || die 'copy failed'
cmp disk copied
[ "$(du -k copied | cut -f1)" -lt 4096 ] || die 'the copy has no holes'

printf '#!/bin/sh\nexec python3 "%s" "%s" "$@"\n' "$HERE/no_io_uring.py" "$RDMASTOR" >wrapper
chmod +x wrapper
RDMASTOR=$PWD/wrapper
offer disk other --nbd "unix:$SOCK" --queues 2
same "notes about the first disk" "$(notes disk err)" 1
same "notes about the second disk" "$(notes other err)" 1
nbdcopy "$URI" read
cmp disk read
random_file written 8
nbdcopy --flush written "$URI"
stop
cmp disk written
