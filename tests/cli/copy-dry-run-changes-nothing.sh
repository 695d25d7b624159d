#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# --dry-run prints what would happen, creates and writes nothing, and fails where the run would
# fail, with the same status.
. "$(dirname "$0")/lib.sh"
requires jq
random_file src 1
random_file dst 1
sum=$(sha256sum <dst)
"$RDMASTOR" copy src dst --dry-run >out 2>err || die "$(cat err)"
grep -q '1 MiB.*\<src\>.*\<dst$' out || die "output: $(cat out err)"
"$RDMASTOR" copy src dst --dry-run -q >out 2>err || die "-q: $(cat err)"
grep -q '1 MiB.*\<src\>.*\<dst$' out || die "-q has no result"
"$RDMASTOR" copy src new --dry-run --json >out 2>err || die "$(cat err)"
valid out
jq -e '.dry_run == true and .created and .size == 1048576' out >/dev/null || die "$(cat out)"
"$RDMASTOR" copy src new --dry-run >out || die "new"
grep -q '1 MiB.*\<src\>.*\<new\>' out || die "output: $(cat out)"
"$RDMASTOR" copy src - --dry-run 2>err | wc -c >out
[ "$(cat out)" = 0 ] || die "$(cat out) bytes where the copy's would be"
grep -q '\<src\>.*\(-\|standard output\)$' err || die "a copy to stdout: $(cat err)"
[ ! -e new ] || die "it was made"
"$RDMASTOR" copy - ram:8M --dry-run <src >out || die "from stdin"
grep -q 'standard input.*ram:8M$' out || die "output: $(cat out)"
[ "$(sha256sum <dst)" = "$sum" ] || die "it was written"
error 1 not-found nosuch 'no.such.file' "$RDMASTOR" copy nosuch dst --dry-run

# alike STATUS CODE OBJECT WORDS DESTINATION OPTION…: the dry run and the run fail in the same way
alike() {
	local how=("${@:1:4}")
	shift 4
	error "${how[@]}" "$RDMASTOR" copy src "$@" --dry-run
	error "${how[@]}" "$RDMASTOR" copy src "$@"
}
head -c 4096 /dev/zero >small
alike 2 usage ram:4096 '\b4096 1048576' ram:4096
alike 2 usage null:4096 '\b4096 1048576' null:4096
alike 1 not-found nodir/new 'no.such.file' nodir/new
alike 1 not-found small/new 'not.a.directory' small/new
alike 1 not-found /dev/newdisk 'no.such.device' /dev/newdisk
alike 1 permission 'file:dst[?]ro=1' read-only 'file:dst?ro=1'
alike 1 not-found 'map nodir/map' 'no.such.file' new --resume nodir/map
alike 1 mismatch 'map [.]' 'not.a.map' new --resume .
"$RDMASTOR" copy src dst2 --resume map >/dev/null || die "a map"
alike 1 mismatch 'map map' 'destination /dst2 --resume.OTHER' dst --resume map
alike 1 mismatch 'map map' 'destination /dst2 --resume.OTHER' new --resume map
mv dst2 kept
alike 1 mismatch 'map map' 'destination 1048576 rm.map' dst2 --resume map
mv kept dst2
"$RDMASTOR" copy src dst2 --resume map --dry-run >out || die "a finished map"
[ -s out ] || die "a finished map has no result"
"$RDMASTOR" copy src dst2 --resume map --dry-run --json >out || die "a finished map in JSON"
valid out
jq -e '.already_copied == true and .dry_run == true' out >/dev/null || die "$(cat out)"
"$RDMASTOR" copy src small --dry-run >out || die "a file is extended"
[ "$(stat -c %s small)" = 4096 ] || die "it was extended by a dry run"
[ ! -e new ] && [ "$(sha256sum <dst)" = "$sum" ] || die "a refusal changed something"

if command -v nbdkit >/dev/null; then
	kit memory 512K
	alike 2 usage 'nbd[+]unix:.*' '524288 1048576' "$URI"
fi
[ "$(id -u)" = 0 ] && command -v setpriv >/dev/null || exit 0
mkdir -m 755 closed
: >closed/empty
chmod 755 "$TMP"
for rehearse in --dry-run ''; do
	for dst in closed/new closed/empty; do
		# shellcheck disable=SC2086
		error 1 permission $dst 'permission.denied' \
			setpriv --reuid 65534 --regid 65534 --clear-groups "$RDMASTOR" copy src $dst $rehearse
	done
done
[ ! -e closed/new ] || die "made in a folder of another user"
