#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# What is wrong with the command is said, with status 2.
. "$(dirname "$0")/lib.sh"
requires jq
b=("$RDMASTOR" bench)
fails 2 'URI is missing' "${b[@]}"
fails 2 'HOST is missing' "${b[@]}" --tcp
fails 2 "'sideways' is not one of" "${b[@]}" ram:1M --rw sideways
fails 2 '--bs: .*multiple of 512' "${b[@]}" ram:1M --bs 1000
fails 2 "--bs: 'x' is not a size" "${b[@]}" ram:1M --bs x
fails 2 '--rwmixread: must be 0 to 100' "${b[@]}" ram:1M --rw rw --rwmixread 101
fails 2 '--time-based needs --runtime' "${b[@]}" ram:1M --time-based
fails 2 '--size: must be at most 1048576' "${b[@]}" ram:1M --size 2M --json
fails 2 '--verify requires a --rw that writes' "${b[@]}" ram:1M --verify

# numbers: 0, the first one that is too large, and ones that do not fit
for n in 0 1025 4294967296 4294967297; do
	fails 2 '--iodepth: must be 1 to 1024' "${b[@]}" ram:1M --iodepth $n
	fails 2 '--iodepth: must be 1 to 1024' "${b[@]}" --rdma localhost --iodepth $n
done
for n in 0 257; do fails 2 '--numjobs: must be 1 to 256' "${b[@]}" ram:1M --numjobs $n; done
fails 2 '--numjobs: must be 1 to 64' "${b[@]}" --listen 127.0.0.1:0 --numjobs 65
for n in 0 4G; do fails 2 '--bs: must be 1 to 4294967295' "${b[@]}" ram:1M --bs $n; done
fails 2 '--bs: must be 1 to' "${b[@]}" --rdma localhost --bs 64,0
for n in 0 0.0 0ms; do fails 2 '--runtime: must be more than 0' "${b[@]}" ram:1M --runtime $n; done
fails 2 '--runtime: must be at most 4294967 seconds' "${b[@]}" ram:1M --runtime 4294968
fails 2 '--size: must be more than 0' "${b[@]}" ram:1M --size 0
fails 2 '--iters: must be more than 0' "${b[@]}" --rdma localhost --iters 0
fails 2 '--poll-us: must be at most 2147483647' "${b[@]}" ram:1M --poll-us 4294967295
for n in 1M 100T; do
	fails 2 '--offset: must be less than 1048576' "${b[@]}" ram:1M --offset $n
	fails 2 '--offset: must be less than 1048576' "${b[@]}" ram:1M --offset $n --dry-run --json
done
fails 2 '--offset: must leave at least 4096' "${b[@]}" ram:1M --offset 1048064
for o in iodepth numjobs iters poll-us; do fails 2 "--$o: 'x' is not a whole number" "${b[@]}" --rdma localhost --$o x; done
fails 2 '--rdma and --tcp exclude each other' "${b[@]}" --rdma --tcp localhost
fails 2 '--op belongs to --rdma' "${b[@]}" --op send ram:1M
fails 2 '--ping belongs to --rdma' "${b[@]}" --ping ram:1M
fails 2 '--ping belongs to --rdma' "${b[@]}" --listen --tcp --ping
fails 2 '--ping and --op exclude each other' "${b[@]}" --rdma --ping --op send localhost
fails 2 '--ping and --test exclude each other' "${b[@]}" --rdma --ping --test latency localhost
fails 2 '--verify is for disks' "${b[@]}" --tcp localhost --verify
fails 2 '--rw is for disks' "${b[@]}" --rdma localhost --rw write
fails 2 'fio has no such figures' "${b[@]}" --rdma localhost --fio-json --json
fails 2 "'x=1' may not follow an address" "${b[@]}" --rdma 'localhost?x=1'
fails 2 "'rdma=roce' may not follow an address" "${b[@]}" --rdma 'localhost?rdma=roce'
fails 2 '--bs: more than 32 sizes' "${b[@]}" --rdma localhost --bs "$(seq -s, 1 40)"
fails 1 'nobody listens' "${b[@]}" --tcp 127.0.0.1:1
truncate -s 1M disk.img
fails 2 'disk.img: .*--rdma' "${b[@]}" --rdma disk.img
fails 2 "'a/b' is not an address" "${b[@]}" --tcp a/b
fails 1 'nobody listens' "${b[@]}" --rdma '127.0.0.1:1?rdma=iwarp'
