#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# One disk is one namespace: specified twice, under any name, in one subsystem or two, it is refused.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
[ -s /etc/machine-id ] || [ -r /sys/class/dmi/id/product_uuid ] || { echo 'needs a machine with an identity'; exit 77; }

truncate -s 1M a b
ln a c
ln -s a d
for again in a ./a file:a c d; do
	error 2 usage "$again" '\ba\b namespace' ours serve a b "$again" --nvmf --tcp 127.0.0.1:0
done
error 2 usage a '\ba\b namespace hosts addresses' \
	ours serve a a --nvmf --tcp 127.0.0.1:0 --nqn nqn.one --nqn nqn.two
serve a b ram:1M ram:1M null:1M null:1M --nvmf --tcp 127.0.0.1:0
error 2 usage "nvme[+]tcp:.*[?]queues=1" 'nvme[+]tcp: namespace' \
	ours serve "$TCP" "$TCP?queues=1" --nvmf --tcp 127.0.0.1:0
stop
