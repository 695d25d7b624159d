#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A wrong command line is reported with its reason and status 2.
. "$(dirname "$0")/lib.sh"
requires jq
b=("$RDMASTOR" bench)
error 2 usage '' 'URI' "${b[@]}"
error 2 usage '' 'HOST' "${b[@]}" --tcp
for host in '' : '?rdma=iwarp'; do error 2 usage '' 'HOST' "${b[@]}" --rdma "$host"; done
error 2 usage '' '--rw sideways randrw' "${b[@]}" ram:1M --rw sideways
error 2 usage ram:1M '--bs 512' "${b[@]}" ram:1M --bs 1000
error 2 usage '' '--bs \bx\b size' "${b[@]}" ram:1M --bs x
error 2 usage '' '--rwmixread 0.to.100' "${b[@]}" ram:1M --rw rw --rwmixread 101
error 2 usage '' '--time-based --runtime' "${b[@]}" ram:1M --time-based
error 2 usage ram:1M '--size 1048576' "${b[@]}" ram:1M --size 2M
error 2 usage ram:1M '--verify --rw' "${b[@]}" ram:1M --verify

# numbers: 0, the first one that is too large, and ones that do not fit
for n in 0 1025 4294967296 4294967297; do
	error 2 usage '' '--iodepth 1.to.1024' "${b[@]}" ram:1M --iodepth $n
	error 2 usage '' '--iodepth 1.to.1024' "${b[@]}" --rdma localhost --iodepth $n
done
for n in 0 257; do error 2 usage '' '--numjobs 1.to.256' "${b[@]}" ram:1M --numjobs $n; done
error 2 usage '' '--numjobs 1.to.64' "${b[@]}" --listen 127.0.0.1:0 --numjobs 65
for n in 0 4G; do error 2 usage '' '--bs 1.to.4294967295' "${b[@]}" ram:1M --bs $n; done
error 2 usage '' '--bs 1.to' "${b[@]}" --rdma localhost --bs 64,0
for n in 0 0.0 0ms; do error 2 usage '' '--runtime \b0\b' "${b[@]}" ram:1M --runtime $n; done
error 2 usage '' '--runtime \b4294967\b' "${b[@]}" ram:1M --runtime 4294968
error 2 usage '' '--size \b0\b' "${b[@]}" ram:1M --size 0
error 2 usage '' '--iters \b0\b' "${b[@]}" --rdma localhost --iters 0
error 2 usage '' '--poll-us 2147483647' "${b[@]}" ram:1M --poll-us 4294967295
for n in 1M 100T; do
	error 2 usage ram:1M '--offset 1048576' "${b[@]}" ram:1M --offset $n
	error 2 usage ram:1M '--offset 1048576' "${b[@]}" ram:1M --offset $n --dry-run
done
error 2 usage ram:1M '--offset 4096' "${b[@]}" ram:1M --offset 1048064
for o in iodepth numjobs iters poll-us; do
	error 2 usage '' "--$o \bx\b number" "${b[@]}" --rdma localhost --$o x
done
error 2 usage '' '--rdma --tcp' "${b[@]}" --rdma --tcp localhost
error 2 usage '' '--rate --rate-iops' "${b[@]}" ram:1M --rate 1M --rate-iops 10
error 2 usage '' '--rate-process --rate' "${b[@]}" ram:1M --rate-process poisson
error 2 usage '' 'rate --verify' "${b[@]}" ram:1M --rate-iops 10 --rw randwrite --verify
error 2 usage '' '--rate disk' "${b[@]}" --tcp localhost --rate 1M
error 2 usage '' '--rate --bs' "${b[@]}" --matrix ram:1M --rate 1M --bs 4K,8K
error 2 usage '' '--op --rdma' "${b[@]}" --op send ram:1M
error 2 usage '' '--ping --rdma' "${b[@]}" --ping ram:1M
error 2 usage '' '--ping --rdma' "${b[@]}" --listen --tcp --ping
error 2 usage '' '--ping --op' "${b[@]}" --rdma --ping --op send localhost
error 2 usage '' '--ping --test' "${b[@]}" --rdma --ping --test latency localhost
error 2 usage '' '--verify disk' "${b[@]}" --tcp localhost --verify
error 2 usage '' '--rw disk' "${b[@]}" --rdma localhost --rw write
error 2 usage '' 'fio' "${b[@]}" --rdma localhost --fio-json --json
error 2 usage 'localhost[?]x=1' 'x=1 rdma=verbs' "${b[@]}" --rdma 'localhost?x=1'
error 2 usage 'localhost[?]rdma=roce' 'rdma=roce rdma=verbs' "${b[@]}" --rdma 'localhost?rdma=roce'
error 2 usage '' '--bs 32' "${b[@]}" --rdma localhost --bs "$(seq -s, 1 40)"
error 1 refused 127.0.0.1:1 'connection.refused rdmastor.bench.--listen$' "${b[@]}" --tcp 127.0.0.1:1
truncate -s 1M disk.img
error 2 usage disk.img '--rdma file' "${b[@]}" --rdma disk.img
error 2 usage a/b 'a/b HOST' "${b[@]}" --tcp a/b
error 1 refused 127.0.0.1:1 'connection.refused' "${b[@]}" --rdma '127.0.0.1:1?rdma=iwarp'
