#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Wrong calls of serve --iscsi.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

umask 077
echo secretsecret >secret
error 2 usage '' 'protocol' ours serve ram:1M --tcp :0
error 2 usage '' 'iscsi' ours serve ram:1M --nvmf --tcp 127.0.0.1:0 --iqn iqn.2024-01.lab:d
error 2 usage '' 'allow-host' ours serve ram:1M --iscsi --tcp 127.0.0.1:0 --allow-host nqn.2024-01.lab:h
error 2 usage '' 'iscsi' ours serve ram:1M --nvmf --tcp 127.0.0.1:0 --target-user joe
error 2 usage '' 'iqn' ours serve ram:1M --iscsi --tcp 127.0.0.1:0 --iqn disk
error 2 usage '' 'iqn disks' ours serve ram:1M --iscsi --tcp 127.0.0.1:0 --iqn iqn.a --iqn iqn.b
error 2 usage '' 'allow-initiator' ours serve ram:1M --iscsi --tcp 127.0.0.1:0 --allow-initiator 'my host'
error 2 usage '' 'iscsi address' ours serve ram:1M --nvmf --tcp 127.0.0.1:0 --iscsi
error 2 usage '' 'tcp follow' ours serve ram:1M --tcp 127.0.0.1:0 --nvmf --iscsi --tcp 127.0.0.1:0
error 2 usage '' 'secret-file.*needs.--user' ours serve ram:1M --iscsi --tcp 127.0.0.1:0 --secret-file secret
error 2 usage '' '--user.needs.--secret-file' ours serve ram:1M --iscsi --tcp 127.0.0.1:0 --user joe
error 2 usage '' '--target-user.needs.--target-secret-file' ours serve ram:1M --iscsi --tcp 127.0.0.1:0 --target-user joe
error 2 usage '' 'same' ours serve ram:1M --iscsi --tcp 127.0.0.1:0 --user joe --secret-file secret --target-secret-file secret
error 2 usage '.*' 'rdma' ours serve ram:1M --iscsi --rdma '127.0.0.1:0?rdma=tcp'
