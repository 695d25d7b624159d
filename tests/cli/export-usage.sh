#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Wrong options and operands are named in the error.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
# x OBJECT WORDS ARGUMENT…
x() { local what=("${@:1:2}"); shift 2; error 2 usage "${what[@]}" "$RDMASTOR" export "$@"; }
x '' '--nbd.ADDRESS --nbd-dev' ram:1M
x '' '--name \bb\b' ram:1M --name a --name b --nbd "unix:$SOCK"
x '' 'exports \ba\b' ram:1M ram:1M --name a --name a --nbd "unix:$SOCK"
x '' '--mode 999 octal' ram:1M --mode 999 --nbd "unix:$SOCK"
x '' '--on-loss soon fail-fast' ram:1M --on-loss soon --nbd "unix:$SOCK"
x '' '--slots 2.to.1024' ram:1M --slots 1 --nbd "unix:$SOCK"
x '' '--buffer 64K.to.32M' ram:1M --buffer 512 --nbd "unix:$SOCK"
x '' '--queues 1.to.64' ram:1M --queues 65 --nbd "unix:$SOCK"
x '' '--clients 1.to.65536' ram:1M --clients 65537 --nbd "unix:$SOCK"
x '' '--poll-us 0.to.1000000' ram:1M --poll-us 2000000 --nbd "unix:$SOCK"
x --allow '10\.0\.0 address network' ram:1M --allow 10.0.0 --nbd "unix:$SOCK"
x --allow '10\.0\.0\.0/33 \b32\b' ram:1M --allow 10.0.0.0/33 --nbd "unix:$SOCK"
x '' '--daemon --run' ram:1M --daemon --run true
x '' 'URI' --nbd "unix:$SOCK"
x '' 'disks \b16$' ram:1M{,,,,,,,,,,,,,,,,} --nbd "unix:$SOCK"
x '--nbd /run/x.sock' '/run/x.sock unix:PATH' ram:1M --nbd /run/x.sock
same hint "$(jq -r .error.hint error.out)" unix:/run/x.sock
x '' '--nbd \b8\b' ram:1M --nbd{,,,,,,,,}=:0
x '' 'name 512.bytes' ram:1M --name "$(printf '%0513d' 0)" --nbd "unix:$SOCK"
