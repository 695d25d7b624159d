#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A signal to export --run reaches the command.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
"$RDMASTOR" export ram:1M --run sh -c 'trap "echo TERM >received; exit 0" TERM; echo up >up; while :; do sleep 0.05; done' &
# shellcheck disable=SC2034 # stop's
SERVER=$!
wait_running "$SERVER" test -e up
stop 143
wait_until test -s received
same "the signal" "$(cat received)" TERM
