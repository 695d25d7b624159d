#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# What is wrong with the words is said with them.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

x() { local text=$1; shift; fails 2 "$text" "$RDMASTOR" serve "$@"; }
x 'nvmf makes it an NVMe-oF target' ram:1M --tcp 127.0.0.1:0
x 'give --rdma ADDRESS or --tcp ADDRESS' ram:1M --nvmf
x "no disk for 'nqn.b'" ram:1M --nvmf --tcp 127.0.0.1:0 --nqn nqn.a --nqn nqn.b
x "'disk' is no NQN" ram:1M --nvmf --tcp 127.0.0.1:0 --nqn disk
x "allow-host: 'me' is no NQN" ram:1M --nvmf --tcp 127.0.0.1:0 --allow-host me
x "'rdma=fast' may not follow an address" ram:1M --nvmf --rdma '127.0.0.1:0?rdma=fast'
x "crc=0 is for software iWARP" ram:1M --nvmf --rdma '127.0.0.1:0?rdma=verbs&crc=0'
x 'not served over unix sockets' ram:1M --nvmf --tcp unix:x
x '--queues: must be 1 to 64' ram:1M --nvmf --tcp 127.0.0.1:0 --queues 65
x '--poll-us: must be 0 to 1000000' ram:1M --nvmf --tcp 127.0.0.1:0 --poll-us 2000000
x 'on-loss: .*'soon'.*expected' ram:1M --nvmf --tcp 127.0.0.1:0 --on-loss soon
x 'at most 32 disks' ram:1M{,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,} --nvmf --tcp 127.0.0.1:0
x 'is the name of the discovery service' ram:1M --nvmf --tcp 127.0.0.1:0 --nqn nqn.2014-08.org.nvmexpress.discovery
x 'URI is missing' --nvmf --tcp 127.0.0.1:0
