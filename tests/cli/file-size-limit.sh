#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Under RLIMIT_FSIZE a write that exceeds the limit fails, and nothing else: no SIGXFSZ, the map is saved, servers live on.
. "$(dirname "$0")/lib.sh"
requires cmp nbdcopy prlimit setpriv
random_file src 3
limited() { (ulimit -f 1024 && exec "$@"); } # 1 MiB

error 1 system new 'extend.to.3145728 file.too.large' limited "$RDMASTOR" copy src new
truncate -s 3M old
for options in "" --no-sparse "--depth 1"; do
	rm -f map
	# shellcheck disable=SC2086 # several options
	error 1 io old 'write.at.byte.[0-9]+ file.too.large \bmap\b' limited "$RDMASTOR" copy src old --resume map --request 64K $options
	grep -q '^# ' map || die "no map: $(cat map)"
	"$RDMASTOR" copy src old --resume map --verify >/dev/null || die "continued"
done
said=$( (ulimit -f 0 && "$RDMASTOR" copy src old --resume map2 2>&1))
same "status of a map that cannot be written" $? 1
has_line 'map map2: write: file too large' "$said" || die "map: $said"

offer old --nbd "unix:$SOCK"
limit "$SERVER" --fsize=1048576
! nbdcopy src "$URI" 2>/dev/null || die "written beyond the limit"
"$RDMASTOR" copy "$URI" back >/dev/null || die "the server has ended"
cmp -n 1048576 src back || die "what the limit permits"
stop
