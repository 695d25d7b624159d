#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Results are written to no disk that is measured, nor over what is compared with, and no FIFO without a reader is waited for.
. "$(dirname "$0")/lib.sh"
requires jq
b=("$RDMASTOR" bench --runtime 50ms)
m=("$RDMASTOR" bench --matrix --runtime 50ms --rounds 1)
random_file disk 1
sum=$(sha256sum <disk)
ln disk link
mkfifo fifo
"${m[@]}" ram:1M --json >base.json 2>err || die "$(cat err)"
for o in --hgrm --log; do
	error 2 usage ./disk 'disk.to.measure' "${b[@]}" disk $o ./disk
	error 2 usage link 'disk.to.measure' "${b[@]}" "file:$PWD/disk" $o link
	error 2 usage disk 'disk.to.measure' "${b[@]}" "FILE:disk?ro=1" $o disk
	error 1 no-device fifo create "${b[@]}" disk $o fifo
	error 1 io /dev/full 'no.space' "${b[@]}" --size 4M ram:4M $o /dev/full
	error 1 not-found "''" create "${b[@]}" disk $o ''
done
for o in --csv --svg; do
	error 2 usage disk 'disk.to.measure' "${m[@]}" ram:1M disk $o disk
	error 2 usage base.json baseline "${m[@]}" ram:1M --baseline base.json $o base.json
	error 1 no-device fifo create "${m[@]}" ram:1M $o fifo
done
error 2 usage ./disk 'disk.to.measure' "${b[@]}" disk --rw write --verify --verify-state ./disk
error 2 usage fifo regular "$RDMASTOR" bench disk --verify-only fifo
error 2 usage fifo regular "${m[@]}" ram:1M --baseline fifo
error 2 usage '' 'two.results x' "${b[@]}" disk --log x --hgrm x
# each picture is checked, and only what is written
p=("${m[@]}" --rw randrw --rwmixread "0,100" --bs "512,4K")
mkdir full full/x-4K-r100.svg
ln -s "$PWD/disk" x-512-r100.svg
error 2 usage x-512-r100.svg 'disk.to.measure' "${p[@]}" disk --svg x.svg
error 1 unsupported 'full/x-4K-r100.svg' create "${p[@]}" ram:1M --svg full/x.svg
error 2 usage '' 'two.results y-4K-r0.svg' "${p[@]}" ram:1M --csv y-4K-r0.svg --svg y.svg
long=$(printf 'n%.0s' {1..248}).svg
error 2 usage 'n*-512-r0.*' 'create too.long' "${p[@]}" ram:1M --svg "$long"
"${p[@]}" --iodepth 1 ram:1M --svg "$PWD/full/../disk.svg" >out 2>err || die "$(cat err)"
same "pictures" "$(echo disk-*.svg)" 'disk-4K-r0.svg disk-4K-r100.svg disk-512-r0.svg disk-512-r100.svg'
same "the disk" "$(sha256sum <disk)" "$sum"
exec 3<>fifo # a reader
"${b[@]}" disk --hgrm fifo >out 2>err || die "a FIFO with a reader: $(cat err)"
head -n 1 <&3 | grep -q Percentile || die "nothing came out of the FIFO"
