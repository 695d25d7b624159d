#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A map belongs to one source and one destination: it is refused for others of the same size, for a file made in
# place of one, and for a new destination, however often the command is given. A refusal leaves
# nothing behind.
. "$(dirname "$0")/lib.sh"
requires cmp jq
random_file A.img 8
random_file C.img 8
random_file other.img 8
sum=$(sha256sum <other.img)
source=$(sha256sum <A.img)
resume() { "$RDMASTOR" copy "$@" --resume m.map; }

resume A.img B.img >out 2>err || die "$(cat err)"
cmp A.img B.img || die "bytes differ"
error 1 mismatch 'map m.map' 'source /A\.img 8388608' resume C.img B.img --json
error 1 mismatch 'map m.map' 'destination /B\.img --resume.OTHER' resume A.img other.img --json
error 1 mismatch 'map m.map' 'destination /B\.img --resume.OTHER' resume A.img new.img --json
[ ! -e new.img ] || die "a refusal made a destination"
[ "$(sha256sum <other.img)" = "$sum" ] || die "another destination was written"
cmp A.img B.img || die "the destination of another source was written"

# B.img goes: new at the first call, and not there at the second
mv B.img kept.img
for round in 1 2 3; do
	error 1 mismatch 'map m.map' 'destination 8388608 rm.m\.map' resume A.img B.img --json
	[ ! -e B.img ] || die "round $round: it was made all the same"
done
# another file of that name and size, and one that is empty or too short
truncate -s 8M B.img
error 1 mismatch 'map m.map' 'destination --resume.OTHER' resume A.img B.img --json
for size in 0 4K; do
	rm B.img
	truncate -s $size B.img
	error 1 mismatch 'map m.map' 'destination' resume A.img B.img --json
	[ "$(stat -c %s B.img)" = "$(numfmt --from=iec $size)" ] || die "$size: it was extended"
done

# the same disks by another name
mkdir elsewhere
mv kept.img elsewhere/B.img
ln A.img A.link
resume "$PWD/A.link" file:elsewhere/B.img --json >out 2>err || die "moved: $(cat err)"
valid out
jq -e '.already_copied and .copied_bytes == 0' out >/dev/null || die "copied again: $(cat out)"
resume A.img elsewhere/B.img --json | jq -e '.already_copied == true and .copied_bytes == 0' >/dev/null ||
	die "JSON of a finished map"
resume A.img elsewhere/B.img --verify --json |
	jq -e '.already_copied and .verified_bytes == .size' >/dev/null ||
	die "a finished one is verified"

bare() { "$RDMASTOR" copy A.img "$@" --resume bare.map; }
# without names, as before they were written and as GNU ddrescue writes it
grep -v '^#' m.map >bare.map
error 1 mismatch 'map bare.map' 'identit --verify' bare elsewhere/B.img --json
error 1 mismatch other.img 'A\.img rm.bare\.map' bare other.img --verify --json
error 1 mismatch 'map bare.map' 'identit --verify' bare other.img --json
grep -v '^#' m.map >bare.map
bare elsewhere/B.img --verify >out 2>err || die "verified: $(cat err)"
bare elsewhere/B.img >out 2>err || die "named since: $(cat err)"
if command -v ddrescuelog >/dev/null; then
	ddrescuelog -t bare.map >/dev/null || die "GNU ddrescue cannot read it"
	ddrescuelog -d bare.map || die "GNU ddrescue does not see that it is finished"
fi

# a map that cannot be written, found before the destination is made and after
error 1 not-found 'map nodir/m.map' 'no.such.file' \
	"$RDMASTOR" copy A.img new.img --resume nodir/m.map
mkdir late.map.new
error 1 unsupported 'map late.map' 'is.a.directory' "$RDMASTOR" copy A.img new.img --resume late.map
! grep -q hint error.err || die "a hint that cannot be followed: $(cat error.err)"
[ ! -e new.img ] || die "a failure left a destination"
ls nodir 2>/dev/null && die "a directory was made"

# the map is not one of the disks, whatever it is called
ln A.img hard.map
ln -s A.img soft.map
for map in A.img ./A.img hard.map soft.map; do
	error 2 usage '' '--resume map source' "$RDMASTOR" copy A.img Z.img --resume $map
	error 2 usage '' '--resume map destination' "$RDMASTOR" copy C.img A.img --resume $map
done
for map in Z.img "$PWD/Z.img"; do
	error 2 usage '' '--resume map destination' "$RDMASTOR" copy A.img Z.img --resume "$map"
done
[ "$(sha256sum <A.img)" = "$source" ] || die "the map replaced a disk"
[ ! -e Z.img ] || die "a refusal made a destination"

# a disk that has no identity is named by its URI
resume_nbd() { "$RDMASTOR" copy "nbd+unix:///?socket=$SOCK" N.img --resume n.map "$@"; }
if command -v nbdkit >/dev/null; then
	kit file A.img
	resume_nbd >out 2>err || die "$(cat err)"
	grep -q "^# Source: nbd+unix:///" n.map || die "$(cat n.map)"
	grep -qF "identity: 8388608 bytes, nbd+unix:///?socket=$SOCK" n.map || die "$(cat n.map)"
	error 1 mismatch 'map n.map' 'URI 8388608 --verify' resume_nbd --json
	resume_nbd --verify --json | jq -e '.already_copied and .verified_bytes == .size' >/dev/null ||
		die "NBD: once more"
fi
exit 0
