#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A disk that begins like an image or archive of another format is opened as raw, with one warning; not where it is overwritten.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

image() { truncate -s 1M "$1" && printf "$2" | dd of="$1" conv=notrunc status=none; }
# warns FILE WORD FORMAT: one warning about FILE and a hint with WORD are in err
warns() {
	same "warnings: $(cat err)" "$(grep -c "$1: .*$3.* raw" err)" 1
	same "hints: $(cat err)" "$(grep -c "^hint: .*$2" err)" 1
}
quiet() { [ ! -s err ] || die "printed: $(cat err)"; }

while read -r name word magic; do
	image "image.$name" "$magic"
	ours info "image.$name" >out 2>err
	warns "image.$name" "$word.*image.$name" "$name"
done <<'END'
qcow2 qemu-nbd.*qcow2 QFI\373\0\0\0\3
qcow qemu-nbd.*qcow QFI\373\0\0\0\1
vhdx qemu-nbd.*vhdx vhdxfile
zstd zstd.-dc \050\265\057\375
gzip gzip.-dc \037\213\010
xz xz.-dc \3757zXZ\0
END
for magic in KDMV COWD '# Disk DescriptorFile\n'; do
	image image.vmdk "$magic"
	ours info image.vmdk >/dev/null 2>err
	warns image.vmdk 'qemu-nbd.*vmdk' vmdk
done

image 'a b' 'QFI\373\0\0\0\3'
ours info 'a b' >/dev/null 2>err
warns 'a b' "'a b'" qcow2
long=$(printf 'a%.0s' {1..240})
image "$long" 'QFI\373\0\0\0\3' # does not fit into a hint
ours info "$long" >/dev/null 2>err
warns "$long" FILE qcow2
ours info 'a b' --quiet >/dev/null 2>err
quiet
for magic in '' 'QFI' '\0QFI\373' 'vhdxfil\0'; do
	image plain "$magic"
	ours info plain >/dev/null 2>err
	quiet
done
printf QFI\\373 >short
ours info short >/dev/null 2>err
warns short qemu-nbd qcow2

# the source of a copy, but not its destination
ours copy image.qcow2 plain >out 2>err
warns image.qcow2 qemu-nbd qcow2
cmp image.qcow2 plain
truncate -s 1M empty
ours copy empty plain >out 2>err
quiet
cmp empty plain
ours copy - image.qcow2 <empty >out 2>err
quiet

# a disk that is served, read-only or not, whose clients see it as it is
for ro in '' --ro; do
	# shellcheck disable=SC2086 # no word or one
	offer image.vhdx --nbd "unix:$SOCK" --queues 2 $ro
	warns image.vhdx qemu-nbd vhdx
	stop
done
cmp -n 8 image.vhdx <(printf vhdxfile)

# a block device
[ "$(id -u)" = 0 ] && dev=$(losetup --find --show "$TMP/image.xz" 2>/dev/null) || exit 0
cleanup_fn losetup --detach "$dev"
ours info "$dev" >/dev/null 2>err
warns "$dev" xz.-dc xz
