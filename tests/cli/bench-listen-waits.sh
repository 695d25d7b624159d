#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# --listen waits for an address that is not assigned yet, and says so; --timeout bounds the wait. A port in use is an error at once,
# whether the address is assigned at the start or later.
. "$(dirname "$0")/lib.sh"
stop() { kill "$server" 2>/dev/null; }

error 1 not-found 192.0.2.1:18516 'address.not.available' \
	"$RDMASTOR" bench --listen 192.0.2.1 --timeout 2
grep -q waiting error.err || die "$(cat error.err)"
"$RDMASTOR" bench --listen 127.0.0.1:0 >first 2>err &
server=$!
cleanup_fn stop
wait_running "$server" test -s first
at=$(grep -o '127\.0\.0\.1:[0-9]*' first)
error 1 busy "$at" 'address.in.use' "$RDMASTOR" bench --listen "$at"

unshare -rn true 2>/dev/null || { echo 'the rest needs a network namespace of its own'; exit 77; }
# shellcheck disable=SC2016 # for the other shell
unshare -rn bash -c '
	ip link set lo up
	"$RDMASTOR" bench --listen 192.0.2.1 >listen 2>err &
	wait_until grep -q waiting err
	[ ! -s listen ] || exit 3
	ip addr add 192.0.2.1/32 dev lo
	wait_until test -s listen
	"$RDMASTOR" bench --tcp 192.0.2.1 --runtime 0.1 >out 2>>err || exit 4
	kill $!
	wait $! || exit 5
	"$RDMASTOR" bench --listen 0.0.0.0 >all 2>>err &
	all=$!
	wait_until test -s all
	"$RDMASTOR" bench --listen 192.0.2.2 >listen 2>late &
	wait_until grep -q waiting late
	ip addr add 192.0.2.2/32 dev lo
	wait $! && exit 6
	grep -q "192.0.2.2:18516: .*address in use" late || exit 7
	kill $all
	wait $all || exit 8
' || die "status $?: $(cat listen err late)"
