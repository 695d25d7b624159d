#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# What is wrong with the words is said with them.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
x() { local text=$1; shift; refused 2 "$text" "$RDMASTOR" export "$@"; }
x 'give --nbd ADDRESS' ram:1M
x "--name: there is no disk for the name 'b'" ram:1M --name a --name b --nbd "unix:$SOCK"
x "two exports are named 'a'" ram:1M ram:1M --name a --name a --nbd "unix:$SOCK"
x "--mode: '999' is not an octal number" ram:1M --mode 999 --nbd "unix:$SOCK"
x "--on-loss: invalid loss policy 'soon'" ram:1M --on-loss soon --nbd "unix:$SOCK"
x '--slots: must be 2 to 1024' ram:1M --slots 1 --nbd "unix:$SOCK"
x '--buffer: must be 64K to 32M' ram:1M --buffer 512 --nbd "unix:$SOCK"
x '--queues: must be 1 to 64' ram:1M --queues 65 --nbd "unix:$SOCK"
x '--clients: must be 1 to 65536' ram:1M --clients 65537 --nbd "unix:$SOCK"
x '--poll-us: must be 0 to 1000000' ram:1M --poll-us 2000000 --nbd "unix:$SOCK"
x "'10.0.0' is neither an IP address nor a network" ram:1M --allow 10.0.0 --nbd "unix:$SOCK"
x "'10.0.0.0/33': the prefix length is a number from 0 to 32" ram:1M --allow 10.0.0.0/33 --nbd "unix:$SOCK"
x '--daemon and --run exclude each other' ram:1M --daemon --run true
x 'URI is missing' --nbd "unix:$SOCK"
x 'at most 16 disks' ram:1M{,,,,,,,,,,,,,,,,} --nbd "unix:$SOCK"
x "'/run/x.sock' is not an address" ram:1M --nbd /run/x.sock
grep -qx 'hint: unix:/run/x.sock' refused.err || die "no hint: $(cat refused.err)"
x '--nbd: given more than 8 times' ram:1M --nbd{,,,,,,,,}=:0
x "name of an export is at most 512 bytes" ram:1M --name "$(printf '%0513d' 0)" --nbd "unix:$SOCK"
