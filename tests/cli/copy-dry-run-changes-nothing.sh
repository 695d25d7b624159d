#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# --dry-run says on stdout what would happen, makes and writes nothing, and fails where the run
# fails, with the same status.
. "$(dirname "$0")/lib.sh"
requires jq
random_file src 1
random_file dst 1
sum=$(sha256sum <dst)
"$RDMASTOR" copy src dst --dry-run >out 2>err || die "$(cat err)"
grep -q '^would copy 1 MiB from src to dst$' out || die "said: $(cat out err)"
"$RDMASTOR" copy src dst --dry-run -q >out 2>err || die "-q: $(cat err)"
grep -q '^would copy' out || die "-q has no result"
"$RDMASTOR" copy src new --dry-run --json >out 2>err || die "$(cat err)"
jq -e '.dry_run == true and .created and .size == 1048576' out >/dev/null || die "$(cat out)"
"$RDMASTOR" copy src new --dry-run >out || die "new"
grep -q 'would copy 1 MiB from src to new, a new file' out || die "said: $(cat out)"
"$RDMASTOR" copy src - --dry-run 2>err | wc -c >out
[ "$(cat out)" = 0 ] || die "$(cat out) bytes where the copy's would be"
grep -q 'would copy' err || die "a copy to stdout: $(cat err)"
[ ! -e new ] || die "it was made"
"$RDMASTOR" copy - ram:8M --dry-run <src >out || die "from stdin"
grep -q '^would copy standard input to ram:8M$' out || die "said: $(cat out)"
[ "$(sha256sum <dst)" = "$sum" ] || die "it was written"
fails 1 'nosuch: open' "$RDMASTOR" copy nosuch dst --dry-run

# alike STATUS REGEX DESTINATION OPTION…: the rehearsal and the run fail in the same way
alike() {
	local status=$1 regex=$2
	shift 2
	fails "$status" "$regex" "$RDMASTOR" copy src "$@" --dry-run
	fails "$status" "$regex" "$RDMASTOR" copy src "$@" --dry-run --json
	fails "$status" "$regex" "$RDMASTOR" copy src "$@"
}
head -c 4096 /dev/zero >small
alike 2 'ram:4096: has 4096 bytes, the source has 1048576' ram:4096
alike 2 'null:4096: has 4096 bytes' null:4096
alike 1 'nodir/new: open.*: no such file' nodir/new
alike 1 'small/new: open.*: not a directory' small/new
alike 1 '/dev/newdisk: no such device' /dev/newdisk
alike 1 'read-only' 'file:dst?ro=1'
alike 1 'map nodir/map: write: no such file' new --resume nodir/map
alike 1 'map .: not a map' new --resume .
"$RDMASTOR" copy src dst2 --resume map >/dev/null || die "a map"
alike 1 'map map: belongs to another destination' dst --resume map
alike 1 'map map: belongs to another destination' new --resume map
mv dst2 kept
alike 1 'map map: .*1048576 bytes .* the destination is empty' dst2 --resume map
mv kept dst2
"$RDMASTOR" copy src dst2 --resume map --dry-run >out || die "a finished map"
grep -q '^nothing to copy: .*map' out || die "said: $(cat out)"
"$RDMASTOR" copy src dst2 --resume map --dry-run --json >out || die "a finished map in JSON"
jq -e '.already_copied == true and .dry_run == true' out >/dev/null || die "$(cat out)"
"$RDMASTOR" copy src small --dry-run >out || die "a file is extended"
[ "$(stat -c %s small)" = 4096 ] || die "it was extended by a dry run"
[ ! -e new ] && [ "$(sha256sum <dst)" = "$sum" ] || die "a refusal changed something"

if command -v nbdkit >/dev/null; then
	kit memory 512K
	alike 2 'has 524288 bytes, the source has 1048576' "$URI"
fi
[ "$(id -u)" = 0 ] && command -v setpriv >/dev/null || exit 0
mkdir -m 755 closed
: >closed/empty
chmod 755 "$TMP"
for rehearse in --dry-run ''; do
	for dst in closed/new closed/empty; do
		# shellcheck disable=SC2086
		fails 1 "$dst: open for writing: permission denied" \
			setpriv --reuid 65534 --regid 65534 --clear-groups "$RDMASTOR" copy src $dst $rehearse
	done
done
[ ! -e closed/new ] || die "made in a folder of another user"
