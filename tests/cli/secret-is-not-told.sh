#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A password in a URI shows neither in the list of processes nor in a message.
. "$(dirname "$0")/lib.sh"
requires jq
error 2 - 'nbd://joe@host/x' '' "$RDMASTOR" nbd://joe:hush@host/x
! grep -q hush error.err || die "output: $(cat error.err)"
error 2 usage '' 'nbd://joe@host/x' "$RDMASTOR" nbd://joe:hush@host/x --json
! grep -q hush error.out error.err || die "output: $(cat error.out error.err)"

# An answer about one of several is a result
for words in "nfsrdma-discover nfs+rdma://joe:hush@127.0.0.1:1/x" "iser-discover iscsi://joe%hush@127.0.0.1:1/" "nvmf-disconnect nvme+tcp://joe:hush@127.0.0.1:1/nqn.x" \
	"srp-disconnect srp+cm://joe:hush@127.0.0.1:1/2/1"; do
	for form in --json --verbose; do
		# shellcheck disable=SC2086 # several words
		"$RDMASTOR" $words "$form" --timeout 3 >any.out 2>any.err
		[ -s any.out ] || [ -s any.err ] || die "$words: says nothing"
		! grep -q hush any.out any.err || die "$words: output: $(cat any.out any.err)"
	done
done

# Its first message blocks on a full pipe, which leaves time to look
mkfifo pipe
sleep infinity <>pipe &
sleeper=$!
cleanup_fn kill "$sleeper"
exec 3<>pipe
dd if=/dev/zero of=/dev/fd/3 bs=4096 oflag=nonblock status=none 2>/dev/null
"$RDMASTOR" nbd://joe:hush@host/x 2>&3 &
pid=$!
cleanup_fn kill "$pid"
wait_running "$pid" grep -qz '^nbd://joe@host/x$' "/proc/$pid/cmdline"
tr '\0' ' ' <"/proc/$pid/cmdline" >cmdline
grep -q 'nbd://joe@host/x' cmdline || die "cmdline: $(cat cmdline)"
! grep -q hush cmdline || die "in the list of processes: $(cat cmdline)"
