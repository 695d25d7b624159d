#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Wrong options and operands are named in the error.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

# x OBJECT WORDS ARGUMENT…
x() { local what=("${@:1:2}"); shift 2; error 2 usage "${what[@]}" "$RDMASTOR" serve "$@"; }
x '' '--nvmf protocol' ram:1M --tcp 127.0.0.1:0
x '' '--rdma.ADDRESS --tcp.ADDRESS' ram:1M --nvmf
x '' '--nqn nqn\.b' ram:1M --nvmf --tcp 127.0.0.1:0 --nqn nqn.a --nqn nqn.b
x '' '--nqn disk nqn[.] 223' ram:1M --nvmf --tcp 127.0.0.1:0 --nqn disk
x '' '--allow-host 1.to.223.bytes' ram:1M --nvmf --tcp 127.0.0.1:0 --allow-host ''
x '' '--allow-host 1.to.223.bytes' ram:1M --nvmf --tcp 127.0.0.1:0 --allow-host "$(printf 'x%.0s' {1..224})"
x '--rdma 127.0.0.1:0[?]rdma=fast' 'rdma=fast rdma=verbs' \
	ram:1M --nvmf --rdma '127.0.0.1:0?rdma=fast'
x '--rdma 127.0.0.1:0[?]rdma=verbs&crc=0' 'crc=0 iWARP rdma=verbs' \
	ram:1M --nvmf --rdma '127.0.0.1:0?rdma=verbs&crc=0'
x '--tcp unix:x' 'NVMe-oF unix' ram:1M --nvmf --tcp unix:x
x '' '--queues 1.to.64' ram:1M --nvmf --tcp 127.0.0.1:0 --queues 65
x '' '--poll-us 0.to.1000000' ram:1M --nvmf --tcp 127.0.0.1:0 --poll-us 2000000
x '' '--on-loss soon fail-fast' ram:1M --nvmf --tcp 127.0.0.1:0 --on-loss soon
x '' 'disks \b32$' ram:1M{,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,} --nvmf --tcp 127.0.0.1:0
x '' 'nqn\.2014-08\.org\.nvmexpress\.discovery discovery.service' \
	ram:1M --nvmf --tcp 127.0.0.1:0 --nqn nqn.2014-08.org.nvmexpress.discovery
x '' 'URI' --nvmf --tcp 127.0.0.1:0
x '' '--group 1 must.follow' ram:1M --nvmf --group 1 --tcp 127.0.0.1:0
x '' '--group 3 already 2' ram:1M --nvmf --tcp 127.0.0.1:0 --group 2 --group 3
x '--group 0' '\b1\b' ram:1M --nvmf --tcp 127.0.0.1:0 --group 0
x '--group 65536' '65535' ram:1M --nvmf --tcp 127.0.0.1:0 --group 65536
x '' '--group 2 must.follow' ram:1M --iscsi --group 2 --tcp 127.0.0.1:0
x '--tcp 127.0.0.1:0' 'groups 2 1' ram:1M --nvmf --rdma '127.0.0.1:0?rdma=iwarp' --group 2 --tcp 127.0.0.1:0
for range in 1 1-1023 0-2000 2000-1 60000-65520 1-2000x 1-70000; do
	x '' "--cntlid-range $range 1024 65519" ram:1M --nvmf --tcp 127.0.0.1:0 --cntlid-range $range
done
x '' '--cntlid-range --nvmf' ram:1M --iscsi --tcp 127.0.0.1:0 --cntlid-range 1-2000
