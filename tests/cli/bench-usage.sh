#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# What is wrong with the command is said, with status 2.
. "$(dirname "$0")/lib.sh"
requires jq
b=("$RDMASTOR" bench)
fails 2 'URI is missing' "${b[@]}"
fails 2 'HOST is missing' "${b[@]}" --tcp
fails 2 "'sideways' is not one of" "${b[@]}" ram:1M --rw sideways
fails 2 '--bs: .*not a multiple of the disk.s blocks of 512 bytes' "${b[@]}" ram:1M --bs 1000
fails 2 "--bs: 'x' is not a size" "${b[@]}" ram:1M --bs x
fails 2 '--bs: 0 is no length' "${b[@]}" ram:1M --bs 0
fails 2 '--rwmixread: 101 is not from 0 to 100' "${b[@]}" ram:1M --rw rw --rwmixread 101
fails 2 '--time-based needs --runtime' "${b[@]}" ram:1M --time-based
fails 2 '--iodepth: 5000 is not from 1 to 1024' "${b[@]}" ram:1M --iodepth 5000
fails 2 '--numjobs: 0 is not from 1 to 256' "${b[@]}" ram:1M --numjobs 0
fails 2 '--size: the disk ends at byte 1048576' "${b[@]}" ram:1M --size 2M --json
fails 2 '--verify reads what was written' "${b[@]}" ram:1M --verify
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
fails 1 'nobody listens' "${b[@]}" --rdma '127.0.0.1:1?rdma=iwarp'
